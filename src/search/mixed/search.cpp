#include "search/mixed/search.hpp"

#include <algorithm>
#include <limits>

namespace nereus::mixed {

namespace {

using plan::Recompute;

constexpr int kManyDevices = 256;          // then four kinds and more have one tensor degree
constexpr std::size_t kManyShapes = 4096;  // then groups are used whole or not at all
constexpr int kMostPipelines = 4000;       // looked at after the last that was better

std::vector<int> doubling(int most) {
  std::vector<int> list;
  for (int i = 1; i <= most; i *= 2) list.push_back(i);
  return list;
}

class Search {
 public:
  Search(const model::Model& model, const cluster::Cluster& cluster, const cost::Stack& stack,
         const MixedOptions& options)
      : options_(options), machines_(model, cluster, stack, like(options)) {
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
    const std::vector<FlatManner> flat = options_.flat ? flat_manners() : std::vector<FlatManner>{};
    std::vector<Bounded> pipelines;
    if (options_.pipelines) pipelines = pipeline_manners();
    out_.space = static_cast<std::int64_t>(flat.size() + pipelines.size());
    if (options_.limit == std::numeric_limits<double>::infinity()) baselines(flat);
    for (const FlatManner& manner : flat) {
      if (stopped()) return finish();
      if (flat_bound(machines_, manner) >= best()) {
        ++out_.pruned;
        continue;
      }
      take(manner.zero == 3 ? "data parallel, state divided" : "data parallel",
           best_flat(machines_, manner, room()));
    }
    int in_vain = 0;
    double least = best_of("pipeline");
    for (const auto& [bound, manner] : pipelines) {
      if (stopped()) return finish();
      if (bound >= best() || in_vain > kMostPipelines) {
        ++(bound >= best() ? out_.pruned : out_.left_out);
        continue;
      }
      take("pipeline", best_pipeline(machines_, manner, room()));
      in_vain = best_of("pipeline") < least ? 0 : in_vain + 1;
      least = best_of("pipeline");
    }
    return finish();
  }

 private:
  using Bounded = std::pair<double, PipelineManner>;

  static plan::Placement like(const MixedOptions& options) {
    plan::Placement p;
    p.global_batch = options.global_batch;
    p.precision = options.precision;
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
    out_.evaluated = machines_.evaluated;
    return std::move(out_);
  }

  std::optional<MixedPlan> judged(const std::string& family, plan::Placement placement) {
    ++machines_.evaluated;
    MixedPlan found{family, std::move(placement), {}};
    found.prediction = machines_.predictor().predict(found.placement);
    const cost::Memory& memory = found.prediction.memory;
    if (!found.prediction.fits || memory.total > room() * memory.capacity) return std::nullopt;
    return found;
  }

  // The best of each family is kept.
  void keep(MixedPlan found) {
    for (MixedPlan& known : out_.plans)
      if (known.family == found.family) {
        if (found.prediction.step < known.prediction.step) known = std::move(found);
        return sort();
      }
    out_.plans.push_back(std::move(found));
    sort();
  }
  void sort() {
    std::stable_sort(out_.plans.begin(), out_.plans.end(), [](const auto& a, const auto& b) {
      return a.prediction.step < b.prediction.step;
    });
  }

  void take(const std::string& family, std::optional<plan::Placement> placement) {
    std::optional<MixedPlan> found;
    if (placement) found = judged(family, std::move(*placement));
    if (found)
      keep(std::move(*found));
    else
      ++out_.too_much_memory;
  }

  // Even and proportional samples with even state, the best of all manners; members of the answer.
  void baselines(const std::vector<FlatManner>& manners) {
    for (const bool by_speed : {false, true}) {
      std::optional<MixedPlan> least;
      for (const FlatManner& manner : manners) {
        if (!uses_all(manner) || manner.offload > 0) continue;
        if (stopped(false)) return;
        for (const int micro_batch : micro_batches_) {
          std::optional<plan::Placement> placement =
              simple_flat(machines_, manner, by_speed, micro_batch);
          if (!placement) continue;
          auto found = judged(by_speed ? "split by speed" : "even split", std::move(*placement));
          if (found && (!least || found->prediction.step < least->prediction.step))
            least = std::move(found);
        }
      }
      if (!least) continue;
      out_.baselines.push_back(*least);
      keep(std::move(*least));
    }
  }

  bool uses_all(const FlatManner& manner) const {
    for (std::size_t g = 0; g < manner.uses.size(); ++g)
      if (manner.uses[g] * manner.tp != machines_.groups()[g].count) return false;
    return true;
  }

  // Numbers of teams of each group that may take part: all or none, or any where they are few.
  std::vector<std::vector<int>> team_counts(int tp) const {
    std::size_t every = 1;
    for (const Group& group : machines_.groups())
      every = std::min(kManyShapes, every * static_cast<std::size_t>(group.count / tp + 1));
    std::vector<std::vector<int>> lists = {{}};
    for (const Group& group : machines_.groups()) {
      const int teams = group.per_node % tp == 0 ? group.count / tp : 0;
      std::vector<std::vector<int>> longer;
      // All first: the more compute, the sooner a good plan cuts the rest.
      for (const std::vector<int>& before : lists)
        for (int n = teams; n >= 0; n = every < 64 || n == 0 ? n - 1 : 0) {
          longer.push_back(before);
          longer.back().push_back(n);
        }
      lists = std::move(longer);
    }
    std::erase_if(lists, [](const std::vector<int>& list) {
      return std::all_of(list.begin(), list.end(), [](int n) { return n == 0; });
    });
    return lists;
  }

  std::vector<FlatManner> flat_manners() const {
    std::vector<FlatManner> list;
    for (const int tp : tensor_degrees_)
      for (const std::vector<int>& uses : team_counts(tp))
        for (const int zero : zero_)
          for (const Recompute recompute : recompute_) {
            FlatManner manner{tp, recompute, 0, zero, uses};
            list.push_back(manner);
            if (recompute != Recompute::kFull || zero != 3) continue;
            manner.offload = 1;
            list.push_back(manner);
          }
    return list;
  }

  // By their bounds, so that the first that cannot be better ends the search.
  std::vector<Bounded> pipeline_manners() {
    std::vector<Bounded> list;
    int devices = 0;
    for (const Group& group : machines_.groups()) devices += group.count;
    ShapeRules rules;
    rules.same_tp = machines_.groups().size() > 3 && devices > kManyDevices;
    std::vector<PipelineManner> shapes = pipeline_shapes(machines_, tensor_degrees_, rules);
    rules.all_depths = shapes.size() < 64;
    if (rules.all_depths) shapes = pipeline_shapes(machines_, tensor_degrees_, rules);
    for (PipelineManner& manner : shapes)
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
  std::vector<int> tensor_degrees_;
  std::vector<int> micro_batches_;
  std::vector<int> zero_;
  std::vector<Recompute> recompute_;
  MixedResult out_;
  std::int64_t done_ = 0;
};

}  // namespace

MixedResult search(const model::Model& model, const cluster::Cluster& cluster,
                   const cost::Stack& stack, const MixedOptions& options) {
  return Search(model, cluster, stack, options).run();
}

double least_step(const model::Model& model, const cluster::Cluster& cluster,
                  const cost::Stack& stack, const MixedOptions& options) {
  return Search(model, cluster, stack, options).bound();
}

}  // namespace nereus::mixed
