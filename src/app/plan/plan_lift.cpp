#include "app/plan/plan_lift.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/format.hpp"
#include "plan/complete.hpp"
#include "plan/rules.hpp"

namespace nereus::app {

namespace {

using search::Choices;

// Tries one change after the other and remembers those that help.
class Lifter {
 public:
  Lifter(const PlanRequest& request, const Inputs& inputs, const Choices& choices)
      : request_(request), inputs_(inputs), choices_(choices) {}

  std::vector<Lift> run() {
    free_one("a smaller micro-batch", &Choices::micro_batch);
    free_one("another recompute", &Choices::recompute);
    free_one("another ZeRO stage", &Choices::zero);
    free_one("another ZeRO group size", &Choices::zero_group);
    free_one("another tensor-parallel degree", &Choices::tp);
    free_one("another number of pipeline stages", &Choices::pp);
    free_one("another data-parallel degree", &Choices::dp);
    free_one("another context-parallel degree", &Choices::cp);
    free_one("another expert-parallel degree", &Choices::ep);
    free_one("another split of the tables", &Choices::table_splits);
    free_one("another interleave", &Choices::interleave);
    free_one("another schedule", &Choices::schedules);
    free_one("no --sequence-parallel setting", &Choices::sequence_parallel);
    if (choices_.max_tp > 0) {
      Choices with = choices_;
      with.max_tp = 0;
      attempt("no limit on tp", with, inputs_.cluster, request_.options.headroom);
    }
    if (request_.options.headroom > 0) attempt("no memory headroom", choices_, inputs_.cluster, 0);
    try_offload();
    try_batch();
    if (request_.nodes.empty()) try_nodes();
    return std::move(lifts_);
  }

 private:
  bool attempt(const std::string& change, const Choices& with, const cluster::Cluster& cluster,
               double headroom) {
    search::SearchOptions options = request_.options;
    options.headroom = headroom;
    options.top = 1;
    options.progress = nullptr;
    if (options.stop && options.stop()) return false;
    const search::SearchResult result =
        search::search(inputs_.model, {cluster}, inputs_.basis, with, options);
    if (result.plans.empty()) return false;
    const search::Candidate& best = result.plans.front();
    lifts_.push_back({change, best.prediction.step, best.degrees, {}, {}});
    return true;
  }

  template <class T>
  void free_one(const char* change, std::vector<T> Choices::*axis) {
    if ((choices_.*axis).empty()) return;
    Choices with = choices_;
    (with.*axis).clear();
    attempt(change, with, inputs_.cluster, request_.options.headroom);
  }

  void try_offload() {
    if (!choices_.offloads.empty() || choices_.offload_any ||
        plan::degree_limits(inputs_.model, inputs_.cluster).tiers == 0)
      return;
    Choices with = choices_;
    with.offload_any = true;
    attempt("offloaded state or activations (--offload any)", with, inputs_.cluster,
            request_.options.headroom);
  }

  // A batch that the devices divide, if the requested one leaves no layout.
  void try_batch() {
    const int devices = inputs_.cluster.num_devices();
    if (choices_.global_batch % devices == 0) return;
    Choices with = choices_;
    with.global_batch = (choices_.global_batch + devices - 1) / devices * devices;
    attempt(
        fmt::format("a global batch of {} instead of {}", with.global_batch, choices_.global_batch),
        with, inputs_.cluster, request_.options.headroom);
  }

  // The fewest nodes that do, among one more, two more, ... and doublings.
  void try_nodes() {
    const int now = inputs_.cluster.groups.front().count;
    std::vector<int> counts;
    for (int more = 1; more <= 8; ++more) counts.push_back(now + more);
    for (int times = 2; times <= 64; times *= 2)
      if (now * times > counts.back()) counts.push_back(now * times);
    for (const int count : counts) {
      cluster::Cluster more = inputs_.cluster;
      more.groups.front().count = count;
      Choices with = choices_;
      const int devices = more.num_devices();
      std::string change = fmt::format("{} nodes instead of {}", count, now);
      // More devices than samples: the batch grows with them.
      if (with.global_batch < devices) {
        with.global_batch = static_cast<int>(std::bit_ceil(static_cast<unsigned>(devices)));
        change += fmt::format(" (and a global batch of {})", with.global_batch);
      }
      if (attempt(change, with, more, request_.options.headroom)) return;
    }
  }

  const PlanRequest& request_;
  const Inputs& inputs_;
  const Choices& choices_;
  std::vector<Lift> lifts_;
};

}  // namespace

namespace {

// The rule that the first of the requested values violates.
std::string first_complaint(const PlanAnswer& answer) {
  const search::Choices& c = answer.choices;
  plan::DegreesRequest wanted;
  const auto first = [](const std::vector<int>& list) {
    return list.empty() ? std::nullopt : std::optional<int>(list.front());
  };
  wanted.tp = first(c.tp);
  wanted.pp = first(c.pp);
  wanted.dp = first(c.dp);
  wanted.cp = first(c.cp);
  wanted.ep = first(c.ep);
  wanted.interleave = first(c.interleave);
  wanted.micro_batch = first(c.micro_batch);
  wanted.global_batch = c.global_batch;
  wanted.precision = c.precision;
  const Inputs& inputs = answer.inputs;
  const plan::Degrees d = plan::complete_degrees(wanted, inputs.model, inputs.cluster).degrees;
  const ErrorList wrong = plan::check_degrees(d, inputs.model, inputs.cluster);
  if (wrong.list().empty()) return {};
  const Error& error = wrong.list().front();
  return fmt::format("{} ({})", error.message, error.hint);
}

}  // namespace

std::string binding_constraint(const PlanAnswer& answer, double headroom) {
  const search::SearchResult& result = answer.search;
  if (result.space == 0) {
    if (const std::string rule = first_complaint(answer); !rule.empty())
      return "no layout is possible: " + rule;
    std::string reasons;
    for (int i = 0; i < plan::kNumRules; ++i)
      if (const std::int64_t count = result.unbuildable[i]; count > 0)
        reasons += fmt::format("{}{} ({})", reasons.empty() ? "" : ", ",
                               plan::code_of(static_cast<plan::Rule>(i)),
                               counted(format_count(count), "layout"));
    return reasons.empty() ? "no layout has these degrees"
                           : "no layout is possible because of these rules: " + reasons;
  }
  if (!result.nearest && result.not_accepted > 0)
    return "the engine: it cannot run any of the plans that fit";
  if (!result.nearest)
    return "host memory: every plan that fits on the devices needs more host "
           "memory than there is";
  const cost::Memory& memory = result.nearest->prediction.memory;
  const plan::Degrees& d = result.nearest->degrees;
  return fmt::format(
      "device memory: even the plan with the least memory (tp {} x pp {} x dp {}, micro-batch {}, "
      "ZeRO-{}, {} recompute) needs {} of {}{}",
      d.tp, d.pp, d.dp, d.micro_batch, d.zero,
      d.recompute == plan::Recompute::kNone ? "no" : plan::to_string(d.recompute),
      format_bytes(Bytes{memory.total}), format_bytes(Bytes{memory.capacity}),
      headroom > 0 ? fmt::format(", of which {:.0f} % must stay free", 100 * headroom) : "");
}

std::vector<Lift> find_lifts(const PlanRequest& request, const Inputs& inputs,
                             const Choices& choices) {
  return Lifter(request, inputs, choices).run();
}

}  // namespace nereus::app
