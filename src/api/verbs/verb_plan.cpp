#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "api/form/exit_codes.hpp"
#include "api/reports/burst_report.hpp"
#include "api/reports/plan_report.hpp"
#include "api/reports/spot_report.hpp"
#include "api/verbs/enum_choices.hpp"
#include "api/verbs/lists.hpp"
#include "api/verbs/verbs.hpp"
#include "app/plan/plan_burst.hpp"
#include "app/plan/plan_choices.hpp"
#include "app/plan/plan_spot.hpp"
#include "app/plan/plan_verb.hpp"
#include "base/error.hpp"
#include "cost/pipeline_time.hpp"
#include "plan/degree_fields.hpp"
#include "plan/plan_json.hpp"

namespace nereus::api {

namespace {

struct PlanOptions {
  app::PlanRequest plan;
  std::optional<int> global_batch;
  std::optional<int> max_tp;
  std::optional<int> top;
  std::optional<int> threads;
  std::optional<bool> sequence_parallel;
  std::optional<bool> tensor_overlap;
  std::optional<bool> data_overlap;
  std::optional<double> headroom;
  std::vector<search::Objective> objectives;
  OutputOptions output;
  std::string plan_file;
  bool spot = false;
  app::SpotOptions spot_options;
  bool burst = false;
  bool throughput = false;  // --objective throughput, only for --burst
  std::optional<double> amplification, background_yield, slower;
  app::BurstOptions burst_options;
};

void take_offload(const std::string& text, search::Choices& choices, ErrorList& errors) {
  if (text == "none") {
    choices.offloads = {{}};
  } else if (text == "any") {
    choices.offload_any = true;
  } else {
    app::DegreesRequest one;
    if (!choices.offloads.empty()) one.offload = choices.offloads.front();
    parse_offload(text, one, errors);
    if (one.offload) choices.offloads = {*one.offload};
  }
}

void add_space_options(Command& command, PlanOptions& request) {
  search::Choices& choices = request.plan.choices;
  command.group(
      "Search space (each option restricts what is tried; LIST is 1,2,4 or a range 2..8 or by "
      "doubling 2..64*2)");
  const auto list = [&](const char* name, std::vector<int>& target, int least, const char* help) {
    command.list(name, whole_list(name, target, least), help);
  };
  list("--tp", choices.tp, 1, "tensor-parallel degrees");
  list("--pp", choices.pp, 1, "pipeline stages");
  list("--dp", choices.dp, 1, "data-parallel degrees");
  list("--cp", choices.cp, 1, "context-parallel degrees");
  list("--ep", choices.ep, 1, "ranks that share the experts, or the embedding tables");
  list("--interleave", choices.interleave, 1, "virtual stages per pipeline rank");
  list("--micro-batch", choices.micro_batch, 1, "samples per micro-batch");
  list("--zero", choices.zero, 0, "ZeRO stages, 0 to 3");
  list("--zero-group", choices.zero_group, 1, "ranks that share one copy of sharded state (HSDP)");
  command.list("--recompute",
               word_list("--recompute", {"none", "selective", "full", "partial"},
                         [&choices](std::size_t i) {
                           choices.recompute.push_back(static_cast<search::RecomputeChoice>(i));
                         }),
               "none, selective, full, partial (full recompute of some blocks of each stage)");
  std::vector<std::string> schedules = plan::words_of<plan::Schedule>();
  schedules.emplace_back("all");
  command.list("--schedule",
               word_list("--schedule", schedules,
                         [&choices](std::size_t i) {
                           const auto all = static_cast<std::size_t>(plan::Schedule::kDualPipe) + 1;
                           for (std::size_t s = 0; s < all; ++s)
                             if (i == s || i == all)
                               choices.schedules.push_back(static_cast<plan::Schedule>(s));
                         }),
               "pipeline schedules (default: 1f1b,interleaved; all = every schedule)");
  command.list("--context",
               word_list("--context", plan::words_of<plan::ContextKind>(),
                         [&choices](std::size_t i) {
                           choices.contexts.push_back(static_cast<plan::ContextKind>(i));
                         }),
               "context-parallel scheme: ring, zigzag, all-to-all");
  command.list("--table-split",
               word_list("--table-split", plan::words_of<plan::TableSplit>(),
                         [&choices](std::size_t i) {
                           choices.table_splits.push_back(static_cast<plan::TableSplit>(i));
                         }),
               "how ep ranks share embedding tables: table, lookups, row, column");
  command.custom(
      "--offload", "any|none|[TIER:]PART=SHARE[,...]",
      [&choices](const std::string& text, ErrorList& errors) {
        take_offload(text, choices, errors);
      },
      "what may be offloaded, such as optimizer=0.5 for half of the optimizer's state (default: "
      "none); any = try shares of optimizer, activations and weights in steps of 1/8, on every "
      "memory tier of the nodes");
  command.pairs(
      "--state-types", "PART=TYPE[,...]",
      [&choices](const std::string& text, ErrorList& errors) {
        parse_state_types(text, choices.state_types, errors);
      },
      "number formats of every plan's state, such as reduced=bf16 or moments=int8 (default: those "
      "of "
      "the stack)");
  command.toggle("--sequence-parallel", request.sequence_parallel,
                 "only plans with sequence parallelism (=off: only without)");
  command.toggle("--tensor-overlap", request.tensor_overlap,
                 "only plans that overlap tensor-parallel communication (=off: only without)");
  command.toggle("--data-overlap", request.data_overlap,
                 "only plans that overlap data-parallel communication (=off: only without)");
}

void add_goal_options(Command& command, PlanOptions& request) {
  command.group("Goal");
  command.whole("--global-batch", request.global_batch, 1,
                "samples per step (default: about four million tokens)");
  command.whole("--seq", request.plan.seq, 1, "tokens per sample");
  command.choice("--precision", choices_of(request.plan.precision), "precision of matrix products");
  command.list(
      "--objective",
      word_list("--objective", {"time", "money", "energy", "throughput"},
                [&request](std::size_t i) {
                  if (i == 3)
                    request.throughput = true;
                  else
                    request.objectives.push_back(static_cast<search::Objective>(i));
                }),
      "minimize the time, money or energy per step, or with --burst maximize the throughput "
      "of the cluster; several objectives give the Pareto front");
  std::vector<Choice> engines;
  for (const std::string& name : exporting::engine_names())
    engines.push_back(
        {name, [&request, name] { request.plan.engine = exporting::parse_engine(name); }});
  command.choice("--engine", std::move(engines),
                 "search only plans that this engine can run, predicted for its software stack");
  command.list("--nodes", whole_list("--nodes", request.plan.nodes, 1),
               "node counts to search, instead of all nodes of the cluster");
  command.whole("--max-tp", request.max_tp, 1, "largest tensor-parallel degree");
  command.number(
      "--headroom", request.headroom,
      "share of device memory to leave free, such as 0.1 (default: as much as plans need "
      "to fit with 95 %)");
  command.whole("--top", request.top, 1, "number of layouts to show (default: 5)");
  command.whole("--threads", request.threads, 1,
                "number of threads (default: all cores); does "
                "not change the answer");
}

void add_spot_options(Command& command, PlanOptions& request) {
  command.group("Spot machines");
  command.flag(
      "--spot", request.spot,
      "plan pipelines for any number of machines, where replicas may have different numbers "
      "of samples; plans are ranked by simulation");
  command.text(
      "--jitter", "FORM", request.spot_options.jitter,
      "with --spot: how compute times vary in the simulation that ranks plans; forms as in "
      "nereus simulate");
  command.text("--link-jitter", "FORM", request.spot_options.link_jitter,
               "with --spot: how message times vary in that simulation");
}

void add_burst_options(Command& command, PlanOptions& request) {
  command.group("Burst (a separate number of ranks for each layer, at a fixed global batch)");
  command.flag("--burst", request.burst,
               "choose the number of ranks for each layer; works with --objective time, money or "
               "throughput");
  command.number(
      "--amplification", request.amplification,
      "the fastest plan in which the busy times of all ranks add up to at most X times the step "
      "time on one rank");
  command.number("--background-yield", request.background_yield,
                 "for throughput: share of a free rank's time that background jobs can use, 0 to "
                 "1 (default: 1)");
  command.number("--slower", request.slower,
                 "for throughput: a step may take at most X times as long as with every layer on "
                 "all ranks (default: 1)");
  command.flag("--powers-of-two", request.burst_options.powers_of_two,
               "use only powers of two as rank counts");
  command.flag("--branches-apart", request.burst_options.branches_apart,
               "allow separate ranks for parallel branches of the model");
  command.text(
      "--samples-to-target", "NAME|LEAST:CRITICAL", request.burst_options.samples_to_target,
      "also choose the global batch: training to a target quality needs LEAST * (1 + batch "
      "/ CRITICAL) samples; NAME is a model for which both were fitted to MLPerf results");
}

bool asks_for_burst(const PlanOptions& request) {
  const app::BurstOptions& own = request.burst_options;
  return request.throughput || request.amplification || request.background_yield ||
         request.slower || own.powers_of_two || own.branches_apart ||
         !own.samples_to_target.empty();
}

// For planners without degrees. Also lists the options that app rejects, so that one error has all
// of them.
void refuse_without_meaning(const PlanOptions& request, const app::PlanRequest& wanted,
                            const app::OwnLayout& planner) {
  std::vector<std::string> names;
  const auto add = [&](bool given, const char* name) {
    if (given) names.emplace_back(name);
  };
  add(request.top.has_value(), "--top");
  add(!request.spot && !request.spot_options.jitter.empty(), "--jitter");
  add(!request.spot && !request.spot_options.link_jitter.empty(), "--link-jitter");
  if (names.empty()) return;
  for (std::string& own : app::unread_options(wanted, planner)) names.push_back(std::move(own));
  throw Errors({app::unread_error(names, planner)});
}

// For --burst: one plan of the front is picked, by time unless something else is given.
void check_one_goal(const PlanOptions& request) {
  std::vector<std::string> given;
  ErrorList errors;
  for (const search::Objective own : request.objectives) {
    if (own == search::Objective::kEnergy)
      errors.add("plan.burst-option", "--burst does not plan for --objective energy", {},
                 "--objective time, money or throughput, or --amplification A");
    given.push_back(fmt::format("--objective {}", search::to_string(own)));
  }
  if (request.throughput) given.emplace_back("--objective throughput");
  if (request.amplification)
    given.push_back(fmt::format("--amplification {}", *request.amplification));
  if (given.size() > 1)
    errors.add("plan.burst-option",
               fmt::format("--burst picks one plan of the front, but {} each pick a plan",
                           fmt::join(given, ", ")),
               {}, "one of --objective time, money or throughput, or --amplification A");
  errors.throw_if_any();
}

ExitCode plan_burst(const PlanOptions& request, const app::PlanRequest& wanted, Caller& caller) {
  app::BurstOptions options = request.burst_options;
  options.yield = request.background_yield.value_or(1);
  options.slower = request.slower.value_or(1);
  check_one_goal(request);
  if (request.throughput) options.goal = app::BurstGoal::kThroughput;
  if (request.objectives == std::vector{search::Objective::kMoney})
    options.goal = app::BurstGoal::kMoney;
  if (request.amplification) {
    options.goal = app::BurstGoal::kAmplification;
    options.amplification = *request.amplification;
  }
  refuse_without_meaning(request, wanted, app::kBurstPlanner);
  app::PlanRequest own = wanted;
  own.options.stop = caller.stop();
  const app::BurstAnswer answer = app::plan_burst(own, options, caller.progress());
  if (!request.plan_file.empty() && !answer.rows.empty())
    plan::save_plan(request.plan_file, app::to_plan(answer.rows.front().predicted.plan));
  caller.answer(burst_report(answer), request.output);
  if (!answer.complete) return kStoppedEarly;
  return answer.rows.empty() ? kNothingFeasible : kDone;
}

ExitCode plan_spot(const PlanOptions& request, const app::PlanRequest& wanted, Caller& caller) {
  refuse_without_meaning(request, wanted, app::kSpotPlanner);
  app::SpotOptions options = request.spot_options;
  options.for_file = !request.plan_file.empty();
  const app::SpotAnswer answer = app::plan_spot(wanted, options);
  if (options.for_file && !answer.result.plans.empty())
    plan::save_plan(request.plan_file, answer.best);
  caller.answer(spot_report(answer), request.output);
  return answer.result.plans.empty() ? kNothingFeasible : kDone;
}

app::PlanRequest finished(const PlanOptions& request) {
  app::PlanRequest plan = request.plan;
  plan.choices.global_batch = request.global_batch.value_or(0);
  plan.choices.max_tp = request.max_tp.value_or(0);
  if (request.sequence_parallel) plan.choices.sequence_parallel = {*request.sequence_parallel};
  if (request.tensor_overlap) plan.choices.tensor_overlap = {*request.tensor_overlap};
  if (request.data_overlap) plan.choices.data_overlap = {*request.data_overlap};
  if (!request.objectives.empty()) plan.options.objectives = request.objectives;
  plan.options.top = request.top.value_or(5);
  plan.options.threads = request.threads.value_or(0);
  plan.options.headroom = request.headroom.value_or(0);
  plan.fits_probability = request.headroom ? 0 : app::kFitsByDefault;
  ErrorList errors;
  if (!(plan.options.headroom >= 0 && plan.options.headroom < 1))
    errors.add("cli.bad-value",
               fmt::format("--headroom takes a share from 0 to 1, not {}", plan.options.headroom),
               {}, "--headroom 0.1");
  for (const int zero : plan.choices.zero)
    if (zero > 3) errors.add("cli.bad-value", fmt::format("--zero takes 0 to 3, not {}", zero));
  errors.throw_if_any();
  return plan;
}

}  // namespace

Verb plan_verb(Caller& caller) {
  auto request = std::make_shared<PlanOptions>();
  auto command = std::make_unique<Command>("plan",
                                           "find the best way to train a model on a "
                                           "cluster");
  add_model_options(*command, request->plan.model);
  add_cluster_options(*command, request->plan.cluster);
  add_set_option(*command, &request->plan.model, &request->plan.cluster);
  add_goal_options(*command, *request);
  add_space_options(*command, *request);
  add_spot_options(*command, *request);
  add_burst_options(*command, *request);
  add_calibration_options(*command, request->plan.calibration);
  add_output_options(*command, request->output, false);
  command->text("-o,--output", "FILE", request->plan_file, "write the best plan to FILE");
  command->about(
      "Searches every way to split the model over the devices and shows the best layouts. Every "
      "candidate is either predicted or pruned by a bound that never prunes the best one. If "
      "nothing fits, it names the binding constraint and the changes that would make the model "
      "fit (exit code 3). Ctrl-C stops the search and shows the best plan so far (exit code 10). "
      "Without arguments it plans llama3-70b on 16xdgx-h100.");
  command->example("nereus plan", "a 70B model on 128 H100s");
  command->example("nereus plan --model gpt3-175b --cluster 512xdgx-a100-80 --global-batch 4096",
                   "4,096 devices");
  command->example("nereus plan --model llama3-8b --cluster 8xp4d.24xlarge --max-tp 8 -o best.plan",
                   "save the best plan; nereus explain best.plan shows why it won");
  command->example(
      "nereus plan --model llama3-70b --cluster 64xp5.48xlarge --nodes 8..64*2 --objective "
      "time,money",
      "compare node counts by time and cost (Pareto front)");
  command->example(
      "nereus plan --spot --model gpt2-xl --cluster 37xp3.2xlarge --jitter normal:2ms "
      "--link-jitter "
      "delay:10ms",
      "37 spot machines (a prime number)");
  command->example(
      "nereus plan --burst --model vgg16 --cluster 1xdgx-a100-80 --global-batch 32 "
      "--amplification 2 -o vgg.plan",
      "the number of ranks for each layer, with at most twice the GPU time of one rank");
  command->run = [&caller, request] {
    app::PlanRequest wanted = finished(*request);
    if (request->spot && request->burst)
      throw_input_error("plan.burst-option", "--spot and --burst are different kinds of plans", {},
                        "give one of them");
    if (request->burst) return plan_burst(*request, wanted, caller);
    if (asks_for_burst(*request))
      throw_input_error("plan.burst-option",
                        "--amplification, --objective throughput, --background-yield, --slower, "
                        "--powers-of-two, --branches-apart and --samples-to-target are for "
                        "--burst only",
                        {}, "--burst");
    if (request->spot) return plan_spot(*request, wanted, caller);
    if (!request->spot_options.jitter.empty() || !request->spot_options.link_jitter.empty())
      throw_input_error("plan.spot-option", "--jitter and --link-jitter are for --spot only", {},
                        "--spot, or nereus simulate");
    wanted.options.stop = caller.stop();
    const app::PlanAnswer answer = app::plan(wanted, caller.progress());
    if (!request->plan_file.empty() && !answer.plans.empty())
      plan::save_plan(request->plan_file, app::to_plan(answer.plans.front().plan));
    caller.answer(plan_report(answer, wanted, request->output.format == Format::kCsv),
                  request->output);
    if (!answer.search.complete || caller.stop()()) return kStoppedEarly;
    return answer.plans.empty() ? kNothingFeasible : kDone;
  };
  return command;
}

}  // namespace nereus::api
