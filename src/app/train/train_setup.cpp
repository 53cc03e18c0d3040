#include "app/train/train_setup.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "app/plan/plan_verb.hpp"
#include "app/predict/profile_checks.hpp"
#include "app/train/machine_limits.hpp"
#include "app/train/run_record.hpp"
#include "app/train/train_checks.hpp"
#include "base/build_info.hpp"
#include "base/format.hpp"
#include "cluster/this_machine.hpp"
#include "job/norm_check.hpp"
#include "launch/child.hpp"
#include "model/read/load_model.hpp"
#include "plan/plan_json.hpp"

namespace nereus::app {

namespace {

namespace fs = std::filesystem;

constexpr double kVersionTimeout = 120;  // seconds: libtorch from a cold disk

// The stack for our worker if none is given.
std::string worker_stack(const std::string& device) {
  return device == "cpu" ? "nereus" : "generic";
}

// Degrees on this machine: fields that are not given are 1, and there are as many devices as the
// resulting ranks.
ResolvedPlan resolve_here(const PredictRequest& plan, const std::string& device) {
  PredictRequest request = plan;
  DegreesRequest& d = request.degrees;
  double ranks = 1;
  for (std::optional<int>* degree : {&d.tp, &d.pp, &d.dp, &d.cp}) {
    *degree = std::max(1, degree->value_or(1));
    ranks *= **degree;
  }
  constexpr double kMostRanks = 4096;
  if (ranks > kMostRanks)
    throw_input_error("train.too-many-ranks",
                      fmt::format("tp {} x pp {} x dp {} x cp {} are {:.0f} ranks, too many for "
                                  "one machine",
                                  *d.tp, *d.pp, *d.dp, *d.cp, ranks),
                      {}, "use --cluster for a job on several machines");
  if (!d.precision && device == "cpu") d.precision = cluster::Precision::kFp32;
  return resolve_on(request, cluster::this_machine(static_cast<int>(ranks), device),
                    worker_stack(device));
}

// If both a plan file and --model are given, they must agree.
void check_model(const TrainRequest& request, const model::Model& planned) {
  model::Overrides overrides;
  for (const Override& o : request.plan.model.overrides) overrides.emplace_back(o.path, o.value);
  if (request.plan.degrees.seq)
    overrides.emplace_back("seq", std::to_string(*request.plan.degrees.seq));
  const model::Model named = model::load_model(request.plan.model.model, overrides);
  if (named == planned) return;
  throw_input_error(
      "train.other-model",
      fmt::format("the plan is for {} ({}, {} parameters), but --model is {} ({}, {} parameters)",
                  planned.name, counted(planned.num_layers(), "layer"),
                  format_count(static_cast<std::int64_t>(planned.parameters())), named.name,
                  counted(named.num_layers(), "layer"),
                  format_count(static_cast<std::int64_t>(named.parameters()))),
      {request.plan.plan_file}, "remove --model, or make a plan for it");
}

bool has_word(const std::string& words, const std::string& word) {
  return (" " + words + " ").find(" " + word + " ") != std::string::npos;
}

void check_worker(const TrainRequest& request, TrainSetup& setup, ErrorList& errors) {
  job::Machine& machine = setup.job.machine;
  if (machine.device == "cpu" && machine.comm == "nccl")
    errors.add("train.no-backend", "nccl connects GPUs, but this job runs on CPUs", {},
               "--comm gloo, or --device cuda");
  const std::size_t before = errors.list().size();
  collect(errors, [&] { setup.worker = ask_worker(request.worker); });
  if (errors.list().size() > before) return;
  const job::WorkerInfo& worker = setup.worker;
  collect(errors, [&] { check_library(request.plan.calibration, worker.library, errors); });
  if (worker.build != build_id())
    errors.add("train.worker-build",
               fmt::format("this nereus is build {}, but its worker is build {}", build_id(),
                           worker.build),
               {request.worker}, "build both: ./nereus train does");
  if (machine.device == "cuda" && worker.num_gpus == 0)
    errors.add("train.no-gpu",
               fmt::format("--device cuda, but the worker ({}) finds no GPU", worker.library), {},
               "--device cpu");
  if (machine.comm.empty())
    machine.comm =
        default_comm(machine.device, worker, setup.num_ranks, request.launched.has_value());
  if (!has_word(worker.backends, machine.comm))
    errors.add("train.no-backend",
               fmt::format("--comm {} is not available; this worker has: {}", machine.comm,
                           worker.backends),
               {}, "--comm " + worker.backends.substr(0, worker.backends.find(' ')));
}

void check_world(const TrainRequest& request, int num_ranks, ErrorList& errors) {
  if (!request.launched || request.launched->world_size == num_ranks) return;
  errors.add("train.world-size",
             fmt::format("the plan is for {}, but {} started {}", counted(num_ranks, "rank"),
                         request.launched->launcher, request.launched->world_size),
             {},
             fmt::format("start {}, or make a plan for {}", counted(num_ranks, "rank"),
                         request.launched->world_size));
}

}  // namespace

// Ranks that a launcher starts may be on any host. Ranks that this program starts use shared
// memory, which is faster than a socket. NCCL does not support two ranks on one GPU.
std::string default_comm(const std::string& device, const job::WorkerInfo& worker, int num_ranks,
                         bool launched) {
  if (device == "cpu") return launched && has_word(worker.backends, "gloo") ? "gloo" : "shared";
  return num_ranks > worker.num_gpus || !has_word(worker.backends, "nccl") ? "shared" : "nccl";
}

ResolvedPlan resolve_plan(const TrainRequest& request) {
  if (request.plan.plan_file.empty() && request.plan.model.model.empty())
    throw_input_error("train.no-plan", "neither a plan nor a model is given", {},
                      "nereus train PLAN, or --model NAME with degrees");
  if (request.plan.plan_file.empty())
    return request.plan.cluster.cluster.empty() && request.plan.cluster.overrides.empty()
               ? resolve_here(request.plan, request.machine.device)
               : resolve(request.plan);
  PredictRequest file = request.plan;
  const bool named = !file.model.model.empty();
  if (named) {
    file.model = {};
    file.degrees.seq.reset();
  }
  ResolvedPlan resolved = resolve(file);
  if (named) check_model(request, resolved.model);
  return resolved;
}

int ranks_of(const plan::Placement& placement) {
  int last = 0;
  for (const plan::LayerRun& run : placement.runs) {
    for (const plan::Replicas& r : run.replicas)
      for (const int team : {0, r.count - 1})
        for (const int c : {0, r.cp - 1})
          for (const int t : {0, r.tp - 1})
            last = std::max(
                last, r.first + team * r.team_stride + c * r.context_stride + t * r.tensor_stride);
    for (const plan::StateShare& share : run.state)
      for (const plan::RankRange& range : share.ranks)
        for (const int slice : {0, share.num_slices - 1})
          last = std::max(
              last, range.first + (range.count - 1) * range.stride + slice * share.slice_stride);
  }
  return last + 1;
}

std::vector<int> ranks_to_start(const TrainRequest& request, int num_ranks) {
  if (request.launched) return {request.launched->rank};
  std::vector<int> ranks(static_cast<std::size_t>(num_ranks));
  for (int i = 0; i < num_ranks; ++i) ranks[i] = i;
  return ranks;
}

std::vector<launch::RankSpec> rank_specs(const TrainRequest& request, const std::vector<int>& ranks,
                                         int num_ranks, const std::string& job_file) {
  const auto& launched = request.launched;
  const std::string address = launched ? launched->master_address : "127.0.0.1";
  const int port = launched ? launched->master_port : launch::free_port();
  std::vector<launch::RankSpec> specs;
  for (const int rank : ranks) {
    launch::RankSpec spec{rank, {}};
    spec.child.arguments = {request.worker, "--job", job_file, "--rank", std::to_string(rank)};
    spec.child.report_option = "--report-fd";
    spec.child.environment = {
        {"RANK", std::to_string(rank)},
        {"WORLD_SIZE", std::to_string(num_ranks)},
        {"LOCAL_RANK", std::to_string(launched ? launched->local_rank : rank)},
        {"MASTER_ADDR", address},
        {"MASTER_PORT", std::to_string(port)}};
    specs.push_back(std::move(spec));
  }
  return specs;
}

Error error_of_rank(int rank, const std::string& code, const std::string& message,
                    const std::string& hint, bool input_error) {
  Error error;
  error.code = code;
  error.message = fmt::format("rank {} (on {}): {}", rank, launch::host_name(), message);
  error.hint = hint;
  error.kind = input_error ? ErrorKind::kInput : ErrorKind::kEnvironment;
  return error;
}

Error error_of_rank(const launch::Failure& failure) {
  return error_of_rank(failure.rank, failure.code, failure.message, failure.hint,
                       failure.input_error);
}

job::WorkerInfo ask_worker(const std::string& path) {
  std::error_code unknown;
  if (!fs::exists(path, unknown) || access(path.c_str(), X_OK) != 0)
    throw_input_error("train.no-worker", "the program that runs the ranks has not been built",
                      {path},
                      "./nereus train builds it (needs libtorch); or cmake -DNEREUS_WORKER=ON");
  const launch::Captured said =
      launch::capture({.arguments = {path, "--version"}}, kVersionTimeout);
  if (said.exit_code == 0) {
    try {
      return job::parse_worker_info(said.text);
    } catch (const Errors&) {
    }
  }
  throw_input_error(
      "train.worker-broken",
      fmt::format("nereus-worker --version {}: {}",
                  said.exit_code == 0 ? "it printed an unexpected answer" : "fails",
                  said.text.substr(0, std::min<std::size_t>(said.text.find('\n'), 200))),
      {path}, "build it again; nereus doctor looks at libtorch");
}

TrainSetup set_up(const TrainRequest& request) {
  TrainSetup setup;
  ErrorList errors;
  job::Job& job = setup.job;
  job.machine = request.machine;
  if (!job.machine.memory_limits.empty() && job.machine.device == "cpu")
    errors.add("train.memory-limit", "--memory-limit limits GPU memory, but this job runs on CPUs",
               {}, "a control group limits a process's memory (systemd-run -p MemoryMax=8G)");
  job.data = find_data(request.data, request.loading, errors);
  check_outputs(request, errors);
  check_threads("--threads", request.machine.threads, errors);
  check_threads("--loaders", request.loading.workers, errors);
  bool resolved = false;
  collect(errors, [&] {
    setup.resolved = resolve_plan(request);
    job.plan = to_plan(setup.resolved);
    const std::vector<Error> wrong = plan::check_plan(job.plan);
    if (!wrong.empty()) throw Errors(wrong);
    resolved = true;
  });
  if (resolved) {
    setup.num_ranks = ranks_of(job.plan.placement);
    check_world(request, setup.num_ranks, errors);
    if (!request.launched && !request.elastic) check_processes("ranks", setup.num_ranks, errors);
    collect(errors, [&] { job::memory_limit(request.machine, 0, setup.num_ranks); });
    for (const Error& error : job::check_norm(job.plan, request.training)) errors.add(error);
    if (const plan::StateTypes& types = job.plan.placement.state_types; types != plan::StateTypes{})
      errors.add("train.state-types",
                 fmt::format("the plan has state types {}, but train sums gradients and updates "
                             "weights in fp32",
                             plan::to_string(types)),
                 {}, "a plan without --state-types");
  }
  // One rank of a host reads files through.
  const bool thoroughly = !request.launched || request.launched->local_rank == 0;
  const model::Model* model = resolved ? &job.plan.model : nullptr;
  check_data(job.data, model, thoroughly, errors);
  if (model != nullptr && model->script && request.training.dropout > 0)
    errors.add("train.dropout", "your own modules run unchanged, so --dropout has no effect", {},
               "remove --dropout");
  check_resume(request, resolved ? &job.plan : nullptr, thoroughly, setup.notes, errors);
  check_worker(request, setup, errors);
  if (resolved && !request.record_file.empty())
    collect(errors, [&] { check_record(request.record_file, setup.resolved); });
  errors.throw_if_any();
  job.build = build_id();
  job.training = request.training;
  job.checkpoint = request.checkpoint;
  if (job.machine.threads == 0)
    job.machine.threads =
        std::max(1, cluster::usable_cores() / (request.launched ? 1 : setup.num_ranks));
  return setup;
}

}  // namespace nereus::app
