#include "app/train/train_background.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "app/train/train_checks.hpp"
#include "base/format.hpp"
#include "base/parse_number.hpp"

namespace nereus::app {

namespace {

namespace fs = std::filesystem;

constexpr double kLeastSlowdown = 0.001, kMostSlowdown = 10;
constexpr double kMostRate = 1e9;                 // of a job file
constexpr std::int64_t kEndless = 1'000'000'000;  // steps: until the foreground ends

template <class Number>
bool read_number(const std::string& text, Number& number) {
  const std::optional<Number> read = parse_number<Number>(text);
  if (read) number = *read;
  return read.has_value();
}

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// Memory that the system could give without taking it from other processes; 0 if it is unknown.
double available_memory() {
  std::ifstream file("/proc/meminfo");
  for (std::string word; file >> word;) {
    double kibibytes = 0;
    if (word == "MemAvailable:" && file >> kibibytes) return kibibytes * 1024;
  }
  return 0;
}

// For all ranks together; 0 if nothing is predicted.
double needed_memory(const TrainSetup& setup) {
  try {
    return predict_step(setup.resolved).memory.total * setup.num_ranks;
  } catch (const Errors&) {
    return 0;
  }
}

// Memory for background jobs: of the GPUs of the foreground's plan, or of this host. 0 if it is
// unknown.
double left_memory(const TrainSetup& foreground) {
  const double needed = needed_memory(foreground);
  if (foreground.job.machine.device == "cpu") return std::max(0.0, available_memory() - needed);
  if (needed <= 0) return 0;
  const double capacity = predict_step(foreground.resolved).memory.capacity;
  return std::max(0.0, capacity * foreground.num_ranks - needed);
}

TrainRequest request_of(const BackgroundRequest& background, const TrainRequest& foreground) {
  TrainRequest request;
  request.plan.plan_file = background.plan_file;
  request.data = background.data;
  request.training.steps = background.steps > 0 ? background.steps : kEndless;
  request.training.seed = background.seed;
  request.training.rate = background.rate;
  request.training.norm_group = background.norm_group;
  request.checkpoint = background.checkpoint;
  request.machine.comm = foreground.machine.device == "cpu" ? "" : foreground.machine.comm;
  request.machine.device = foreground.machine.device;
  request.machine.threads = background.threads;
  constexpr int kThreadsBesideGpu = 2;
  if (request.machine.device != "cpu" && background.threads == 0)
    request.machine.threads = kThreadsBesideGpu;
  // A rank that is stopped keeps the others waiting, and they are stopped too.
  constexpr double kNoTimeout = 1e6;
  request.machine.timeout_s = kNoTimeout;
  request.worker = foreground.worker;
  return request;
}

void check_folders(const TrainRequest& request, ErrorList& errors) {
  std::map<std::string, std::string> users;
  const auto use = [&](const std::string& folder, const std::string& who) {
    if (folder.empty()) return;
    std::error_code unknown;
    // As a parent folder, so that a slash at its end does not count.
    const std::string whole =
        fs::weakly_canonical(fs::absolute(folder) / "checkpoint", unknown).parent_path();
    const auto [at, is_new] = users.try_emplace(whole, who);
    if (!is_new)
      errors.add("train.background-folder",
                 fmt::format("{} and {} both write checkpoints to {}", at->second, who, folder), {},
                 "a folder for each job");
  };
  use(request.checkpoint.folder, "the foreground");
  for (std::size_t i = 0; i < request.background.size(); ++i)
    use(request.background[i].checkpoint.folder, fmt::format("background job {}", i + 1));
}

void check_memory(const BackgroundRequest& background, const TrainSetup& setup, double quota,
                  bool given, ErrorList& errors) {
  const double needed = needed_memory(setup);
  if (quota <= 0 || needed <= quota) return;
  errors.add("train.background-memory",
             fmt::format("{} needs {} on its {} together, but {} {}", background.plan_file,
                         human(needed, Unit::kBytes), counted(setup.num_ranks, "rank"),
                         given ? "--background-memory is" : "what the foreground leaves is",
                         human(quota, Unit::kBytes)),
             {},
             given ? fmt::format("--background-memory \"{}\" or more, or a smaller plan",
                                 human(needed, Unit::kBytes))
                   : "a smaller plan");
}

void check_gpus(const BackgroundRequest& background, const TrainSetup& setup,
                const TrainSetup& foreground, ErrorList& errors) {
  if (setup.num_ranks <= foreground.num_ranks) return;
  errors.add("train.background-device",
             fmt::format("{} is for {} GPUs, but this job, with which it takes turns, has {}",
                         background.plan_file, setup.num_ranks, foreground.num_ranks),
             {}, fmt::format("a plan for {} or fewer", foreground.num_ranks));
}

}  // namespace

bool takes_turns(const TrainRequest& request) {
  return request.background_turns.value_or(request.machine.device != "cpu");
}

BackgroundRequest parse_background(const std::string& text) {
  const std::vector<std::string> parts = parts_of(text);
  BackgroundRequest request;
  ErrorList errors;
  request.plan_file = parts.front();
  if (request.plan_file.empty())
    errors.add("train.background", fmt::format("--background {} names no plan", text), {},
               "--background PLAN[,data=FILE][,steps=N]");
  std::int64_t seed = 0;
  std::set<std::string> given;
  const std::vector<std::string> keys = {"data",       "steps",   "seed",       "rate",
                                         "norm-group", "threads", "checkpoint", "resume"};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::size_t equals = parts[i].find('=');
    const std::string key = parts[i].substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : parts[i].substr(equals + 1);
    if (std::find(keys.begin(), keys.end(), key) == keys.end() || value.empty()) {
      errors.add("train.background",
                 value.empty() ? fmt::format("'{}' of --background is not key=value", parts[i])
                               : fmt::format("a background job has no key '{}'", key),
                 {}, fmt::format("{}", fmt::join(keys, ", ")));
      continue;
    }
    bool good = true;
    if (key == "data") request.data = value;
    if (key == "checkpoint") request.checkpoint.folder = value;
    if (key == "resume") request.checkpoint.resume = value;
    if (key == "steps") good = read_number(value, request.steps) && request.steps > 0;
    if (key == "seed") good = read_number(value, seed) && seed >= 0;
    if (key == "rate")
      good = read_number(value, request.rate) && request.rate >= 0 && request.rate <= kMostRate;
    if (key == "norm-group")
      good = read_number(value, request.norm_group) && request.norm_group > 0;
    if (key == "threads") good = read_number(value, request.threads) && request.threads > 0;
    if (!given.insert(key).second)
      errors.add("train.background", fmt::format("{} appears twice in --background {}", key, text),
                 {}, "once");
    if (!good)
      errors.add("train.background",
                 fmt::format("{} = {} of --background is not a valid number", key, value), {},
                 key == "rate" ? "rate=3e-4" : key + "=1");
  }
  request.seed = static_cast<std::uint64_t>(seed);
  errors.throw_if_any();
  return request;
}

double parse_slowdown(const std::string& text) {
  const bool percent = text.ends_with('%');
  double value = 0;
  const bool good = read_number(text.substr(0, text.size() - (percent ? 1 : 0)), value);
  if (percent) value /= 100;
  if (!good)
    throw_input_error("cli.bad-value",
                      fmt::format("--slowdown {} is neither a number nor a percentage", text), {},
                      "--slowdown 5%");
  // A user who writes 5 means 5 %; a limit of 500 % would be meaningless.
  if (!percent && value > 1 && value <= 100 * kMostSlowdown)
    throw_input_error("cli.bad-value",
                      fmt::format("--slowdown {} would mean {} %; write values above 100 % with a "
                                  "percent sign",
                                  text, format_significant(value * 100)),
                      {}, fmt::format("--slowdown {}%", text));
  if (!(value >= kLeastSlowdown && value <= kMostSlowdown))
    throw_input_error("cli.bad-value",
                      fmt::format("--slowdown {} is outside {:g} % to {:g} %", text,
                                  100 * kLeastSlowdown, 100 * kMostSlowdown),
                      {}, "--slowdown 5%");
  return value;
}

BackgroundJobs set_up_background(const TrainRequest& request, const TrainSetup& foreground,
                                 const std::string& folder) {
  BackgroundJobs jobs;
  ErrorList errors;
  if (request.launched)
    errors.add("train.background-launcher",
               fmt::format("{} starts one process per rank, but background jobs need a foreground "
                           "that nereus train starts itself",
                           request.launched->launcher),
               {}, "nereus train on one machine, without a launcher");
  const bool on_gpus = foreground.job.machine.device != "cpu";
  if (on_gpus && !takes_turns(request))
    errors.add("train.background-device",
               "--background-by shares stops processes, but kernels already queued on a GPU keep "
               "running",
               {}, "--background-by turns");
  if (on_gpus && foreground.job.machine.comm == "shared" && foreground.num_ranks > 1)
    errors.add("train.background-device",
               fmt::format("{} ranks share one GPU (--comm shared), but a background job can take "
                           "turns with one rank only",
                           foreground.num_ranks),
               {}, "one rank per GPU (--comm nccl)");
  check_folders(request, errors);
  const double quota =
      request.background_memory > 0 ? request.background_memory : left_memory(foreground);
  for (std::size_t i = 0; i < request.background.size(); ++i) {
    const BackgroundRequest& background = request.background[i];
    collect(errors, [&] {
      const TrainRequest its = request_of(background, request);
      TrainSetup setup = set_up(its);
      setup.job.sharing = foreground.job.sharing;
      setup.job.sharing.waits = true;
      check_memory(background, setup, quota, request.background_memory > 0, errors);
      if (on_gpus) check_gpus(background, setup, foreground, errors);
      if (on_gpus && quota > 0)
        setup.job.machine.memory_limits = fmt::format("{:.0f} B", quota / setup.num_ranks);
      const std::string file = fmt::format("{}/background-{}.json", folder, i);
      job::save_job(file, setup.job);
      std::vector<int> ranks(static_cast<std::size_t>(setup.num_ranks));
      for (int rank = 0; rank < setup.num_ranks; ++rank) ranks[rank] = rank;
      launch::BackgroundJob job{fmt::format("{} ({})", i + 1, setup.resolved.model.name),
                                rank_specs(its, ranks, setup.num_ranks, file), background.steps};
      for (launch::RankSpec& spec : job.ranks) {
        // On a GPU it needs the host for little, but then at once.
        spec.child.lowest_priority = request.background_idle && !on_gpus;
        // Threads that wait for one another would burn the little time that it has.
        if (!on_gpus) spec.child.environment.emplace_back("OMP_WAIT_POLICY", "passive");
        if (!on_gpus) spec.child.data_limit = quota;
      }
      jobs.list.push_back(std::move(job));
    });
  }
  errors.throw_if_any();
  if (const job::Sharing& sharing = foreground.job.sharing; !sharing.gates.empty()) {
    fs::create_directory(sharing.gates);
    for (int i = 0; i < sharing.num_gates; ++i)
      jobs.options.gates.push_back(job::Gate::make(job::gate_file(sharing, i)));
  }
  jobs.options.pace.bound = request.slowdown;
  if (on_gpus) jobs.options.change_s = launch::kChangeOnGpus;
  jobs.options.memory_bytes = on_gpus ? 0 : quota;  // a GPU's is held by the job's own allocator
  jobs.options.control_group = request.background_idle && !on_gpus;
  return jobs;
}

}  // namespace nereus::app
