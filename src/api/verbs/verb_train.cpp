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
  command.whole("--steps", given.steps, 1, "how many (1); after --resume: in all");
  add_step_options(command, request, given.step);
  command.number("--rate", given.rate, "learning rate after the warm-up (3e-4)");
  command.whole("--warmup", given.warmup, 0, "steps in which the rate rises to it (0)");
  command.choice(
      "--rate-schedule",
      job_choices(t.rate_schedule, {job::RateSchedule::kConstant, job::RateSchedule::kLinear,
                                    job::RateSchedule::kCosine}),
      "how it falls afterwards (constant)");
  command.number("--last-rate", given.last_rate, "where it falls to (0)");
  command.whole("--decay-steps", given.decay_steps, 1, "at which step it is there (the last)");
  command.number("--beta1", given.beta1, "of AdamW (0.9)");
  command.number("--beta2", given.beta2, "of AdamW (0.95)");
  command.number("--epsilon", given.epsilon, "of AdamW (1e-8)");
  command.number("--momentum", given.momentum, "of SGD (0)");
  command.number("--weight-decay", given.weight_decay, "of matrices (0)");
}

void add_run_options(Command& command, app::TrainRequest& request, Given& given) {
  command.group("Checkpoints");
  command.text("--checkpoint", "DIR", request.checkpoint.folder, "write checkpoints there");
  command.whole("--checkpoint-every", given.every, 1,
                "steps (at the end only; --elastic: by failures and cost)");
  command.whole("--checkpoint-keep", given.keep, 1, "how many complete ones stay (2)");
  command.text("--resume", "DIR", request.checkpoint.resume,
               "go on from a checkpoint, or the newest of a folder of them; the plan may differ");
  command.group("What is seen");
  command.text("--metrics", "FILE.jsonl", request.metrics_file, "an object a step");
  command.text("--tensorboard", "DIR", request.tensorboard, "event files for TensorBoard");
  command.text("--timeline", "FILE.json[.gz]|FILE.svg", request.timeline_file,
               "what each rank did when, in the last steps: a Chrome trace as simulate writes it, "
               "or a picture");
  command.text("--record", "RUNS.csv", request.record_file,
               "add the measured step to a table that nereus calibrate and validate read");
  command.text("--svg", "FILE", given.svg_file, "the losses as a picture");
  command.flag("--compare", request.compare, "predicted against measured, part by part");
  add_machine_options(command, request, given.machine);
}

void add_elastic_options(Command& command, Given& given) {
  app::ElasticRequest& e = given.elastic_request;
  command.group("Elastic jobs");
  command.flag("--elastic", given.elastic,
               "on machines that come and go: this is the coordinator, nereus agent on each "
               "machine runs a rank; the plan changes with them");
  command.text("--job", "DIR", e.folder,
               "the job's folder, which all machines see: its state, token and checkpoints");
  command.text("--listen", "HOST:PORT", e.listen, "where agents call (127.0.0.1, any port)");
  command.whole("--agents", given.agents, 1, "so many agents on this machine (none)");
  command.whole("--machines", given.machines, 1, "to wait for before the first step (the agents)");
  command.text("--shapes", "PPxDP,..", given.shapes,
               "only these plans, stages x replicas (the fastest of all)");
  command.number("--dead-after", given.dead_after,
                 "seconds without a sign of life after which a machine is lost (2)");
  command.number("--probation", given.probation,
                 "seconds until a machine that was left out as slow is tried again (60)");
}

void add_background_options(Command& command, app::TrainRequest& request, Given& given) {
  command.group("Background jobs");
  command.texts("--background", "PLAN[,KEY=VALUE..]", given.background,
                "another job in what this one leaves of the machine; several queue. Keys: data "
                "(synthetic), steps (until this job ends), seed, rate, norm-group, threads, "
                "checkpoint, resume");
  command.text("--slowdown", "SHARE", given.slowdown,
               "that this job's steps may suffer from it (5%)");
  command.text("--background-memory", "SIZE", given.background_memory,
               "for all ranks of a background job (what this job leaves)");
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
      "idle: behind everybody on this machine; usual: where others would starve it (idle)");
  command.choice(
      "--background-by",
      {{"shares", [&request] { request.background_turns = false; }},
       {"turns", [&request] { request.background_turns = true; }}},
      "shares: stopped and woken many times in a step; turns: piece by piece, while this "
      "job waits and for a moment of each of its steps (shares on CPUs, turns on GPUs)");
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
                 fmt::format("--background-memory {} is no size that a machine has",
                             given.background_memory),
                 {}, "\"4 GiB\"");
    else
      request.background_memory = size.value->value;
  }
  if (given.background.empty() && (!given.slowdown.empty() || !given.background_memory.empty() ||
                                   request.background_turns || given.background_priority))
    errors.add("cli.missing-option",
               "--slowdown and --background-memory, -priority and -by are of background jobs", {},
               "--background PLAN");
  if (!given.background.empty() && given.elastic)
    errors.add("train.background-elastic",
               "an elastic job runs on machines that come and go, and background jobs share one",
               {}, "--background without --elastic");
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
    errors.add("elastic.folder", "--elastic needs a folder for the job", {}, "--job DIR");
  if (!given.elastic && (given.agents || given.machines || given.dead_after || given.probation ||
                         !e.folder.empty() || !e.listen.empty() || !given.shapes.empty()))
    errors.add("cli.missing-option",
               "--job, --listen, --agents, --machines, --shapes, --dead-after and --probation are "
               "of elastic jobs",
               {}, "--elastic");
  if (!given.shapes.empty()) e.shapes = app::parse_shapes(given.shapes);
  take_background(given, request, errors);
  if (given.last_rate && t.rate_schedule == job::RateSchedule::kConstant)
    errors.add("train.rate", "--last-rate says where the rate falls to, but it stays constant", {},
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
      write(fmt::format("training {} on {} {}: {}\n", begin.model, begin.num_ranks,
                        begin.num_ranks == 1 ? "rank" : "ranks", begin.library));
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
  auto command = std::make_unique<Command>("train", "run a plan on real ranks");
  add_prediction_options(*command, request->train.plan);
  add_training_options(*command, request->train, request->given);
  add_run_options(*command, request->train, request->given);
  add_elastic_options(*command, request->given);
  add_background_options(*command, request->train, request->given);
  add_output_options(*command, request->output);
  command->about(
      "Starts one worker process a rank and trains. The plan is a file, or a model with degrees; "
      "without --cluster it runs on this machine, and degrees that are not given are 1. Every plan "
      "sees the same samples in the same order and gets the same losses. Across machines, start "
      "this command once a rank under torchrun --no-python, mpirun or srun; it reads RANK, "
      "WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT. Ctrl-C ends after the step (exit code "
      "10); SIGTERM saves a checkpoint first (75); a rank that fails is named (5).");
  command->example(
      "nereus train --model gpt2 --set model.layers=4 --seq 128 --pp 2 --dp 2 --data "
      "synthetic --steps 20",
      "four ranks of this machine");
  command->example(
      "nereus train best.plan --data text.tokens --steps 1000 --checkpoint run/ "
      "--checkpoint-every 100 --metrics run.jsonl",
      "a plan file, with checkpoints and metrics");
  command->example("nereus train best.plan --data text.tokens --steps 2000 --resume run/ --compare",
                   "go on, and compare with the prediction");
  command->example(
      "torchrun --no-python --nnodes 2 --nproc-per-node 8 ... nereus train best.plan "
      "--data text.tokens",
      "across machines");
  command->example(
      "nereus train --elastic --model gpt2 --global-batch 48 --data text.tokens --steps 5000 "
      "--job job/ --listen 10.0.0.1:29400 --machines 4",
      "on spot machines: nereus agent --join 10.0.0.1:29400 --token job/token on each");
  command->example(
      "nereus train burst.plan --data photos/ --steps 1000 --background "
      "gpt.plan,data=text.tokens,checkpoint=gpt/ --slowdown 5%",
      "another job in the gaps of this one");
  command->run = [&caller, request] {
    ErrorList errors;
    take(request->given, request->train, errors);
    errors.throw_if_any();
    return run_train(caller, request->train, request->given, request->output);
  };
  return command;
}

}  // namespace nereus::api
