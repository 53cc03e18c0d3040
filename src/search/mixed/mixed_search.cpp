#include "search/mixed/mixed_search.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "search/mixed/canonical.hpp"
#include "search/mixed/counts.hpp"
#include "search/mixed/stage_shapes.hpp"
#include "search/mixed/waves.hpp"

namespace nereus::mixed {

namespace {

using plan::Recompute;

// Looked at after the last that was better.
constexpr int kMostPipelines = 4000;
constexpr int kMostFlat = 1000;

std::vector<int> doubling(int most) {
  std::vector<int> list;
  for (int i = 1; i <= most; i *= 2) list.push_back(i);
  return list;
}

class Search {
 public:
  Search(const model::Model& model, const cluster::Cluster& cluster, const cost::Basis& basis,
         const MixedOptions& options)
      : options_(options),
        machines_(model, cluster, basis, like(options)),
        waves_([this, &model, &cluster, &basis] {
          auto own = std::make_unique<Machines>(model, cluster, basis, like(options_));
          own->stop = options_.stop;
          return own;
        }) {
    int widest = 1;
    for (const Group& group : machines_.groups()) widest = std::max(widest, group.per_node);
    if (options.max_tp > 0) widest = std::min(widest, options.max_tp);
    tensor_degrees_ =
        options.tensor_degrees.empty() ? tensor_degrees(model, widest) : options.tensor_degrees;
    recompute_ = options.recompute;
    if (recompute_.empty())
      recompute_ = {Recompute::kNone, Recompute::kSelective, Recompute::kFull};
    if (!model.transformer) std::erase(recompute_, Recompute::kSelective);
    zero_ = options.zero.empty() ? std::vector<int>{0, 1, 2, 3} : options.zero;
    micro_batches_ = options.micro_batches.empty() ? doubling(std::min(32, options.global_batch))
                                                   : options.micro_batches;
  }

  double bound() { return options_.global_batch / machines_.fastest_rate(tensor_degrees_); }

  MixedResult run() {
    machines_.stop = options_.stop;
    out_.bound = bound();
    if (out_.bound > options_.limit) return finish();
    for (const KnownPlan& known : options_.known)
      keep(judged(machines_, known.family, known.placement));
    const std::vector<BoundedFlat> flat =
        options_.flat ? flat_manners() : std::vector<BoundedFlat>{};
    std::vector<Bounded> pipelines;
    if (options_.pipelines) pipelines = pipeline_manners();
    out_.space = static_cast<std::int64_t>(flat.size() + pipelines.size());
    if (options_.limit == std::numeric_limits<double>::infinity()) baselines(flat);
    if (look_at(flat)) look_at(pipelines);
    return finish();
  }

 private:
  using Bounded = std::pair<double, PipelineManner>;
  using BoundedFlat = std::pair<double, FlatManner>;

  // The result of a candidate, and the work it took.
  struct Looked {
    std::optional<MixedPlan> found{};  // nothing: too little memory
    std::int64_t evaluated = 0;
  };

  // Returns false if it was stopped.
  bool look_at(const std::vector<Bounded>& pipelines) {
    int in_vain = 0;
    const auto worth = [&](const Bounded& own) {
      return own.first < best() && in_vain <= kMostPipelines;
    };
    const auto look = [&](Machines& machines, const Bounded& own) {
      return looked(machines, kPipeline, best_pipeline(machines, own.second, room()));
    };
    return waves_.run(pipelines, worth, look, [&](const Bounded& own, Looked* found) {
      if (stopped()) return false;
      if (!worth(own)) {
        ++(own.first >= best() ? out_.pruned : out_.left_out);
        return true;
      }
      const double before = best_of(kPipeline);
      take(*found);
      in_vain = best_of(kPipeline) < before ? 0 : in_vain + 1;
      return true;
    });
  }
  bool look_at(const std::vector<BoundedFlat>& flat) {
    int in_vain = 0;
    const auto worth = [&](const BoundedFlat& own) {
      return own.first < best() && in_vain <= kMostFlat && sent(own.second) < best();
    };
    const auto look = [&](Machines& machines, const BoundedFlat& own) {
      return looked(machines, family_of(own.second), best_flat(machines, own.second, room()));
    };
    const bool ended = waves_.run(flat, worth, look, [&](const BoundedFlat& own, Looked* found) {
      if (stopped()) return false;
      if (!worth(own)) {
        ++(own.first < best() && in_vain > kMostFlat ? out_.left_out : out_.pruned);
        return true;
      }
      const bool fits = found->found.has_value(), better = take_flat(own.second, *found);
      in_vain = better ? 0 : in_vain + fits;
      return true;
    });
    return ended && (every_count_ || climb());
  }

  // Numbers of teams between those that were tried, around the best of each family.
  bool climb() {
    for (const char* family : {kCopies, kDivided})
      for (bool again = true; again && best_manner_.contains(family);) {
        again = false;
        FlatManner manner = best_manner_[family];
        const double before = best_of(family);
        for (const std::vector<int>& uses : neighbours(machines_, manner.tp, manner.uses)) {
          if (stopped(false)) return false;
          manner.uses = uses;
          if (flat_bound(machines_, manner) >= before || sent(manner) >= before) continue;
          ++out_.space;
          Looked found = looked(machines_, family, best_flat(machines_, manner, room()));
          take_flat(manner, found);
          again |= best_of(family) < before;
        }
      }
    return true;
  }

  static constexpr const char* kPipeline = "pipeline";
  static constexpr const char* kCopies = "data parallel";
  static constexpr const char* kDivided = "data parallel, sharded state";
  static const char* family_of(const FlatManner& manner) {
    return manner.zero == 3 ? kDivided : kCopies;
  }

  // Whether it is the best of its family.
  bool take_flat(const FlatManner& manner, Looked& found) {
    const char* const family = family_of(manner);
    const double before = best_of(family);
    take(found);
    const bool better = best_of(family) < before;
    if (better) best_manner_[family] = manner;
    return better;
  }

  double sent(const FlatManner& manner) {
    FlatManner own = manner;
    own.recompute = Recompute::kNone;
    own.offload = 0;
    const auto [at, is_new] = sent_.try_emplace({own.tp, own.zero, own.uses});
    if (is_new) at->second = own.zero < 3 ? sent_bound(machines_, own) : 0;
    return at->second;
  }

  static plan::Placement like(const MixedOptions& options) {
    plan::Placement p;
    p.global_batch = options.global_batch;
    p.precision = options.precision;
    p.state_types = options.state_types;
    return p;
  }

  static std::vector<int> tensor_degrees(const model::Model& model, int widest) {
    std::vector<int> list = doubling(widest);
    std::erase_if(list, [&](int tp) { return !can_cut(model, tp); });
    return list;
  }

  double room() const { return 1 - options_.headroom; }
  double best() const {
    return out_.plans.empty() ? options_.limit
                              : std::min(options_.limit, out_.plans.front().prediction.step);
  }

  double best_of(const std::string& family) const {
    for (const MixedPlan& known : out_.plans)
      if (known.family == family) return known.prediction.step;
    return std::numeric_limits<double>::infinity();
  }

  bool stopped(bool counts = true) {
    done_ += counts;
    if (options_.progress)
      options_.progress(done_, out_.space,
                        out_.plans.empty() ? std::nullopt : std::optional(best()));
    if (!machines_.stopped()) return false;
    out_.complete = false;
    return true;
  }

  MixedResult finish() {
    out_.evaluated += machines_.evaluated;
    return std::move(out_);
  }

  std::optional<MixedPlan> judged(Machines& machines, const std::string& family,
                                  plan::Placement placement) const {
    ++machines.evaluated;
    MixedPlan found{family, std::move(placement), {}};
    found.prediction = machines.predictor().predict(found.placement);
    const cost::Memory& memory = found.prediction.memory;
    if (!found.prediction.fits || memory.total > room() * memory.capacity) return std::nullopt;
    return found;
  }

  // The best of each family is kept.
  void keep(std::optional<MixedPlan> found) {
    if (!found) return;
    for (MixedPlan& known : out_.plans)
      if (known.family == found->family) {
        if (found->prediction.step < known.prediction.step) known = std::move(*found);
        return sort();
      }
    out_.plans.push_back(std::move(*found));
    sort();
  }
  void sort() {
    std::stable_sort(out_.plans.begin(), out_.plans.end(), [](const auto& a, const auto& b) {
      return a.prediction.step < b.prediction.step;
    });
  }

  // Called by any thread.
  Looked looked(Machines& machines, const char* family,
                std::optional<plan::Placement> placement) const {
    Looked out;
    if (placement) out.found = judged(machines, family, std::move(*placement));
    out.evaluated = std::exchange(machines.evaluated, 0);
    return out;
  }
  void take(Looked& own) {
    out_.evaluated += own.evaluated;
    out_.too_much_memory += !own.found;
    keep(std::move(own.found));
  }

  // Even and proportional samples with even state, the best of all candidates; they are part of the
  // answer.
  void baselines(const std::vector<BoundedFlat>& manners) {
    for (const bool by_speed : {false, true}) {
      std::optional<MixedPlan> least;
      for (const auto& [bound, manner] : manners) {
        if (!uses_all(manner) || manner.offload > 0) continue;
        if (stopped(false)) return;
        for (const int micro_batch : micro_batches_) {
          std::optional<plan::Placement> placement =
              simple_flat(machines_, manner, by_speed, micro_batch);
          if (!placement) continue;
          auto found =
              judged(machines_, by_speed ? "split by speed" : "even split", std::move(*placement));
          if (found && (!least || found->prediction.step < least->prediction.step))
            least = std::move(found);
        }
      }
      if (!least) continue;
      out_.baselines.push_back(*least);
      keep(std::move(least));
    }
  }

  bool uses_all(const FlatManner& manner) const {
    for (std::size_t g = 0; g < manner.uses.size(); ++g)
      if (manner.uses[g] * manner.tp != machines_.groups()[g].count) return false;
    return true;
  }

  // Sorted by their bounds, so that a good plan is found early and prunes the rest.
  std::vector<BoundedFlat> flat_manners() {
    std::vector<BoundedFlat> list;
    for (const int tp : tensor_degrees_) {
      const TeamCounts counts = team_counts(machines_, tp);
      every_count_ &= counts.every;
      for (const std::vector<int>& uses : counts.lists)
        for (const int zero : zero_)
          for (const Recompute recompute : recompute_) {
            FlatManner manner{tp, recompute, 0, zero, uses};
            const double bound = flat_bound(machines_, manner);
            list.emplace_back(bound, manner);
            if (recompute != Recompute::kFull || zero != 3) continue;
            manner.offload = 1;
            list.emplace_back(bound, manner);
          }
    }
    out_.every &= every_count_;
    std::stable_sort(list.begin(), list.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    return list;
  }

  // Sorted by their bounds, so that the first one that cannot be better ends the search.
  std::vector<Bounded> pipeline_manners() {
    std::vector<Bounded> list;
    Shapes shapes = pipeline_shapes(machines_, tensor_degrees_);
    out_.every &= shapes.every;
    for (PipelineManner& manner : shapes.list)
      for (const int micro_batch : micro_batches_) {
        if (stopped(false)) return list;
        if (options_.global_batch % (manner.width * micro_batch) != 0) continue;
        for (const Recompute recompute : recompute_)
          for (const int zero : {0, 1}) {
            if (zero > 0 && manner.width == 1) continue;
            if (std::find(zero_.begin(), zero_.end(), zero) == zero_.end()) continue;
            manner.micro_batch = micro_batch;
            manner.recompute = recompute;
            manner.zero = zero;
            list.emplace_back(pipeline_bound(machines_, manner), manner);
          }
      }
    std::stable_sort(list.begin(), list.end(),
                     [](const Bounded& a, const Bounded& b) { return a.first < b.first; });
    return list;
  }

  const MixedOptions& options_;
  Machines machines_;
  Waves waves_;
  std::vector<int> tensor_degrees_;
  std::vector<int> micro_batches_;
  std::vector<int> zero_;
  std::vector<Recompute> recompute_;
  MixedResult out_;
  std::int64_t done_ = 0;
  bool every_count_ = true;                        // of teams was tried
  std::map<std::string, FlatManner> best_manner_;  // by family
  std::map<std::tuple<int, int, std::vector<int>>, double> sent_;
};

// Ranks as the user's cluster counts them, and what is predicted there.
void to_given_ranks(MixedResult& found, const Canonical& same, const model::Model& model,
                    const cluster::Cluster& cluster, const cost::Basis& basis) {
  cost::GeneralPredictor predictor(model, cluster, basis);
  for (std::vector<MixedPlan>* list : {&found.plans, &found.baselines}) {
    std::vector<MixedPlan> kept;
    for (MixedPlan& own : *list) {
      std::optional<plan::Placement> placement = renumbered(std::move(own.placement), same.rank_of);
      if (!placement) continue;
      own.placement = std::move(*placement);
      own.prediction = predictor.predict(own.placement);
      kept.push_back(std::move(own));
    }
    *list = std::move(kept);
  }
}

}  // namespace

MixedResult search(const model::Model& model, const cluster::Cluster& cluster,
                   const cost::Basis& basis, const MixedOptions& options) {
  const Canonical same = canonical(cluster);
  MixedResult found = Search(model, same.cluster, basis, options).run();
  if (!same.same) to_given_ranks(found, same, model, cluster, basis);
  return found;
}

double least_step(const model::Model& model, const cluster::Cluster& cluster,
                  const cost::Basis& basis, const MixedOptions& options) {
  return Search(model, canonical(cluster).cluster, basis, options).bound();
}

}  // namespace nereus::mixed
