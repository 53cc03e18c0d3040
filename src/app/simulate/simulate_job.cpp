#include "app/simulate/simulate_job.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "app/predict/job_rates.hpp"
#include "app/predict/profiles.hpp"
#include "app/simulate/job_policies.hpp"
#include "base/error.hpp"
#include "base/format.hpp"
#include "base/infeasible.hpp"
#include "plan/complete.hpp"
#include "plan/degree_fields.hpp"
#include "simulate/job/availability_file.hpp"
#include "stack/stack_file.hpp"

namespace nereus::app {

using simulate::Policy;

namespace {

constexpr double kDay = 86400;
constexpr int kMostSpares = 4;       // tried if the user gives none
constexpr double kMostEvents = 1e5;  // of a dedicated cluster, each interval of the grid anew
constexpr double kMostWork = 2e9;    // each event looks at each machine
constexpr int kMissing = 8;          // failed nodes at once that are planned for
constexpr int kMostPlanned = 256;    // numbers of machines that are planned for

void check(const JobRequest& request) {
  ErrorList errors;
  if (request.availability.empty() && !request.mtbf)
    errors.add("job.machines", "nothing says when machines are available", {},
               "--availability FILE, or --mtbf 1000h");
  if (!request.availability.empty() && request.mtbf)
    errors.add("job.machines", "a trace and a mean time between failures are both given", {},
               "give "
               "one "
               "of "
               "them");
  if (!request.rates_file.empty() &&
      (!request.predict.model.model.empty() || !request.predict.cluster.cluster.empty()))
    errors.add("job.rates", "a table of rates replaces model and cluster", {},
               "--rates, or --model and --cluster");
  if (!request.rates_file.empty() && !request.samples_per_step)
    errors.add("job.rates", "the samples of a step are not known", {}, "--global-batch 1024");
  if (!request.rates_file.empty() && request.mtbf)
    errors.add("job.rates", "--mtbf needs a model and a cluster", {}, "--model and --cluster");
  const DegreesRequest& d = request.predict.degrees;
  if (!request.predict.plan_file.empty())
    errors.add("job.plan",
               "a job has a plan for every number of machines, so a plan file cannot "
               "be used",
               {}, "--model and --cluster, or --rates");
  const std::vector<std::string> unread = plan::given_options(d, {"--global-batch"});
  if (!request.rates_file.empty() && !unread.empty())
    errors.add(
        "job.degrees",
        fmt::format("{} would have no effect with --rates, which already gives the rate for every "
                    "number of machines",
                    fmt::join(unread, ", ")),
        {}, "only --global-batch; or --model and --cluster without --rates");
  else if (!plan::given_options(d, {"--tp", "--pp", "--micro-batch", "--zero", "--precision",
                                    "--seq", "--global-batch"})
                .empty())
    errors.add("job.degrees", "only some choices can be fixed for the plans of a job", {},
               "--tp, --pp, --micro-batch, --zero, --precision, --seq, --global-batch");
  for (const std::string& name : request.policies) {
    const std::vector<std::string> known = job_policies();
    if (std::find(known.begin(), known.end(), name) == known.end())
      errors.add("job.policy", fmt::format("there is no policy '{}'", name), {},
                 "varuna, oobleck, ours or restart");
  }
  errors.throw_if_any();
}

// Model, cluster and choices of the planner.
struct Subject {
  Inputs inputs;
  search::Choices choices;
};

Subject load_subject(const JobRequest& request) {
  const PredictRequest& wanted = request.predict;
  Subject out;
  out.inputs = load_inputs(wanted.model, wanted.degrees.seq, wanted.cluster, wanted.calibration);
  if (!out.inputs.cluster.uniform())
    throw_input_error("job.cluster", "machines of several kinds", {},
                      "one kind of machine; the trace sets their number");
  plan::DegreesRequest precision;
  precision.precision = wanted.degrees.precision;
  if (!precision.precision) precision.precision = measured_precision(out.inputs.basis);
  out.choices.precision =
      plan::complete_degrees(precision, out.inputs.model, out.inputs.cluster).degrees.precision;
  check_precision(out.inputs.basis, out.choices.precision);
  out.inputs.basis = out.inputs.basis.in_precision(out.choices.precision);
  out.choices.global_batch = wanted.degrees.global_batch
                                 ? *wanted.degrees.global_batch
                                 : plan::default_global_batch(out.inputs.model, out.inputs.cluster);
  const auto fix = [](const std::optional<int>& value, std::vector<int>& list) {
    if (value) list = {*value};
  };
  fix(wanted.degrees.tp, out.choices.tp);
  fix(wanted.degrees.pp, out.choices.pp);
  fix(wanted.degrees.micro_batch, out.choices.micro_batch);
  fix(wanted.degrees.zero, out.choices.zero);
  return out;
}

void take_rates(const Subject& subject, int least, int most, JobAnswer& answer) {
  if (most > kMostPlanned && most - least > kMostPlanned)
    throw_input_error("job.machines",
                      fmt::format("{} machine counts are too many to plan for", most), {},
                      fmt::format("at most {}, or a table with --rates", kMostPlanned));
  PlannedRates planned = plan_rates(subject.inputs, least, most, subject.choices);
  if (planned.least == 0)
    throw_infeasible("job.no-plan",
                     fmt::format("{} does not fit on any number of machines up to {}",
                                 subject.inputs.model.name, most),
                     "larger machines, or a smaller model");
  answer.rates = std::move(planned.rates);
  answer.plans += planned.plans;
  answer.plan_seconds += planned.seconds;
}

void play_trace(const JobRequest& request, JobAnswer& answer) {
  answer.trace = simulate::read_availability(request.availability, request.seed);
  if (request.duration) answer.trace = simulate::cut(answer.trace, *request.duration);
  answer.summary = simulate::summary_of(answer.trace);
  const double work = static_cast<double>(answer.trace.events.size()) *
                      static_cast<double>(answer.trace.nodes.size());
  if (work > kMostWork)
    throw_input_error(
        "job.too-large",
        fmt::format("{} events of {} are too many", answer.trace.events.size(),
                    counted(answer.trace.nodes.size(), "machine")),
        {}, fmt::format("events x machines up to {:g}; use a shorter --duration", kMostWork));
  double network = 0;
  int devices = 1;
  if (request.rates_file.empty()) {
    const Subject subject = load_subject(request);
    const cluster::Node& node = subject.inputs.cluster.groups.front().node;
    answer.subject = fmt::format("{} on {}", subject.inputs.model.name, node.name);
    network = node.network.value;
    devices = node.num_devices;
    take_rates(subject, 1, answer.summary.most, answer);
    const double price =
        node.price.spot.value > 0 ? node.price.spot.value : node.price.on_demand.value;
    if (price > 0) answer.usd_per_hour = price;
    if (node.price.spot.value <= 0 && price > 0)
      answer.assumptions.emplace_back("no spot price is known, so the on-demand price is used");
  } else {
    answer.rates = read_rates(request.rates_file, *request.samples_per_step);
    answer.subject = request.rates_file;
    if (!request.checkpoint && answer.rates.by_machines.back().state_bytes == 0)
      throw_input_error("job.checkpoint", "the time of a checkpoint is not known", {},
                        "--checkpoint-time 50s, or a column state_bytes");
  }
  if (request.usd_per_hour) answer.usd_per_hour = request.usd_per_hour;
  const JobCosts costs = job_costs(request, answer, network, devices);
  std::vector<std::string> names = request.policies;
  if (names.empty()) names = {"varuna", "oobleck", "ours"};
  for (const std::string& name : names)
    answer.plays.push_back(
        play_with_interval(answer.trace, answer.rates, job_policy(name, request, costs)));
  add_assumptions(request, costs, answer);
}

// Nodes that the plan does not use are spares. The plan runs on all of its nodes or, under our
// policy, on fewer.
void play_dedicated(const JobRequest& request, JobAnswer& answer) {
  const Subject subject = load_subject(request);
  const cluster::Node& node = subject.inputs.cluster.groups.front().node;
  const int nodes = subject.inputs.cluster.num_nodes();
  const double mtbf = *request.mtbf;
  answer.subject = fmt::format("{} on {}", subject.inputs.model.name, subject.inputs.cluster.name);
  take_rates(subject, std::max(1, nodes - kMissing), nodes, answer);
  const simulate::JobRate full = answer.rates.by_machines.back();
  simulate::JobRates whole = answer.rates;
  for (int n = 0; n < nodes; ++n) whole.by_machines[n] = {};
  if (node.price.on_demand.value > 0) answer.usd_per_hour = node.price.on_demand.value;
  if (request.usd_per_hour) answer.usd_per_hour = request.usd_per_hour;
  const JobCosts costs = job_costs(request, answer, node.network.value, node.num_devices);

  std::vector<std::string> names = request.policies;
  if (names.empty()) names = {"restart", "ours"};
  simulate::PoissonFailures failures{.mean_time_between_failures = mtbf,
                                     .repair = request.repair,
                                     .duration = request.duration.value_or(30 * kDay),
                                     .seed = request.seed};
  const double between = mtbf / nodes;
  const double events = 2 * nodes * failures.duration / (mtbf + request.repair);
  if (events > kMostEvents)
    throw_input_error(
        "job.failures", fmt::format("about {:.0f} failures and repairs are too many", events), {},
        fmt::format("at most {:.0f}: a shorter --duration, or a longer --mtbf", kMostEvents));
  const double daly = daly_interval(costs.checkpoint, between);
  const int first = request.spares.value_or(0), last = request.spares.value_or(kMostSpares);
  for (int spares = first; spares <= last; ++spares) {
    failures.nodes = nodes + spares;
    simulate::Availability trace = simulate::poisson_failures(failures);
    JobAnswer::Spares row{spares, {}};
    for (const std::string& name : names) {
      Policy policy = job_policy(name, request, costs);
      if (name == "restart" && !request.checkpoint_every && !request.checkpoint_steps)
        policy.checkpoint_every = daly;
      row.plays.push_back(play_with_interval(trace, name == "ours" ? answer.rates : whole, policy));
    }
    if (spares == first) {
      answer.trace = trace;
      answer.summary = simulate::summary_of(trace);
      answer.plays = row.plays;
    }
    answer.spares.push_back(std::move(row));
  }
  if (costs.checkpoint > 0) {
    failures.nodes = nodes + last;
    const simulate::Availability trace = simulate::poisson_failures(failures);
    Policy policy = job_policy("restart", request, costs);
    const simulate::BestInterval best =
        simulate::best_interval(trace, whole, policy, costs.checkpoint / 4);
    JobAnswer::Intervals out{costs.checkpoint,
                             between,
                             young_interval(costs.checkpoint, between),
                             daly,
                             best.seconds,
                             0,
                             0};
    policy.checkpoint_steps = 0;
    for (double* const share : {&out.useful_daly, &out.useful_simulated}) {
      policy.checkpoint_every = share == &out.useful_daly ? daly : best.seconds;
      *share = simulate::play_job(trace, whole, policy).share(simulate::Activity::kUseful);
    }
    answer.intervals = out;
  }
  answer.assumptions.push_back(
      fmt::format("each node fails every {} on average and returns after "
                  "{}",
                  format_seconds(Seconds{mtbf}), format_seconds(Seconds{request.repair})));
  answer.assumptions.push_back(
      fmt::format("plan for all {}: {}", counted(nodes, "node"), full.plan));
  add_assumptions(request, costs, answer);
}

}  // namespace

JobAnswer simulate_job(const JobRequest& request) {
  const auto begin = std::chrono::steady_clock::now();
  check(request);
  JobAnswer answer;
  if (request.mtbf)
    play_dedicated(request, answer);
  else
    play_trace(request, answer);
  answer.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return answer;
}

}  // namespace nereus::app
