#include "app/plan/plan_mixed_lift.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/plan/plan_mixed.hpp"
#include "app/plan/plan_mixed_binding.hpp"
#include "app/plan/plan_mixed_leanest.hpp"
#include "app/plan/plan_mixed_trial.hpp"
#include "base/format.hpp"
#include "plan/rules.hpp"
#include "stack/stack_file.hpp"

namespace nereus::app {

namespace {

using cluster::Precision;
using search::Choices;

// Tries one change after the other and remembers those that help.
class MixedLifter {
 public:
  MixedLifter(const PlanRequest& request, const PlanAnswer& nothing)
      : request_(request),
        inputs_(nothing.inputs),
        choices_(nothing.choices),
        leanest_(inputs_, choices_, request.options.headroom) {
    derived_batch_ = request_.choices.global_batch == 0;
    request_.choices = choices_;
    request_.precision = choices_.precision;
    request_.options.top = 1;
  }

  std::vector<Lift> run() {
    free_one("another tensor-parallel degree", &Choices::tp);
    free_one("another micro-batch", &Choices::micro_batch);
    free_one("another ZeRO stage", &Choices::zero);
    free_one("another recompute", &Choices::recompute);
    if (request_.choices.max_tp > 0) {
      PlanRequest with = request_;
      with.choices.max_tp = 0;
      attempt("no limit on tp", with, kAll);
    }
    if (request_.options.headroom > 0) {
      PlanRequest with = request_;
      with.options.headroom = 0;
      attempt("no memory headroom (--headroom 0)", with, kAll);
    }
    try_precisions();
    try_batch();
    for (std::size_t g = 0; g < inputs_.cluster.groups.size(); ++g) try_nodes(g);
    try_offload();
    if (lifts_.empty()) try_sequence();
    return std::move(lifts_);
  }

 private:
  bool stopped() const { return request_.options.stop && request_.options.stop(); }

  // Whether it helps.
  bool attempt(const std::string& change, const PlanRequest& with,
               const std::vector<Manners>& manners,
               const std::optional<plan::Placement>& known = {}) {
    if (stopped()) return false;
    std::optional<mixed::MixedPlan> found = try_change(with, manners, known);
    if (!found) return false;
    lifts_.push_back({change,
                      found->prediction.step,
                      {},
                      std::move(found->family),
                      std::move(found->placement)});
    return true;
  }

  template <class T>
  void free_one(const char* change, std::vector<T> Choices::*axis) {
    if ((request_.choices.*axis).empty()) return;
    PlanRequest with = request_;
    (with.choices.*axis).clear();
    attempt(change, with, kAll);
  }

  void try_precisions() {
    const Precision now = choices_.precision;
    const bool wide = now == Precision::kFp32 || now == Precision::kTf32 || now == Precision::kFp64;
    for (const Precision lower : {Precision::kBf16, Precision::kFp16, Precision::kFp8}) {
      const bool narrower = wide || (lower == Precision::kFp8 && now != Precision::kFp8);
      if (!narrower || !all_have(inputs_.cluster, lower)) continue;
      PlanRequest with = request_;
      with.precision = lower;
      attempt(fmt::format("{} instead of {} (--precision {})", to_string(lower), to_string(now),
                          to_string(lower)),
              with, kAll);
    }
  }

  // The largest that fits of half the batch, a quarter, ...
  void try_batch() {
    std::vector<int> batches;
    for (int batch = choices_.global_batch / 2; batch > 0; batch /= 2) batches.push_back(batch);
    if (batches.empty() || !allows(choices_, Manners::kDivided) || !holds_state(inputs_.cluster))
      return;
    const auto leanest = [&](std::size_t i) { return leanest_.find(inputs_.cluster, batches[i]); };
    std::optional<plan::Placement> known = leanest(batches.size() - 1);
    if (!known) return;
    std::size_t low = 0, high = batches.size() - 1;  // which fits
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      if (std::optional<plan::Placement> found = leanest(middle)) {
        known = std::move(found);
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    PlanRequest with = request_;
    with.choices.global_batch = batches[high];
    attempt(fmt::format("a global batch of {} instead of {} (--global-batch {})", batches[high],
                        choices_.global_batch, batches[high]),
            with, kLeanest, known);
  }

  bool holds_state(const cluster::Cluster& cluster) const {
    return bytes_of_state(inputs_) <= (1 - request_.options.headroom) * memory_of(cluster);
  }

  std::optional<plan::Placement> leanest_with(std::size_t group, int count) const {
    cluster::Cluster more = inputs_.cluster;
    more.groups[group].count = count;
    if (stopped() || !allows(choices_, Manners::kDivided) || !holds_state(more))
      return std::nullopt;
    return leanest_.find(more, choices_.global_batch);
  }

  // The fewest that do: first in steps that grow, from those on that hold the state.
  void try_nodes(std::size_t group) {
    const std::vector<cluster::NodeGroup>& groups = inputs_.cluster.groups;
    const cluster::NodeGroup& own = groups[group];
    for (std::size_t before = 0; before < group; ++before)
      if (groups[before].node == own.node) return;               // the same kind written apart
    int none = std::max(own.count, least_for_state(group) - 1);  // that many nodes are not enough
    const int others = inputs_.cluster.num_devices() - own.num_devices();
    const int most =
        std::min(kMoreThanState * (none + 1), (kMostMixedDevices - others) / own.node.num_devices);
    const int first = none + 1;
    int some = 0;
    std::optional<plan::Placement> known;
    for (int more = 1; !known; more *= 2) {
      const int next = std::min(most, none + more);
      if (next <= none) break;
      known = leanest_with(group, next);
      (known ? some : none) = next;
    }
    while (known && none + 1 < some) {
      const int middle = none + (some - none) / 2;
      std::optional<plan::Placement> found = leanest_with(group, middle);
      (found ? some : none) = middle;
      if (found) known = std::move(found);
    }
    // Otherwise a pipeline may fit, for a few sizes. With more nodes of a kind, the default stack
    // may be another one that needs more memory, so a few sizes are tried in both cases.
    for (int i = 0; i < kMostSizes; ++i) {
      const int count = known ? some + i : first + (1 << i) - 1;
      if (count > most || try_count(group, count, known)) return;
    }
  }

  bool try_count(std::size_t group, int count, const std::optional<plan::Placement>& known) {
    PlanRequest with = request_;
    with.cluster.overrides.push_back(
        {fmt::format("groups.{}.count", group), fmt::to_string(count)});
    // A batch that was derived would grow with the devices.
    const std::string batch =
        derived_batch_ ? fmt::format(" --global-batch {}", choices_.global_batch) : "";
    const cluster::NodeGroup& own = inputs_.cluster.groups[group];
    return attempt(
        fmt::format("{} of {} instead of {} (--set cluster.groups.{}.count={}{})", nodes(count),
                    own.node.name, format_count(own.count), group, count, batch),
        with, kLeanest, known);
  }

  static std::string nodes(int count) { return counted(format_count(count), "node"); }

  int least_for_state(std::size_t group) const {
    const cluster::NodeGroup& own = inputs_.cluster.groups[group];
    const double wanted = bytes_of_state(inputs_) / (1 - request_.options.headroom) -
                          (memory_of(inputs_.cluster) - memory_of(own));
    return static_cast<int>(std::clamp(std::ceil(wanted / (memory_of(own) / own.count)), 0.0, 1e6));
  }

  // The basis for a plan on only this group.
  cost::Basis basis_of(const cluster::Cluster& own) const {
    if (!request_.calibration.stack.empty()) return inputs_.basis;
    return inputs_.basis.with_stack(cost::load_stack(cost::default_stack(inputs_.model, own)))
        .in_precision(choices_.precision, choices_.state_types);
  }

  // Only the fastest kind, with offload.
  void try_offload() {
    std::optional<Lift> quickest;
    for (const cluster::NodeGroup& group : inputs_.cluster.groups) {
      if (stopped()) return;
      cluster::Cluster own = inputs_.cluster;
      own.groups = {group};
      if (plan::degree_limits(inputs_.model, own).tiers == 0 ||
          bytes_of_state(inputs_) > memory_of(group) + memory_beyond(group))
        continue;
      Choices with = choices_;
      with.offload_any = true;
      search::SearchOptions options = request_.options;
      options.counts = false;
      if (quickest) options.limit = quickest->step;
      const search::SearchResult found =
          search::search(inputs_.model, {own}, basis_of(own), with, options);
      if (found.plans.empty() || found.plans.front().prediction.step >= options.limit) continue;
      quickest = Lift{fmt::format("only the {} of {}, with offloaded state or activations "
                                  "(--offload any)",
                                  nodes(group.count), group.node.name),
                      found.plans.front().prediction.step,
                      found.plans.front().degrees,
                      {},
                      {}};
    }
    if (quickest) lifts_.push_back(std::move(*quickest));
  }

  // Shorter samples are another task: only if nothing else helps.
  void try_sequence() {
    if (!inputs_.model.transformer) return;
    for (int seq = inputs_.model.transformer->seq / 2; seq >= kShortest; seq /= 2) {
      PlanRequest with = request_;
      with.seq = seq;
      if (attempt(fmt::format("samples of {} tokens instead of {} (--seq {})", format_count(seq),
                              format_count(inputs_.model.transformer->seq), seq),
                  with, kAll))
        return;
    }
  }

  static inline const std::vector<Manners> kAll = {Manners::kQuickest, Manners::kDivided,
                                                   Manners::kPipelines};
  static inline const std::vector<Manners> kLeanest = {Manners::kDivided, Manners::kPipelines};
  static constexpr int kMostSizes = 4;
  static constexpr int kShortest = 128;  // tokens
  // Beyond that another thing binds than state that lies on too few devices.
  static constexpr int kMoreThanState = 8;  // times the nodes that hold the state

  PlanRequest request_;
  const Inputs& inputs_;
  const Choices& choices_;
  LeanestPlan leanest_;
  bool derived_batch_ = false;
  std::vector<Lift> lifts_;
};

}  // namespace

std::vector<Lift> find_mixed_lifts(const PlanRequest& request, const PlanAnswer& nothing) {
  return MixedLifter(request, nothing).run();
}

}  // namespace nereus::app
