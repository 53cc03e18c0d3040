#include "search/regular/evaluate.hpp"

#include <algorithm>

namespace nereus::search {

using plan::Degrees;
using plan::Recompute;

namespace {

Values values_of(double step, double busy, const Judge& judge) {
  Values values{};
  for (int i = 0; i < kNumObjectives; ++i)
    values[i] = value_of(static_cast<Objective>(i), step, busy, judge.rates);
  return values;
}

// One family under one judge.
class Evaluation {
 public:
  Evaluation(const Family& family, const Space& space, cost::Predictor& predictor,
             const Judge& judge)
      : family_(family),
        space_(space),
        predictor_(predictor),
        judge_(judge),
        kept_(judge.options->objectives, 1) {}

  FamilyResult run() {
    space_.schedules(family_, schedules_);
    space_.zeros(family_, zeros_);
    std::vector<bool> tensor;
    std::vector<bool> data;
    space_.tensor_overlaps(family_, tensor);
    space_.data_overlaps(family_, data);
    best_ = family_.degrees;
    // On comes first and is never slower, so off need not be tried. Exceptions: if plans may be
    // rejected, both are tried; and Varuna's ranks may choose worse if passes are shorter.
    const bool all = judge_.options->accept != nullptr;
    for (const bool with_tensor : tensor)
      for (const bool with_data : data) {
        if (!all && with_data != data.front()) continue;
        best_.tensor_overlap = with_tensor;
        best_.data_overlap = with_data;
        for (const ScheduleSetting& schedule : schedules_) {
          const bool each = all || schedule.schedule == plan::Schedule::kVaruna;
          if (!each && with_tensor != tensor.front()) continue;
          overlaps_ =
              static_cast<std::int64_t>((all ? 1 : data.size()) * (each ? 1 : tensor.size()));
          run_schedule(schedule);
        }
      }
    result_.kept = kept_.take_sorted();
    // Only its memory was needed so far.
    if (result_.nearest) result_.nearest->prediction = predictor_.predict(result_.nearest->degrees);
    return std::move(result_);
  }

 private:
  void run_schedule(ScheduleSetting schedule) {
    best_.schedule = schedule.schedule;
    best_.interleave = schedule.interleave;
    space_.recomputes(family_, schedule, recomputes_);
    const auto per_zero =
        static_cast<std::int64_t>(recomputes_.size() * space_.offloads().size()) * overlaps_;
    const auto count = per_zero * static_cast<std::int64_t>(zeros_.size());
    const cost::Predictor::Bound bound = predictor_.bound_of_schedule(best_);
    const Values values = values_of(bound.step, bound.busy, judge_);
    if (judge_.known->beyond(values, judge_.cluster, best_) ||
        kept_.beyond(values, judge_.cluster, best_)) {
      result_.pruned += count;
      return;
    }
    for (const ZeroSetting& zero : zeros_) {
      const std::int64_t before = result_.evaluated;
      run_zero(zero);
      result_.pruned += per_zero - (result_.evaluated - before);
    }
  }

  // Offload and recompute save memory and cost time. With more of an offload and everything else
  // equal, no step is shorter except for the cost of a full memory, no device holds more, and no
  // tier holds less. So three kinds of settings of a tier need no prediction:
  //   - more than a setting that fits and that memory does not slow down at all (`covered_`), with
  //     its recompute or, if that also could only cost time, more of it;
  //   - less than a setting that leaves the device too full (and fits into its tier);
  //   - more than a setting that leaves its tier too full.
  void run_zero(ZeroSetting zero) {
    best_.zero = zero.zero;
    best_.zero_group = zero.group;
    covered_.clear();
    lacking_.clear();
    const plan::Offload* first = space_.offloads().data();
    const bool several = space_.offloads().size() > 1;
    for (const plan::Offload& offload : space_.offloads()) {
      best_.offload = offload;
      bool all_covered = false;
      for (std::size_t i = 0; i < recomputes_.size() && !all_covered; ++i) {
        if (&offload != first && is_known(offload, i)) continue;
        best_.recompute = recomputes_[i].kind;
        best_.recompute_blocks = recomputes_[i].blocks;
        const Trial trial = try_one();
        if (several && (trial == Trial::kDeviceFull || trial == Trial::kTierFull))
          lacking_.push_back({offload, i, trial == Trial::kTierFull});
        if (trial != Trial::kClean) continue;
        // Without recompute, no other setting of this offload can be faster. If the first blocks
        // are recomputed, more of them cannot be faster either. But if activations are copied,
        // recompute leaves fewer of them to copy.
        const bool first_blocks = recomputes_[i].blocks > 0;
        all_covered =
            offload.activations == 0 && (recomputes_[i].kind == Recompute::kNone || first_blocks);
        if (several) covered_.push_back({offload, i, all_covered});
      }
    }
  }

  // Whether a setting that was predicted says that this one is no better, or does not fit.
  bool is_known(const plan::Offload& offload, std::size_t recompute) const {
    for (const Covered& less : covered_)
      if ((recompute == less.recompute || (less.and_more && recompute > less.recompute)) &&
          contains(offload, less.offload))
        return true;
    for (const Lacking& other : lacking_)
      if (recompute == other.recompute &&
          (other.tier ? contains(offload, other.offload) : contains(other.offload, offload)))
        return true;
    return false;
  }

  // Whether `more` offloads at least as much of everything, to the same place.
  static bool contains(const plan::Offload& more, const plan::Offload& less) {
    return (more.tier == less.tier || less.none()) && more.weights >= less.weights &&
           more.optimizer >= less.optimizer && more.activations >= less.activations;
  }

  enum class Trial {
    kClean,       // fits, and would be no quicker with more room
    kNotClean,    // fits, but stands for no other
    kDeviceFull,  // and its tier is not
    kTierFull
  };

  Trial try_one() {
    // Its passes are only examined and simulated if it may be among the best.
    const cost::Predictor::Sketch sketch =
        predictor_.sketch(best_, [this](const cost::Prediction& p) {
          return fits(p) ? is_wanted(p) : is_quicker(p) || is_worth_mention(p);
        });
    const cost::Prediction& prediction = sketch.prediction;
    ++result_.evaluated;
    const cost::Memory& memory = prediction.memory;
    if (!fits_device(prediction)) ++result_.too_much_memory;
    if (fits_device(prediction) && !fits_tier(prediction)) ++result_.too_much_beyond;
    if (fits(prediction)) {
      const bool wanted = sketch.exact && is_wanted(prediction);
      // A rejected plan does not represent others.
      if (wanted && judge_.options->accept && !judge_.options->accept(best_)) {
        ++result_.not_accepted;
        return Trial::kNotClean;
      }
      if (wanted)
        kept_.offer({judge_.cluster, best_, prediction,
                     values_of(prediction.step, prediction.busy, judge_)});
      return predictor_.memory_slows(prediction) ? Trial::kNotClean : Trial::kClean;
    }
    if (sketch.exact && is_worth_mention(prediction) &&
        (!judge_.options->accept || judge_.options->accept(best_)))
      result_.left_out = {judge_.cluster, best_, prediction, {}};
    if (sketch.exact && is_quicker(prediction)) result_.beyond = prediction.step;
    if (!fits_tier(prediction)) return Trial::kTierFull;
    if (!result_.nearest || memory.total < result_.nearest->prediction.memory.total)
      result_.nearest = {judge_.cluster, best_, prediction, {}};
    return Trial::kDeviceFull;
  }

  static bool leaves(const cost::Prediction& p, double headroom) {
    return p.memory.total <= p.memory.capacity * (1 - headroom);
  }
  bool fits_device(const cost::Prediction& p) const { return leaves(p, judge_.options->headroom); }
  // Among plans that leave too little headroom.
  bool is_worth_mention(const cost::Prediction& p) const {
    return leaves(p, judge_.options->least_headroom) && fits_tier(p) &&
           (!result_.left_out || p.step < result_.left_out->prediction.step);
  }
  static bool fits_tier(const cost::Prediction& p) {
    return p.memory.beyond <= p.memory.beyond_capacity;
  }
  bool fits(const cost::Prediction& p) const { return fits_device(p) && fits_tier(p); }
  // Among plans that do not fit.
  bool is_quicker(const cost::Prediction& p) const {
    return result_.beyond == 0 || p.step < result_.beyond;
  }
  bool is_wanted(const cost::Prediction& p) const {
    const Values values = values_of(p.step, p.busy, judge_);
    return !judge_.known->beyond(values, judge_.cluster, best_) &&
           !kept_.beyond(values, judge_.cluster, best_);
  }

  struct Covered {
    plan::Offload offload;
    std::size_t recompute = 0;
    bool and_more = false;  // and of every recompute that follows
  };
  struct Lacking {
    plan::Offload offload;
    std::size_t recompute = 0;
    bool tier = false;  // it is its tier that is too full, not the device
  };

  const Family& family_;
  const Space& space_;
  cost::Predictor& predictor_;
  const Judge& judge_;
  Keeper kept_;
  FamilyResult result_;
  Degrees best_;               // the candidate in hand
  std::int64_t overlaps_ = 1;  // settings of the overlaps that one stands for
  std::vector<ScheduleSetting> schedules_;
  std::vector<RecomputeSetting> recomputes_;
  std::vector<ZeroSetting> zeros_;
  std::vector<Covered> covered_;
  std::vector<Lacking> lacking_;
};

}  // namespace

FamilyResult evaluate(const Family& family, const Space& space, cost::Predictor& predictor,
                      const Judge& judge) {
  return Evaluation(family, space, predictor, judge).run();
}

}  // namespace nereus::search
