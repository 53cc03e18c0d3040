#include "app/plan/plan_burst.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "app/plan/burst_memory.hpp"
#include "app/plan/plan_choices.hpp"
#include "app/predict/layer_predictions.hpp"
#include "app/predict/profiles.hpp"
#include "base/error.hpp"
#include "base/format.hpp"
#include "cost/data_parallel.hpp"
#include "cost/kernel_time.hpp"
#include "cost/machine_rates.hpp"
#include "plan/check.hpp"
#include "plan/complete.hpp"
#include "plan/rules.hpp"
#include "predict/general/general_predictor.hpp"
#include "search/burst/burst_placement.hpp"
#include "search/burst/overlap.hpp"
#include "search/burst/pick.hpp"

namespace nereus::app {

namespace {

using burst::BurstPlan;
using burst::Front;
using burst::Problem;

void check(const PlanRequest& request, const BurstOptions& options, const Inputs& inputs) {
  ErrorList errors;
  refuse_unread(request, kBurstPlanner, errors);
  if (!inputs.cluster.uniform())
    errors.add("plan.burst-cluster", "machines of several kinds", {},
               "one kind of machine, or no --burst");
  for (const model::LayerKind& kind : inputs.model.kinds)
    if (kind.expert_parameters() > 0 || kind.table_parameters() > 0) {
      errors.add("plan.burst-model",
                 fmt::format("{} has experts or embedding tables", inputs.model.name), {},
                 "a dense model, or no --burst");
      break;
    }
  if (options.goal == BurstGoal::kAmplification && !(options.amplification >= 1))
    errors.add("plan.amplification",
               fmt::format("--amplification is {}, but every plan uses at least the rank-seconds "
                           "of one rank",
                           options.amplification),
               {}, "1 or more, as in --amplification 2");
  if (options.goal != BurstGoal::kThroughput && (options.yield != 1 || options.slower != 1))
    errors.add("plan.burst-option",
               "--background-yield and --slower are for --objective throughput", {},
               "--objective throughput");
  if (!(options.yield >= 0 && options.yield <= 1))
    errors.add("plan.yield", fmt::format("--background-yield is {}", options.yield), {}, "0 to 1");
  if (!(options.slower >= 1))
    errors.add("plan.slower", fmt::format("--slower is {}", options.slower), {}, "1 or more");
  errors.throw_if_any();
}

cluster::Precision precision_of(const PlanRequest& request, const Inputs& inputs) {
  plan::DegreesRequest wanted;
  wanted.precision = request.precision ? request.precision : measured_precision(inputs.basis);
  plan::Degrees one;
  one.precision = plan::complete_degrees(wanted, inputs.model, inputs.cluster).degrees.precision;
  check_precision(inputs.basis, one.precision);
  const ErrorList wrong = plan::check_degrees(one, inputs.model, inputs.cluster);
  for (const Error& error : wrong.list())
    if (error.code == plan::code_of(plan::Rule::kPrecision)) throw Errors({error});
  return one.precision;
}

class BurstPlanner {
 public:
  BurstPlanner(const Inputs& inputs, cluster::Precision precision, const BurstOptions& options,
               double headroom)
      : inputs_(inputs),
        precision_(precision),
        options_(options),
        num_ranks_(inputs.cluster.num_devices()),
        machine_(cost::make_machine(inputs.cluster, 0, inputs.basis)),
        memory_(inputs, machine_, precision, headroom),
        layers_(inputs.model, inputs.cluster, inputs.basis, precision),
        predictor_(inputs.model, inputs.cluster, inputs.basis) {}

  // For plans on the first `num_ranks` ranks. The distance between the ranks of a narrow layer
  // depends on the largest count, so plans within one node have separate costs.
  burst::Overlapped problem(int batch, int num_ranks, const std::vector<int>& counts) {
    const int least = burst::samples_per_rank(batch, counts.back());
    const bool one_domain = num_ranks <= machine_.fabric.domain;
    burst::Prices prices;
    prices.overlap = 1;
    prices.sum = [this, batch, least](int count, double bytes) {
      // Ranks lie as far apart as their first samples.
      const int stride = burst::samples_per_rank(batch, count) / least;
      const cost::Wire wire = machine_.wire(count, std::max(1, stride));
      return cost::all_reduce_seconds(wire.fabric, wire.group, bytes);
    };
    prices.move = [this, one_domain](int samples) {
      const double delay = cost::send_seconds(machine_.fabric, one_domain, 0);
      const double byte = cost::send_seconds(machine_.fabric, one_domain, 1e9) - delay;
      return burst::MoveCost{2 * delay, 2 * samples * byte / 1e9};
    };
    burst::Overlapped out = burst::make_overlapped(blocks(), edges(), prices, batch, counts);
    out.problem.num_ranks = num_ranks;
    if (!options_.branches_apart) out.problem.trunk_ranks = num_ranks;
    out.problem.memory_limit = memory_.limit();
    return out;
  }

  // First all ranks and counts. Then the ranks of one domain of the fabric; then twice as many, and
  // so on, with only some counts.
  std::vector<burst::Overlapped> problems(int batch) {
    const std::vector<int> all = options_.powers_of_two
                                     ? burst::powers_of_two(batch, num_ranks_)
                                     : burst::candidate_counts(batch, num_ranks_);
    std::vector<burst::Overlapped> out = {problem(batch, num_ranks_, all)};
    const int domain = machine_.fabric.domain;
    for (int ranks = domain; ranks < std::min(num_ranks_, all.back()); ranks *= 2) {
      const std::vector<int> counts = burst::some_counts(all, ranks, domain);
      out.push_back(problem(batch, ranks, counts));
      out.back().is_some = counts.back() != all[counts.size() - 1];
    }
    // With few counts the search finds other plans: where all-reduces overlap, sometimes better
    // ones.
    if (!options_.powers_of_two) {
      const std::vector<int> powers = burst::powers_of_two(batch, num_ranks_);
      for (int ranks = num_ranks_; ranks >= std::min(domain, num_ranks_); ranks /= 2) {
        std::vector<int> counts;
        for (const int count : powers)
          if (count <= ranks && std::binary_search(all.begin(), all.end(), count))
            counts.push_back(count);
        out.push_back(problem(batch, ranks, counts));
        out.back().is_part = true;
      }
    }
    return out;
  }

  // The plan as a whole, checked and predicted.
  BurstRow row(std::string name, const BurstPlan& own, const Problem& problem, int batch) {
    BurstRow out;
    out.name = std::move(name);
    out.plan = own;
    out.ranks = burst::ranks_used(own, problem.counts);
    ResolvedPlan resolved{inputs_.model, inputs_.cluster, inputs_.basis, {}, {}, {}};
    resolved.placement = burst::placement_of(own, problem.counts, batch, precision_);
    NEREUS_CHECK(plan::check(resolved.placement, inputs_.model, inputs_.cluster).empty(),
                 "every plan that the search gives passes the checker");
    const cost::Prediction prediction = predictor_.predict(resolved.placement);
    out.predicted = describe(std::move(resolved), prediction);
    return out;
  }

  // Index in the front; empty if no plan is within the limit.
  std::optional<std::size_t> pick(const Front& front, const Problem& problem, double one_rank,
                                  double data_parallel) const {
    if (front.plans.empty()) return std::nullopt;
    switch (options_.goal) {
      case BurstGoal::kTime:
        return 0;
      case BurstGoal::kMoney:
        return burst::pick_money(front, problem.counts);
      case BurstGoal::kThroughput:
        return burst::pick_throughput(front, {one_rank, num_ranks_, options_.yield},
                                      data_parallel * options_.slower);
      case BurstGoal::kAmplification:
        return burst::pick_amplification(front, one_rank, options_.amplification);
    }
    return std::nullopt;
  }

  const BurstMemory& memory() const { return memory_; }

 private:
  std::vector<burst::BlockCosts> blocks() {
    std::vector<burst::BlockCosts> out;
    for (int i = 0; i < inputs_.model.num_layers(); ++i) {
      const model::LayerKind& kind = inputs_.model.layer(i);
      burst::BlockCosts own;
      own.name = fmt::format("layer {} ({})", i, kind.name);
      own.seconds = [this, i](int samples) { return layers_.seconds(i, samples); };
      own.backward = [this, i](int samples) {
        return cost::kBackward * layers_.seconds(i, samples);
      };
      own.gradient_bytes = kind.parameters() * inputs_.basis.stack.options.reduce_bytes;
      own.state_bytes = memory_.state_bytes(kind);
      own.kept_bytes = memory_.kept_bytes(kind);
      out.push_back(std::move(own));
    }
    return out;
  }
  std::vector<burst::Edge> edges() const {
    std::vector<burst::Edge> out;
    for (const model::Edge& edge : model::all_edges(inputs_.model))
      out.push_back({edge.from, edge.to, edge.elements * cost::element_bytes(precision_)});
    return out;
  }

  const Inputs& inputs_;
  cluster::Precision precision_;
  const BurstOptions& options_;
  int num_ranks_;
  cost::Machine machine_;
  BurstMemory memory_;
  LayerPredictions layers_;
  cost::GeneralPredictor predictor_;
};

std::vector<int> all_at(const Problem& problem, int candidate) {
  return std::vector<int>(problem.blocks.size(), candidate);
}

// One batch: its front, and the plan of it that is wanted.
struct Solved {
  int batch = 0;
  Problem problem;
  Front front;
  BurstPlan one_rank, data_parallel;
  std::optional<std::size_t> picked;
};

Solved solve(BurstPlanner& planner, int batch, const std::function<bool()>& stop) {
  Solved out;
  out.batch = batch;
  std::vector<burst::Overlapped> problems = planner.problems(batch);
  for (burst::Overlapped& own : problems) own.problem.stop = stop;
  out.front = burst::solve(problems);
  out.problem = std::move(problems.front().problem);
  out.one_rank = burst::evaluate(out.problem, all_at(out.problem, 0));
  out.data_parallel =
      burst::evaluate(out.problem, all_at(out.problem, out.problem.num_candidates() - 1));
  out.picked =
      planner.pick(out.front, out.problem, out.one_rank.seconds, out.data_parallel.seconds);
  return out;
}

double steps_to(const SamplesToTarget& target, int batch) {
  return std::ceil(target.samples(batch) / batch);
}

double to_target(const Solved& own, const SamplesToTarget& target, BurstGoal goal) {
  if (!own.picked) return std::numeric_limits<double>::infinity();
  const BurstPlan& plan = own.front.plans[*own.picked];
  const double steps = steps_to(target, own.batch);
  const double ranks = goal == BurstGoal::kMoney ? burst::ranks_used(plan, own.problem.counts) : 1;
  return steps * plan.seconds * ranks;
}

}  // namespace

BurstAnswer plan_burst(const PlanRequest& request, const BurstOptions& options,
                       const ProgressSink& progress) {
  const auto begin = std::chrono::steady_clock::now();
  BurstAnswer out;
  out.inputs = load_inputs(request.model, request.seq, request.cluster, request.calibration);
  check(request, options, out.inputs);
  out.precision = precision_of(request, out.inputs);
  out.inputs.basis = out.inputs.basis.in_precision(out.precision);
  BurstPlanner planner(out.inputs, out.precision, options, request.options.headroom);

  std::vector<int> batches = {request.choices.global_batch};
  if (!options.samples_to_target.empty()) {
    out.target.emplace();
    out.target->target = read_samples_to_target(options.samples_to_target);
    if (batches[0] == 0) batches = batches_of(out.target->target);
  } else if (batches[0] == 0) {
    batches[0] = plan::default_global_batch(out.inputs.model, out.inputs.cluster);
  }
  Solved best;
  const auto to_best = [&](const Solved& own) {
    return to_target(own, out.target->target, options.goal);
  };
  for (std::size_t i = 0; i < batches.size() && out.complete; ++i) {
    if (batches[i] > plan::kMostSamples)
      throw_input_error("plan.too-large",
                        fmt::format("--global-batch is {}", format_count(batches[i])), {},
                        fmt::format("at most {}", format_count(plan::kMostSamples)));
    Solved own = solve(planner, batches[i], request.options.stop);
    const bool is_stopped = own.front.is_stopped;
    if (best.batch == 0 || (out.target && to_best(own) < to_best(best))) best = std::move(own);
    if (progress && batches.size() > 1)
      progress({"batches", static_cast<double>(i + 1), static_cast<double>(batches.size()),
                counted(format_count(best.batch), "sample")});
    const bool is_last = i + 1 == batches.size();
    out.complete = !is_stopped && (is_last || !request.options.stop || !request.options.stop());
    if (!out.complete && !is_last)
      out.notes.push_back(fmt::format("stopped after {} of {} batches; this is the best of them",
                                      i + 1, batches.size()));
  }
  out.global_batch = best.batch;
  out.counts = best.problem.counts;
  out.front = best.front;
  out.one_rank = best.one_rank.seconds;
  out.notes.insert(out.notes.end(), best.front.notes.begin(), best.front.notes.end());
  const int num_ranks = out.inputs.cluster.num_devices();
  if (best.batch < num_ranks)
    out.notes.push_back(fmt::format("with {0}, at most {2} of {1} ranks can compute a layer",
                                    counted(format_count(best.batch), "sample"),
                                    format_count(num_ranks), format_count(best.batch)));
  if (out.front.plans.empty()) {
    out.notes.push_back(
        fmt::format("no plan fits: rank 0 computes its share of every layer and needs at least "
                    "{}, but has {}",
                    format_bytes(Bytes{best.front.least_memory}),
                    format_bytes(Bytes{std::max(0.0, planner.memory().limit())})));
    out.notes.push_back(
        planner.memory().lift(best.batch, out.counts.back(), options.powers_of_two));
  }
  if (best.picked) {
    out.notes.emplace_back(
        "the step counts kernels only, as in replayed CUDA graphs; the full prediction adds the "
        "host's launches, the optimizer and the fixed cost of a step");
    const auto add = [&](std::string name, const BurstPlan& own) {
      out.rows.push_back(planner.row(std::move(name), own, best.problem, best.batch));
    };
    const BurstPlan& picked = out.front.plans[*best.picked];
    add("picked", picked);
    add("fastest", out.front.plans.front());
    for (const double limit : {1.5, 2.0, 5.0})
      if (const auto at = burst::pick_amplification(out.front, out.one_rank, limit))
        add(fmt::format("amplification {:g}", limit), out.front.plans[*at]);
    add("data parallel", best.data_parallel);
    add("one rank", best.one_rank);
    if (out.target) {
      const double steps = steps_to(out.target->target, best.batch);
      out.target->seconds = steps * picked.seconds;
      out.target->rank_seconds = steps * picked.rank_seconds;
    }
  } else if (!out.front.plans.empty()) {
    out.notes.push_back("no plan is within the limit; the smallest possible amplification is " +
                        format_significant(out.front.plans.back().rank_seconds / out.one_rank));
  }
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return out;
}

}  // namespace nereus::app
