#include "app/measure/measure_machine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "app/measure/measure_processes.hpp"
#include "app/measure/others_at_work.hpp"
#include "app/plan/plan_verb.hpp"
#include "app/train/scratch_folder.hpp"
#include "app/train/train_checks.hpp"
#include "app/train/train_setup.hpp"
#include "base/build_info.hpp"
#include "base/format.hpp"
#include "cluster/catalogue.hpp"
#include "cluster/load_cluster.hpp"
#include "cluster/this_machine.hpp"
#include "job/measure.hpp"
#include "launch/supervise.hpp"
#include "measure/machine_processes.hpp"
#include "plan/plan_json.hpp"
#include "spec/source.hpp"

namespace nereus::app {

namespace {

namespace fs = std::filesystem;

constexpr int kBlocks = 4;      // of the model whose layers are measured
constexpr int kSteps = 1000;    // more than are ever run
constexpr double kComm = 1800;  // seconds that ranks wait for rank 0's own measurements
constexpr double kBusy = 0.05;  // share of the cores that others may use

int product_of(const DegreesRequest& d) {
  double ranks = 1;
  for (const std::optional<int>& degree : {d.tp, d.pp, d.dp, d.cp}) ranks *= degree.value_or(1);
  return static_cast<int>(std::min(ranks, 4096.0));
}

int num_ranks_of(const MeasureRequest& request, const job::WorkerInfo& worker) {
  if (request.train.launched) return request.train.launched->world_size;
  if (request.ranks) return *request.ranks;
  const int given = product_of(request.train.plan.degrees);
  if (given > 1 || !request.train.plan.model.model.empty()) return given;
  return request.train.machine.device == "cuda" ? std::max(1, worker.num_gpus)
                                                : cluster::usable_cores();
}

void check_parts(const std::vector<std::string>& parts, ErrorList& errors) {
  for (const std::string& part : parts)
    if (std::find(std::begin(job::kMeasureParts), std::end(job::kMeasureParts), part) ==
        std::end(job::kMeasureParts))
      errors.add("measure.part", fmt::format("there is no part '{}' to measure", part), {},
                 fmt::format("{}", fmt::join(job::kMeasureParts, ", ")));
}

// The model with one micro-batch on one tensor team, and with few of its equal blocks.
job::Job job_of(const MeasureRequest& request, int samples, const job::MeasureJob& measure) {
  TrainRequest wanted = request.train;
  wanted.plan.cluster = {};
  DegreesRequest& d = wanted.plan.degrees;
  d.pp = d.dp = d.cp = 1;
  d.micro_batch = d.global_batch = samples;
  ResolvedPlan resolved = resolve_plan(wanted);
  if (resolved.model.transformer && resolved.model.transformer->layers > kBlocks) {
    wanted.plan.model.overrides.push_back({"layers", std::to_string(kBlocks)});
    resolved = resolve_plan(wanted);
  }
  job::Job job;
  job.build = build_id();
  job.plan = to_plan(resolved);
  const std::vector<Error> wrong = plan::check_plan(job.plan);
  if (!wrong.empty()) throw Errors(wrong);
  job.training = request.train.training;
  job.training.steps = kSteps;
  job.machine = request.train.machine;
  job.machine.comm = measure.team == 1 ? "shared" : measure.comm;
  job.machine.threads = measure.threads;
  return job;
}

std::vector<int> samples_of(const MeasureRequest& request) {
  std::vector<int> samples = request.samples;
  if (samples.empty()) samples = request.quick ? std::vector{1, 2, 4} : std::vector{1, 2, 4, 8};
  if (request.samples.empty() && request.train.plan.degrees.micro_batch)
    samples.push_back(*request.train.plan.degrees.micro_batch);
  std::sort(samples.begin(), samples.end());
  samples.erase(std::unique(samples.begin(), samples.end()), samples.end());
  return samples;
}

struct Setup {
  job::MeasureJob job{};
  int num_ranks = 1;
  std::vector<job::Job> layers{};
};

void check_device(const MeasureRequest& request, const job::WorkerInfo& worker, Setup& setup,
                  ErrorList& errors) {
  if (worker.build != build_id())
    errors.add("train.worker-build",
               fmt::format("this nereus is build {}, but its worker is build {}", build_id(),
                           worker.build),
               {request.train.worker}, "build both: ./nereus measure does");
  if (setup.job.device == "cuda" && worker.num_gpus == 0)
    errors.add("train.no-gpu",
               fmt::format("--device cuda, but the worker ({}) finds no GPU", worker.library), {},
               "--device cpu");
  if (setup.job.comm.empty())
    setup.job.comm =
        default_comm(setup.job.device, worker, setup.num_ranks, request.train.launched.has_value());
}

Setup set_up(const MeasureRequest& request) {
  Setup setup;
  ErrorList errors;
  job::MeasureJob& job = setup.job;
  job.build = build_id();
  job.device = request.train.machine.device;
  job.comm = request.train.machine.comm;
  job.pin = request.train.machine.pin;
  job.timeout_s = kComm;
  job.quick = request.quick;
  job.data = request.train.data;
  job.team = request.train.plan.degrees.tp.value_or(1);
  job.folder = request.folder.empty() ? fs::temp_directory_path().string() : request.folder;
  check_parts(request.parts, errors);
  job.parts = request.parts.empty() ? fmt::format("{}", fmt::join(job::kMeasureParts, " "))
                                    : fmt::format("{}", fmt::join(request.parts, " "));
  std::error_code unknown;
  if (!fs::is_directory(job.folder, unknown))
    errors.add("measure.folder", "there is no such folder", {job.folder},
               "--folder DIR of the disk that the data lie on");
  if (request.processes && *request.processes > profile::kMostProcesses)
    errors.add("measure.processes",
               fmt::format("{} processes are too many; at most {} are useful", *request.processes,
                           profile::kMostProcesses),
               {}, fmt::format("--processes {}", kProcesses));
  if (!request.train.plan.plan_file.empty())
    errors.add("measure.plan", "layers are measured for a model, not for a plan",
               {request.train.plan.plan_file}, "--model NAME --tp N");
  job::WorkerInfo worker;
  const std::size_t before = errors.list().size();
  collect(errors, [&] { worker = ask_worker(request.train.worker); });
  const bool known = errors.list().size() == before;
  setup.num_ranks = num_ranks_of(request, worker);
  if (known) check_device(request, worker, setup, errors);
  if (setup.num_ranks % job.team != 0)
    errors.add("measure.ranks",
               fmt::format("{} cannot be divided into tensor-parallel groups of {}",
                           counted(setup.num_ranks, "rank"), job.team),
               {}, fmt::format("--ranks {}", job.team * std::max(1, setup.num_ranks / job.team)));
  if (request.train.launched && job.team > 1)
    errors.add("measure.ranks",
               fmt::format("tensor-parallel groups of {} can only be measured if nereus measure "
                           "starts all ranks itself, but {} started this process",
                           job.team, request.train.launched->launcher),
               {}, "measure layers at tp 1, or start nereus measure on one machine itself");
  const int here = request.train.launched ? 1 : setup.num_ranks;
  job.threads = request.train.machine.threads > 0 ? request.train.machine.threads
                                                  : std::max(1, cluster::usable_cores() / here);
  if (!request.train.plan.model.model.empty() && job.wants("layers"))
    collect(errors, [&] {
      for (const int samples : samples_of(request))
        setup.layers.push_back(job_of(request, samples, job));
    });
  errors.throw_if_any();
  job.num_jobs = static_cast<int>(setup.layers.size());
  return setup;
}

// With the names of the catalog and of clusters.
void finish_profile(profile::Profile& profile) {
  profile::Context& context = profile.machine.context;
  profile.origin.source = fmt::format("nereus measure on {}", context.host);
  profile.origin.date = context.date;
  profile.origin.library = context.library;
  profile.origin.driver = context.driver;
  if (cluster::own_device_kind(context.device) != "cpu" && !context.device_name.empty()) {
    const cluster::Device* known = cluster::builtin_catalogue().find_device(context.device_name);
    context.device = known ? known->short_name : context.device_name;
    for (profile::MeasuredLayer& layer : profile.layers) layer.device = context.device;
  }
}

void note_others(double share, profile::Profile& profile) {
  if (share > kBusy)
    profile.notes.push_back(fmt::format(
        "busy machine: other processes used {:.0f} % of its cores during the measurement; measure "
        "again when it is idle",
        100 * share));
}

std::vector<measure::SlowLink> find_slow_links(const MeasureRequest& request,
                                               profile::Profile& profile) {
  std::optional<cluster::Cluster> stated;
  if (!request.train.plan.cluster.cluster.empty())
    stated = cluster::load_cluster(request.train.plan.cluster.cluster);
  std::vector<measure::SlowLink> slow =
      measure::slow_links(profile.machine, stated ? &*stated : nullptr);
  for (const measure::SlowLink& own : slow) profile.notes.push_back("slow link: " + own.why);
  return slow;
}

}  // namespace

MeasureAnswer measure_machine(const MeasureRequest& request, const MeasureWatch& watch) {
  const auto start = std::chrono::steady_clock::now();
  Setup setup = set_up(request);
  const ScratchFolder scratch("measure");
  setup.job.scratch = scratch.path();
  for (std::size_t i = 0; i < setup.layers.size(); ++i)
    job::save_job(scratch.path() / fmt::format("job-{}.json", i), setup.layers[i]);

  MeasureAnswer answer;
  answer.speaks = !request.train.launched || request.train.launched->rank == 0;
  const OthersAtWork others;
  const MeasuredProcesses measured = run_processes(request, setup.job, setup.num_ranks, watch);
  answer.exit_code = measured.outcome.exit_code;
  if (measured.outcome.failure) {
    const launch::Failure& f = *measured.outcome.failure;
    answer.failure = error_of_rank(f);
    for (const job::Message& more : f.more)
      answer.more.push_back(
          error_of_rank(f.rank, more.code, more.message, more.hint, more.input_error));
  } else if (answer.exit_code == 0 && answer.speaks) {
    answer.profile = measure::join_processes(measured.profiles);
    finish_profile(answer.profile);
    note_others(others.share(), answer.profile);
    answer.slow_links = find_slow_links(request, answer.profile);
  }
  answer.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return answer;
}

measure::Comparison compare_profiles(const std::string& first, const std::string& second) {
  ErrorList errors;
  profile::Profile profiles[2];
  for (int i = 0; i < 2; ++i) {
    const std::string& path = i == 0 ? first : second;
    collect(errors, [&] {
      profiles[i] = profile::parse_profile(spec::read_text_file(path), path);
      if (profiles[i].machine.empty())
        throw_input_error("measure.no-machine", "this profile contains layers only and no machine",
                          {path}, "a file that nereus measure -o wrote");
    });
  }
  errors.throw_if_any();
  return measure::compare_machines(profiles[0], profiles[1]);
}

}  // namespace nereus::app
