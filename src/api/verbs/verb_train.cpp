#include <fmt/format.h>

#include "api/form/exit_codes.hpp"
#include "api/reports/loss_picture.hpp"
#include "api/reports/prediction_report.hpp"
#include "api/reports/train_report.hpp"
#include "api/verbs/launched_rank.hpp"
#include "api/verbs/machine_options.hpp"
#include "api/verbs/verbs.hpp"
#include "app/train/train_background.hpp"
#include "app/train/train_elastic.hpp"
#include "base/error.hpp"
#include "base/format.hpp"
#include "base/write_file.hpp"
#include "spec/quantity.hpp"

namespace nereus::api {

namespace {

constexpr double kMostMemory = 1e18;  // bytes

// Options that the structs hold as plain numbers.
struct Given {
  std::optional<int> steps, warmup, decay_steps, every, keep;
  std::optional<double> rate, last_rate, beta1, beta2, epsilon, momentum, weight_decay;
  StepOptions step;
  MachineOptions machine;
  bool elastic = false;
  app::ElasticRequest elastic_request;
  std::string shapes;
  std::optional<int> agents, machines;
  std::optional<double> dead_after, probation;
  std::vector<std::string> background;
  std::string slowdown, background_memory;
  bool background_priority = false;
  std::string svg_file;
};

void add_training_options(Command& command, app::TrainRequest& request, Given& given) {
  job::Training& t = request.training;
  command.group("Training");
  add_data_options(command, request, given.machine);
  command.whole("--steps", given.steps, 1,
                "number of steps (default: 1); with --resume, counted "
                "from the start of the run");
  add_step_options(command, request, given.step);
  command.number("--rate", given.rate, "learning rate after the warm-up (default: 3e-4)");
  command.whole("--warmup", given.warmup, 0,
                "number of steps in which the learning rate rises to "
                "--rate (default: 0)");
  command.choice(
      "--rate-schedule",
      job_choices(t.rate_schedule, {job::RateSchedule::kConstant, job::RateSchedule::kLinear,
                                    job::RateSchedule::kCosine}),
      "how the learning rate falls after the warm-up (default: constant)");
  command.number("--last-rate", given.last_rate,
                 "learning rate at the end of the decay (default: "
                 "0)");
  command.whole("--decay-steps", given.decay_steps, 1,
                "step at which the decay ends (default: "
                "the last)");
  command.number("--beta1", given.beta1, "beta1 of AdamW (default: 0.9)");
  command.number("--beta2", given.beta2, "beta2 of AdamW (default: 0.95)");
  command.number("--epsilon", given.epsilon, "epsilon of AdamW (default: 1e-8)");
  command.number("--momentum", given.momentum, "momentum of SGD (default: 0)");
  command.number("--weight-decay", given.weight_decay, "weight decay of matrices (default: 0)");
}

void add_run_options(Command& command, app::TrainRequest& request, Given& given) {
  command.group("Checkpoints");
  command.text("--checkpoint", "DIR", request.checkpoint.folder,
               "write checkpoints to this folder");
  command.whole("--checkpoint-every", given.every, 1,
                "steps between checkpoints (default: only at the end; with --elastic, from "
                "failure rate and cost)");
  command.whole("--checkpoint-keep", given.keep, 1,
                "number of complete checkpoints to keep "
                "(default: 2)");
  command.text("--resume", "DIR", request.checkpoint.resume,
               "resume from a checkpoint, or from the newest in a folder; the plan may differ");
  command.group("Output");
  command.text("--metrics", "FILE.jsonl", request.metrics_file, "write one JSON object per step");
  command.text("--tensorboard", "DIR", request.tensorboard, "write event files for TensorBoard");
  command.text("--timeline", "FILE.json[.gz]|FILE.svg", request.timeline_file,
               "write a timeline of the last steps with one row per rank: a Chrome trace like "
               "that of simulate, or a picture");
  command.text("--record", "RUNS.csv", request.record_file,
               "append the measured step to a table for nereus calibrate and validate");
  command.text("--svg", "FILE", given.svg_file, "draw the losses");
  command.flag("--compare", request.compare, "compare predicted and measured times, part by part");
  add_machine_options(command, request, given.machine);
}

void add_elastic_options(Command& command, Given& given) {
  app::ElasticRequest& e = given.elastic_request;
  command.group("Elastic jobs");
  command.flag("--elastic", given.elastic,
               "train on machines that come and go; this process coordinates, nereus agent runs a "
               "rank on each machine, and the plan changes with the number of machines");
  command.text("--job", "DIR", e.folder,
               "folder for the job's state, token and checkpoints; all machines must see it");
  command.text("--listen", "HOST:PORT", e.listen,
               "address on which to listen for agents "
               "(default: 127.0.0.1, any port)");
  command.whole("--agents", given.agents, 1,
                "number of agents to start on this machine (default: "
                "none)");
  command.whole("--machines", given.machines, 1,
                "number of machines to wait for before the first "
                "step (default: --agents)");
  command.text("--shapes", "PPxDP,..", given.shapes,
               "allow only these plans, given as stages x replicas (default: all)");
  command.number("--dead-after", given.dead_after,
                 "seconds without a heartbeat after which a machine counts as lost (default: 2)");
  command.number("--probation", given.probation,
                 "seconds until a machine that was excluded as slow is tried again (default: 60)");
}

void add_background_options(Command& command, app::TrainRequest& request, Given& given) {
  command.group("Background jobs");
  command.texts("--background", "PLAN[,KEY=VALUE..]", given.background,
                "run another job on resources that this job leaves free; several jobs queue. "
                "Keys: data (default: synthetic), steps (default: until this job ends), seed, "
                "rate, norm-group, threads, checkpoint, resume");
  command.text("--slowdown", "SHARE", given.slowdown,
               "how much slower this job's steps may become (default: 5%)");
  command.text("--background-memory", "SIZE", given.background_memory,
               "memory for all ranks of a background job together (default: what this job leaves "
               "free)");
  command.choice(
      "--background-priority",
      {{"idle",
        [&request, &given] {
          given.background_priority = true;
          request.background_idle = true;
        }},
       {"usual",
        [&request, &given] {
          given.background_priority = true;
          request.background_idle = false;
        }}},
      "CPU priority of background jobs. idle: below all other processes; usual: normal, for "
      "when other processes would starve the job (default: idle)");
  command.choice(
      "--background-by",
      {{"shares", [&request] { request.background_turns = false; }},
       {"turns", [&request] { request.background_turns = true; }}},
      "shares: the background job is stopped and resumed many times per step; turns: it runs "
      "piece by piece while this job waits, and for a short part of each step (default: shares on "
      "CPUs, turns on GPUs)");
}

void take_background(const Given& given, app::TrainRequest& request, ErrorList& errors) {
  const auto collect = [&](const auto& call) {
    try {
      call();
    } catch (const Errors& wrong) {
      for (const Error& error : wrong.list()) errors.add(error);
    }
  };
  for (const std::string& text : given.background)
    collect([&] { request.background.push_back(app::parse_background(text)); });
  if (!given.slowdown.empty())
    collect([&] { request.slowdown = app::parse_slowdown(given.slowdown); });
  if (!given.background_memory.empty()) {
    const spec::Parsed<Bytes> size = spec::parse_bytes(given.background_memory);
    if (!size.value)
      errors.add(size.code, "--background-memory: " + size.reason, {}, size.hint);
    else if (!(size.value->value > 0 && size.value->value <= kMostMemory))
      errors.add("cli.bad-value",
                 fmt::format("--background-memory {} is not a possible memory size",
                             given.background_memory),
                 {}, "\"4 GiB\"");
    else
      request.background_memory = size.value->value;
  }
  if (given.background.empty() && (!given.slowdown.empty() || !given.background_memory.empty() ||
                                   request.background_turns || given.background_priority))
    errors.add("cli.missing-option",
               "--slowdown, --background-memory, --background-priority and --background-by are "
               "for background jobs only",
               {}, "--background PLAN");
  if (!given.background.empty() && given.elastic)
    errors.add("train.background-elastic", "an elastic job cannot have background jobs", {},
               "--background without --elastic");
}

void take(Given& given, app::TrainRequest& request, ErrorList& errors) {
  job::Training& t = request.training;
  t.steps = given.steps.value_or(1);
  t.warmup_steps = given.warmup.value_or(0);
  t.decay_steps = given.decay_steps.value_or(0);
  set_within(t.rate, given.rate, "--rate", 0, 1e9, errors);
  set_within(t.last_rate, given.last_rate, "--last-rate", 0, 1e9, errors);
  set_within(t.beta1, given.beta1, "--beta1", 0, 1, errors);
  set_within(t.beta2, given.beta2, "--beta2", 0, 1, errors);
  set_within(t.epsilon, given.epsilon, "--epsilon", 0, 1e9, errors);
  set_within(t.momentum, given.momentum, "--momentum", 0, 1, errors);
  set_within(t.weight_decay, given.weight_decay, "--weight-decay", 0, 1e9, errors);
  take_step_options(given.step, request, errors);
  take_machine_options(given.machine, request, errors);
  request.checkpoint.every = given.every.value_or(0);
  request.checkpoint.keep = given.keep.value_or(request.checkpoint.keep);
  app::ElasticRequest& e = given.elastic_request;
  e.agents = given.agents.value_or(0);
  e.machines = given.machines.value_or(0);
  set_within(e.dead_after_s, given.dead_after, "--dead-after", 1, 1e6, errors);
  set_within(e.probation_s, given.probation, "--probation", 1, 1e6, errors);
  if (given.elastic && e.folder.empty())
    errors.add("elastic.folder", "--elastic needs --job, a folder for the job", {}, "--job DIR");
  if (!given.elastic && (given.agents || given.machines || given.dead_after || given.probation ||
                         !e.folder.empty() || !e.listen.empty() || !given.shapes.empty()))
    errors.add("cli.missing-option",
               "--job, --listen, --agents, --machines, --shapes, --dead-after and --probation are "
               "for elastic jobs only",
               {}, "--elastic");
  if (!given.shapes.empty()) e.shapes = app::parse_shapes(given.shapes);
  take_background(given, request, errors);
  if (given.last_rate && t.rate_schedule == job::RateSchedule::kConstant)
    errors.add("train.rate", "--last-rate has no effect, because the learning rate is constant", {},
               "--rate-schedule cosine or linear");
}

int run_train(Caller& caller, app::TrainRequest request, const Given& given,
              const OutputOptions& output) {
  const std::string& svg_file = given.svg_file;
  if (request.worker.empty()) request.worker = worker_beside_this();
  request.launched = launched_rank();
  request.output_files = {output.file, svg_file};
  const auto write = [&caller](const std::string& text) { caller.say(text); };
  bool counts_tokens = true;
  StepLines lines(write, [] { return StepLines::Clock::now(); });
  app::TrainWatch watch;
  watch.begin = [&](const app::TrainBegin& begin) {
    counts_tokens = begin.counts_tokens;
    if (begin.speaks)
      write(fmt::format("training {} on {}: {}\n", begin.model, counted(begin.num_ranks, "rank"),
                        begin.library));
  };
  watch.step = [&](const app::TrainStep& step) { lines.take(step, counts_tokens); };
  watch.text = [&](int rank, std::string_view line) {
    write(fmt::format("rank {}: {}\n", rank, line));
  };
  watch.say = [&](const std::string& line) { write(line + "\n"); };
  app::ElasticRequest elastic = given.elastic_request;
  elastic.program = "/proc/self/exe";
  const app::TrainAnswer answer =
      given.elastic ? app::train_elastic(request, elastic, watch) : app::train(request, watch);
  lines.finish();
  if (answer.speaks && !(answer.failure && answer.steps.empty()))
    caller.answer(train_report(answer, request.compare), output);
  if (answer.speaks && !answer.steps.empty() && !svg_file.empty())
    write_file(svg_file, loss_picture(answer.steps, answer.plan.model.name));
  // Last on the screen: what ended the job, in the failing rank's own words.
  if (answer.failure) caller.warn(*answer.failure);
  for (const Error& more : answer.more) caller.warn(more);
  return answer.exit_code;
}

}  // namespace

Verb train_verb(Caller& caller) {
  struct Request {
    app::TrainRequest train;
    Given given;
    OutputOptions output;
  };
  auto request = std::make_shared<Request>();
  request->train.machine.comm.clear();
  auto command =
      std::make_unique<Command>("train", "train a model by running a plan on real ranks");
  add_prediction_options(*command, request->train.plan);
  add_training_options(*command, request->train, request->given);
  add_run_options(*command, request->train, request->given);
  add_elastic_options(*command, request->given);
  add_background_options(*command, request->train, request->given);
  add_output_options(*command, request->output);
  command->about(
      "Starts one worker process per rank and trains. The plan is a file, or a model with "
      "degrees. Without --cluster it runs on this machine, and degrees that are not given are 1. "
      "Every plan sees the same samples in the same order and gives the same losses. To train on "
      "several machines, start this command once per rank under torchrun --no-python, mpirun or "
      "srun; it reads RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT. Ctrl-C stops "
      "after the current step (exit code 10). SIGTERM saves a checkpoint first (exit code 75). If "
      "a rank fails, the error names it (exit code 5).");
  command->example(
      "nereus train --model gpt2 --set model.layers=4 --seq 128 --pp 2 --dp 2 --data "
      "synthetic --steps 20",
      "four ranks on this machine");
  command->example(
      "nereus train best.plan --data text.tokens --steps 1000 --checkpoint run/ "
      "--checkpoint-every 100 --metrics run.jsonl",
      "a plan file, with checkpoints and metrics");
  command->example("nereus train best.plan --data text.tokens --steps 2000 --resume run/ --compare",
                   "resume, and compare with the prediction");
  command->example(
      "torchrun --no-python --nnodes 2 --nproc-per-node 8 ... nereus train best.plan "
      "--data text.tokens",
      "train on several machines");
  command->example(
      "nereus train --elastic --model gpt2 --global-batch 48 --data text.tokens --steps 5000 "
      "--job job/ --listen 10.0.0.1:29400 --machines 4",
      "on spot machines: nereus agent --join 10.0.0.1:29400 --token job/token on each");
  command->example(
      "nereus train burst.plan --data photos/ --steps 1000 --background "
      "gpt.plan,data=text.tokens,checkpoint=gpt/ --slowdown 5%",
      "run another job in the idle time of this one");
  command->run = [&caller, request] {
    ErrorList errors;
    take(request->given, request->train, errors);
    errors.throw_if_any();
    return run_train(caller, request->train, request->given, request->output);
  };
  return command;
}

}  // namespace nereus::api
