#include "api/verbs/machine_options.hpp"

#include <fmt/format.h>

namespace nereus::api {

namespace {

std::vector<Choice> words_of(std::string& target, const auto& words) {
  std::vector<Choice> choices;
  for (const char* word : words) choices.push_back({word, [&target, word] { target = word; }});
  return choices;
}

}  // namespace

void add_data_options(Command& command, app::TrainRequest& request, MachineOptions& given) {
  command.text("--data", "FILE|DIR|synthetic", request.data,
               "a token file (made by nereus data prepare), a folder of images, or synthetic "
               "samples");
  command.toggle("--shuffle", given.shuffle, "shuffle the samples (on unless =off)");
}

void add_step_options(Command& command, app::TrainRequest& request, StepOptions& given) {
  job::Training& t = request.training;
  command.whole("--seed", given.seed, 0,
                "random seed for weights, sample order and dropout "
                "(default: 0)");
  command.choice("--optimizer",
                 job_choices(t.optimizer, {job::OptimizerKind::kAdamW, job::OptimizerKind::kSgd}),
                 "optimizer (default: adamw)");
  command.number("--clip", given.clip,
                 "clip the norm of the whole gradient to this (default: no "
                 "limit)");
  command.number("--dropout", given.dropout, "dropout probability (default: 0)");
  command.choice("--norm", job_choices(t.norm, {job::NormScope::kGroup, job::NormScope::kSync}),
                 "samples over which BatchNorm normalizes: a group of fixed size, or all samples "
                 "of the data-parallel ranks (default: group)");
  command.whole("--norm-group", given.norm_group, 1,
                "samples per BatchNorm group (default: the "
                "micro-batch)");
}

void add_machine_options(Command& command, app::TrainRequest& request, MachineOptions& given) {
  command.group("Machine");
  command.choice("--device", words_of(request.machine.device, job::kDevices),
                 "device that a rank uses (default: cpu)");
  command.choice("--comm", words_of(request.machine.comm, job::kComms),
                 "how ranks communicate (default on CPUs: shared memory, or gloo under a "
                 "launcher; default on GPUs: nccl, or shared memory if ranks share a GPU)");
  command.whole("--threads", given.threads, 1, "compute threads per rank (default: cores / ranks)");
  command.flag("--pin", request.machine.pin, "pin each rank to its own cores");
  command.number("--timeout", given.timeout,
                 "seconds after which a rank that others wait for counts as failed (default: 60)");
  command.text("--memory-limit", "SIZE[,SIZE..]", request.machine.memory_limits,
               "GPU memory that a rank may use, one value for all ranks or one per rank: "
               "40GiB,10GiB");
  command.toggle("--cuda-graphs", given.graphs, "use CUDA graphs on GPUs (on unless =off)");
  command.flag("--deterministic", request.machine.deterministic,
               "on GPUs, use only deterministic kernels");
  command.whole("--loaders", given.loaders, 1,
                "threads per rank that prepare samples (default: 1)");
  command.whole("--prefetch", given.prefetch, 0, "micro-batches prepared ahead (default: 2)");
  command.toggle("--pinned-samples", given.pinned,
                 "keep images for a GPU in pinned memory (on unless =off)");
  command.text("--worker", "FILE", request.worker,
               "the program that runs a rank (default: nereus-worker in the folder of nereus)");
}

void set_within(double& target, const std::optional<double>& given, const char* name, double least,
                double most, ErrorList& errors) {
  if (!given) return;
  if (!(*given >= least && *given <= most))
    errors.add("cli.bad-value",
               fmt::format("{} {} is outside {} to {}", name, *given, least, most));
  target = *given;
}

void take_step_options(const StepOptions& given, app::TrainRequest& request, ErrorList& errors) {
  job::Training& t = request.training;
  t.seed = static_cast<std::uint64_t>(given.seed.value_or(0));
  t.norm_group = given.norm_group.value_or(0);
  set_within(t.clip, given.clip, "--clip", 0, 1e18, errors);
  set_within(t.dropout, given.dropout, "--dropout", 0, 0.999, errors);
}

void take_machine_options(const MachineOptions& given, app::TrainRequest& request,
                          ErrorList& errors) {
  set_within(request.machine.timeout_s, given.timeout, "--timeout", 1, 1e6, errors);
  request.machine.threads = given.threads.value_or(0);
  request.machine.graphs = given.graphs.value_or(true);
  request.loading.shuffle = given.shuffle.value_or(true);
  request.loading.workers = given.loaders.value_or(request.loading.workers);
  request.loading.prefetch = given.prefetch.value_or(request.loading.prefetch);
  request.loading.pinned = given.pinned.value_or(true);
}

}  // namespace nereus::api
