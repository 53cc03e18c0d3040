#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/form/exit_codes.hpp"
#include "api/reports/measure_report.hpp"
#include "api/verbs/job_stalls.hpp"
#include "api/verbs/launched_rank.hpp"
#include "api/verbs/lists.hpp"
#include "api/verbs/machine_options.hpp"
#include "api/verbs/run_stalls.hpp"
#include "api/verbs/run_what_if.hpp"
#include "api/verbs/verbs.hpp"
#include "app/measure/measure_machine.hpp"
#include "base/write_file.hpp"
#include "job/measure.hpp"
#include "plan/degree_fields.hpp"

namespace nereus::api {

namespace {

struct MeasureOptions {
  app::MeasureRequest measure;  // its `train` is the job of --stalls too
  StepOptions step;
  MachineOptions machine;
  StallOptions stalls;
  JobOptions job;
  WhatIfOptions what_if;
  std::string output_file;
  bool compare = false;
  std::vector<std::string> files;
  OutputOptions output;
};

void add_profile_options(Command& command, app::MeasureRequest& m) {
  command.group("A machine's profile");
  command.flag("--quick", m.quick, "take less than a minute, with fewer repeats, shapes and sizes");
  const std::vector<std::string> parts(std::begin(job::kMeasureParts),
                                       std::end(job::kMeasureParts));
  command.list(
      "--parts",
      word_list("--parts", parts, [&m, parts](std::size_t i) { m.parts.push_back(parts[i]); }),
      "parts to measure: kernels, memory, jitter, disk, prepare, links, collectives, layers "
      "(default: all)");
  command.whole("--ranks", m.ranks, 1,
                "ranks that run at the same time (default: as many as the degrees need; all "
                "devices if no model is given)");
  command.whole(
      "--processes", m.processes, 1,
      "number of fresh processes that measure everything one after the other; intervals come "
      "from their differences (default: 8, or as many as time allows, at least 3)");
  command.list("--samples", whole_list("--samples", m.samples, 1),
               "micro-batch sizes for layers, such as 1,2,4 or 1..8*2 (default: 1,2,4,8; with "
               "--quick 1,2,4)");
  command.text("--folder", "DIR", m.folder,
               "folder on the disk to measure (default: the folder for temporary files); a file "
               "of 64 or 512 MiB is written there and removed");
}

void add_options(Command& command, MeasureOptions& request) {
  app::TrainRequest& train = request.measure.train;
  command.optional_arguments("FILE", request.files,
                             "with --stalls: a plan; with --compare: two profiles");
  add_model_options(command, train.plan.model);
  add_cluster_options(command, train.plan.cluster);
  add_set_option(command, &train.plan.model, &train.plan.cluster);
  add_profile_options(command, request.measure);
  command.flag("--compare", request.compare,
               "measure nothing; list the numbers of two profiles that differ by more than their "
               "intervals");
  add_stall_options(command, request.stalls);
  add_job_options(command, request.job);
  add_what_if_options(command, request.what_if);
  add_degrees_options(command, train.plan.degrees);
  command.group("Job");
  add_data_options(command, train, request.machine);
  add_step_options(command, train, request.step);
  add_machine_options(command, train, request.machine);
  add_output_options(command, request.output, false);
  command.text("-o,--output", "FILE", request.output_file,
               "also write the profile to FILE; with --stalls, write the output to FILE");
}

// Degrees are of jobs that nereus train runs, and of the layers of a model.
void refuse_degrees(const std::vector<std::string>& given, const char* with) {
  if (!given.empty())
    throw_input_error("measure.degrees",
                      fmt::format("{} would have no effect {}", fmt::join(given, ", "), with), {},
                      "remove it");
}

std::vector<std::string> degrees_without_use(const app::MeasureRequest& request) {
  const app::DegreesRequest& d = request.train.plan.degrees;
  if (request.train.plan.model.model.empty())
    return plan::given_options(d, {"--tp", "--pp", "--dp", "--cp"});  // they say how many ranks
  std::vector<std::string> given;  // each number of samples is one micro-batch of one step
  if (d.global_batch) given.emplace_back("--global-batch");
  if (d.micro_batch && !request.samples.empty()) given.emplace_back("--micro-batch");
  return given;
}

int run_compare(Caller& caller, const MeasureOptions& request) {
  if (request.files.size() != 2)
    throw_input_error("measure.files",
                      fmt::format("--compare takes two profiles, not {}", request.files.size()), {},
                      "nereus measure --compare FIRST SECOND");
  const measure::Comparison comparison = app::compare_profiles(request.files[0], request.files[1]);
  caller.answer(comparison_report(comparison, request.files[0], request.files[1]), request.output);
  return kDone;
}

int run_profile(Caller& caller, MeasureOptions& request) {
  app::MeasureRequest& m = request.measure;
  if (!request.files.empty())
    throw_input_error("measure.files", "files are given, but no option that uses them",
                      {request.files[0]}, "--compare FIRST SECOND, --stalls PLAN, --data PICTURES");
  refuse_degrees(degrees_without_use(m), m.train.plan.model.model.empty()
                                             ? "without --model"
                                             : "when layers are measured with --samples");
  if (m.train.worker.empty()) m.train.worker = worker_beside_this();
  m.train.launched = launched_rank();
  const auto write = [&caller](const std::string& text) { caller.say(text); };
  app::MeasureWatch watch;
  const bool speaks = !m.train.launched || m.train.launched->rank == 0;
  if (speaks) watch.say = [&](const std::string& what) { write("measuring: " + what + "\n"); };
  watch.text = [&](int rank, std::string_view line) {
    write(fmt::format("rank {}: {}\n", rank, line));
  };
  const app::MeasureAnswer answer = app::measure_machine(m, watch);
  if (answer.failure) caller.warn(*answer.failure);
  for (const Error& more : answer.more) caller.warn(more);
  if (answer.exit_code != kDone || !answer.speaks) return answer.exit_code;
  if (!request.output_file.empty())
    write_file(request.output_file, profile::profile_to_json(answer.profile));
  caller.answer(measure_report(answer), request.output);
  return kDone;
}

int run_stalls_of(Caller& caller, MeasureOptions& request) {
  app::TrainRequest train = request.measure.train;
  if (request.files.size() > 1)
    throw_input_error(
        "measure.files",
        fmt::format("--stalls takes one plan, but {} files are given", request.files.size()),
        {request.files[1]}, "nereus measure --stalls PLAN");
  if (!request.files.empty()) train.plan.plan_file = request.files[0];
  request.output.file = request.output_file;
  return run_stalls(caller, std::move(train), request.stalls, request.output);
}

}  // namespace

Verb measure_verb(Caller& caller) {
  auto request = std::make_shared<MeasureOptions>();
  request->measure.train.machine.comm.clear();
  auto command = std::make_unique<Command>(
      "measure", "measure what this machine can do, or what a step of a job waits for");
  add_options(*command, *request);
  command->about(
      "Measures kernels, memory, jitter, links between ranks, collectives, disk and preparation "
      "of samples, each with an interval; with --model also the model's layers at several "
      "micro-batch sizes. With the result as --profile FILE, predict, plan, simulate and explain "
      "use the measured layers and collectives instead of modeled ones. With --stalls it runs a "
      "job of nereus train in short blocks of steps that differ in one cause of waiting, and "
      "shows the time and interval of each cause. Measure on an idle machine, with as many ranks "
      "as will train. To measure several machines together, start this command once per rank "
      "under torchrun --no-python, mpirun or srun.");
  command->example("nereus measure --quick -o here.json",
                   "measure this machine in less than a "
                   "minute");
  command->example("nereus measure --model gpt2 --seq 256 --dp 2 -o gpt2.json",
                   "also measure GPT-2's layers, with two ranks running");
  command->example(
      "nereus predict --model gpt2 --seq 256 --dp 2 --cluster this-machine:2 --profile gpt2.json",
      "predict a step from those measurements");
  command->example("nereus measure --compare monday.json tuesday.json",
                   "check whether two measurements agree");
  command->example(
      "nereus measure --stalls --model resnet50 --dp 2 --global-batch 32 --data photos/ "
      "--loaders 4",
      "find out whether the disk, the cores or the ranks limit the step");
  command->example("nereus measure -- torchrun --nproc-per-node 2 train.py --epochs 1",
                   "find the stalls of a PyTorch script, without editing it");
  command->example("nereus measure --kineto traces/*.json.gz",
                   "find the stalls from traces of all ranks");
  command->example("nereus measure --what-if stalls.json --change cores=2 --change disk=4",
                   "estimate the step time after two changes, from the output of --stalls");
  command->run = [&caller, request] {
    const std::vector<std::string> degrees =
        plan::given_options(request->measure.train.plan.degrees);
    if (request->what_if.named()) {
      refuse_degrees(degrees, "with --what-if");
      request->output.file = request->output_file;
      return run_what_if(caller, request->what_if, request->stalls, request->output);
    }
    if (request->job.named()) {
      refuse_degrees(degrees, "with -- COMMAND or --kineto");
      request->output.file = request->output_file;
      return run_job(caller, request->job, request->stalls, request->output);
    }
    ErrorList errors;
    take_step_options(request->step, request->measure.train, errors);
    take_machine_options(request->machine, request->measure.train, errors);
    check_stall_options(request->stalls, errors);
    errors.throw_if_any();
    if (request->stalls.stalls) return run_stalls_of(caller, *request);
    if (!request->compare) return run_profile(caller, *request);
    refuse_degrees(degrees, "with --compare");
    return run_compare(caller, *request);
  };
  return command;
}

}  // namespace nereus::api
