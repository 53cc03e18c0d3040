#include <fmt/format.h>

#include "api/form/exit_codes.hpp"
#include "api/reports/cluster_report.hpp"
#include "api/reports/collective_report.hpp"
#include "api/reports/job_report.hpp"
#include "api/reports/prediction_report.hpp"
#include "api/reports/simulation_report.hpp"
#include "api/verbs/verbs.hpp"
#include "app/simulate/simulate_cluster.hpp"
#include "app/simulate/simulate_plan.hpp"
#include "app/train/train_background.hpp"
#include "base/error.hpp"
#include "base/write_file.hpp"

namespace nereus::api {

namespace {

void add_play_options(Command& command, app::SimulateRequest& request, std::optional<int>& seed) {
  command.group("Simulation");
  command.text("--order", "FILE", request.order_file,
               "file with a custom order of passes, one line per pipeline rank");
  command.text(
      "--jitter", "FORM", request.jitter,
      "how compute times vary: normal:5%, normal:2ms, delay:1ms, lognormal:0.1, or measured:FILE "
      "(one factor per line)");
  command.text("--link-jitter", "FORM", request.link_jitter,
               "how message times vary, in the same "
               "forms");
  command.texts("--slow", "RANK:FACTOR", request.slow, "make one rank always slower by a factor");
  command.whole("--steps", request.steps, 1,
                "number of steps to simulate (default: 100 with "
                "jitter)");
  command.whole("--seed", seed, 0, "random seed (default: 1)");
  command.text("--links", "KIND", request.links,
               "stack: overlap as measured for the software; shared: also simulate all overlap "
               "that the hardware allows, with contention on shared links");
  command.flag("--layers", request.layers,
               "also simulate layer by layer, with every collective step by step on the cluster's "
               "network");
  command.text("--trace", "FILE.json[.gz]", request.trace_file,
               "write a Chrome trace for Perfetto; FOLDER/ writes one trace per rank, as "
               "PyTorch's profiler does");
  command.text("--svg", "FILE", request.svg_file, "write a picture of the pipeline");
}

// Rejects options of a step simulation that have no meaning here: for a collective, for ASTRA-sim's
// view, or for a whole job, which does have a seed and a picture.
void refuse_play_options(const app::SimulateRequest& request, const std::optional<int>& seed,
                         const char* with, bool is_job) {
  std::string given;
  const auto add = [&](bool set, const char* name) {
    if (set) given += (given.empty() ? "" : ", ") + std::string(name);
  };
  add(!request.order_file.empty(), "--order");
  add(!request.jitter.empty(), "--jitter");
  add(!request.link_jitter.empty(), "--link-jitter");
  add(!request.slow.empty(), "--slow");
  add(request.steps.has_value(), "--steps");
  add(!is_job && seed.has_value(), "--seed");
  add(!request.links.empty(), "--links");
  add(request.layers, "--layers");
  add(!request.trace_file.empty(), "--trace");
  add(!is_job && !request.svg_file.empty(), "--svg");
  if (!given.empty())
    throw_input_error("simulate.options",
                      fmt::format("{1} would have no effect with {0}", with, given), {},
                      "remove them");
}

Report whole_job(app::JobRequest job, const app::SimulateRequest& step,
                 const std::optional<int>& seed, Caller& caller) {
  refuse_play_options(step, seed, "--availability or --mtbf", true);
  job.predict = step.predict;
  if (!job.rates_file.empty() && step.predict.degrees.global_batch)
    job.samples_per_step = *step.predict.degrees.global_batch;
  if (seed) job.seed = static_cast<std::uint64_t>(*seed);
  const app::JobAnswer answer = app::simulate_job(job);
  if (!step.svg_file.empty()) write_file(step.svg_file, job_picture(answer));
  return job_report(answer, caller.screen);
}

struct BackgroundOptions {
  std::vector<std::string> jobs;
  std::string slowdown;
};

void add_background_options(Command& command, BackgroundOptions& options) {
  command.group("Background jobs");
  command.texts("--background", "PLAN[,KEY=VALUE..]", options.jobs,
                "run another job on devices while this job leaves them free; several jobs queue. "
                "Keys: steps (default: until this job ends), copies (default: 1; all = wherever "
                "there is room)");
  command.text("--slowdown", "SHARE", options.slowdown,
               "how much slower this job's steps may become (default: 5%)");
}

Report cluster_with_background(const BackgroundOptions& options, const app::SimulateRequest& step,
                               const std::optional<int>& seed, Caller& caller) {
  app::SimulateRequest others = step;
  others.steps.reset();
  refuse_play_options(others, seed, "--background", true);
  if (seed)
    throw_input_error("simulate.options", "a simulation with --background uses no random numbers",
                      {}, "remove --seed");
  app::ClusterSimulation request;
  request.foreground = step.predict;
  request.background = options.jobs;
  if (!options.slowdown.empty()) request.slowdown = app::parse_slowdown(options.slowdown);
  if (step.steps) request.steps = *step.steps;
  request.svg_file = step.svg_file;
  return cluster_report(app::simulate_cluster(request), caller.screen);
}

}  // namespace

Verb simulate_verb(Caller& caller) {
  struct Request {
    app::SimulateRequest simulate;
    app::SimulateCollectiveRequest collective;
    app::JobRequest job;
    BackgroundOptions background;
    std::optional<int> seed;
    OutputOptions output;
  };
  auto request = std::make_shared<Request>();
  auto command = std::make_unique<Command>(
      "simulate", "simulate one step of a plan pass by pass, or a whole job");
  add_prediction_options(*command, request->simulate.predict);
  add_collective_options(*command, request->collective);
  add_output_options(*command, request->output);
  add_play_options(*command, request->simulate, request->seed);
  add_job_options(*command, request->job);
  add_background_options(*command, request->background);
  command->about(
      "Takes the same input as predict, including any plan file. It simulates the passes of every "
      "stage, their messages and the gradient reduction, and shows when each rank computes, when "
      "it waits and for what. Of data-parallel replicas that do the same work, only one is "
      "simulated. With --collective it simulates one collective on one network instead. With "
      "--availability or --mtbf it simulates a whole job while machines come and go or fail. With "
      "--background it simulates a cluster shared with background jobs.");
  command->example("nereus simulate --model llama3-8b --cluster 2xdgx-h100 --pp 4 --schedule zb-h1",
                   "a zero-bubble schedule");
  command->example("nereus simulate best.plan --svg step.svg --trace step.json",
                   "a plan file, with a picture and a trace for Perfetto");
  command->example(
      "nereus simulate --model gpt3-175b --cluster 64xdgx-a100-80 --tp 8 --pp 8 --jitter normal:5% "
      "--slow 17:1.5",
      "varying compute times and a slow rank, with quantiles over 100 steps");
  command->example("nereus simulate --collective all-reduce --bytes 64MiB --cluster 16xdgx-h100",
                   "one collective, every algorithm");
  command->example(
      "nereus simulate --availability bamboo/p3-trace.csv --model gpt2-xl --cluster 1xp3.2xlarge",
      "a job on spot machines, under three policies");
  command->example(
      "nereus simulate --mtbf 1000h --model llama3-8b --cluster 8xdgx-h100 --global-batch 512",
      "a dedicated cluster: how many spare nodes, how often to checkpoint");
  command->example("nereus simulate burst.plan --background bg.plan,copies=all",
                   "a burst plan compared with data parallelism, each with and without background "
                   "jobs");
  command->run = [&caller, request] {
    if (!request->background.slowdown.empty() && request->background.jobs.empty())
      throw_input_error("cli.missing-option", "--slowdown is for background jobs only", {},
                        "--background PLAN");
    if (!request->background.jobs.empty()) {
      if (!request->collective.collective.empty() || request->collective.astra_sim ||
          asks_for_job(request->job))
        throw_input_error("simulate.options",
                          "--background works with steps of a plan, not with collectives or whole "
                          "jobs",
                          {}, "give one of them");
      caller.answer(
          cluster_with_background(request->background, request->simulate, request->seed, caller),
          request->output);
      return kDone;
    }
    if (!request->collective.collective.empty() || request->collective.astra_sim)
      refuse_play_options(request->simulate, request->seed, "--collective or --compat", false);
    else if (asks_for_job(request->job)) {
      caller.answer(whole_job(request->job, request->simulate, request->seed, caller),
                    request->output);
      return kDone;
    }
    if (const auto report = network_simulation(request->simulate.predict, request->collective,
                                               request->output.format)) {
      caller.answer(*report, request->output);
      return kDone;
    }
    if (request->seed) request->simulate.seed = static_cast<std::uint64_t>(*request->seed);
    Report report = simulation_report(app::simulate_plan(request->simulate), caller.screen,
                                      request->output.format == Format::kCsv);
    // A table for machines is the ranks'.
    if (request->output.format == Format::kCsv)
      std::erase_if(report.tables, [](const Table& table) { return table.name != "ranks"; });
    caller.answer(report, request->output);
    return kDone;
  };
  return command;
}

}  // namespace nereus::api
