#include "app/train/elastic_checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "app/train/machine_limits.hpp"
#include "base/error.hpp"
#include "base/format.hpp"
#include "launch/elastic/job_state.hpp"
#include "model/cnn_recipe.hpp"
#include "plan/degree_fields.hpp"

namespace nereus::app {

namespace {

namespace fs = std::filesystem;

int cores_of_process() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

bool same_file(const std::string& a, const std::string& b) {
  std::error_code unknown;
  return a == b || (!a.empty() && !b.empty() &&
                    fs::weakly_canonical(fs::absolute(a), unknown) ==
                        fs::weakly_canonical(fs::absolute(b), unknown));
}

bool has_batch_norm(const model::Model& model) {
  if (!model.cnn) return false;
  const std::vector<model::CnnLayer> layers = model::cnn_recipe(*model.cnn);
  return std::any_of(layers.begin(), layers.end(),
                     [](const model::CnnLayer& layer) { return !layer.norm.empty(); });
}

}  // namespace

void check_agents(const ElasticRequest& elastic) {
  ErrorList errors;
  check_processes("agents", elastic.agents, errors);
  errors.throw_if_any();
}

void check_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || access(folder.c_str(), W_OK) != 0)
    throw_input_error("elastic.folder", fmt::format("--job {} cannot be written to", folder),
                      {folder}, "a folder that every machine sees");
}

TrainRequest completed(TrainRequest request, const ElasticRequest& elastic) {
  if (request.machine.comm.empty()) request.machine.comm = "gloo";
  if (request.machine.comm != "gloo")
    throw_input_error("elastic.comm",
                      fmt::format("--comm {} does not work with elastic jobs, because only gloo "
                                  "can recover from a lost rank",
                                  request.machine.comm),
                      {}, "--comm gloo");
  if (request.launched)
    throw_input_error("elastic.launcher",
                      "an elastic job starts its own ranks, but " + request.launched->launcher +
                          " started this one",
                      {}, "nereus agent on each machine");
  const DegreesRequest& d = request.plan.degrees;
  if (d.pp || d.dp || d.tp.value_or(1) > 1 || d.cp.value_or(1) > 1)
    throw_input_error("elastic.degrees",
                      "an elastic job chooses stages and replicas for the available machines, "
                      "without tensor or context parallelism",
                      {}, "remove --pp, --dp, --tp and --cp; --shapes 4x2,3x2 limits the plans");
  const std::vector<std::string> unread =
      plan::given_options(d, {"--global-batch", "--seq", "--precision"});
  if (!request.plan.cluster.cluster.empty() && elastic.shapes.empty() && !unread.empty())
    throw_input_error(
        "elastic.degrees",
        fmt::format("{} would have no effect: with --cluster the planner chooses for the "
                    "available machines",
                    fmt::join(unread, ", ")),
        {},
        "--global-batch, --seq and --precision are allowed; the others only "
        "with --shapes");
  if (!request.timeline_file.empty() || !request.record_file.empty() || request.compare)
    throw_input_error("elastic.output",
                      "--timeline, --record and --compare need one plan, but this job has many", {},
                      "remove them; steps.jsonl in the --job folder contains every step");
  if (request.checkpoint.folder.empty())
    request.checkpoint.folder = elastic.folder + "/checkpoints";
  request.elastic = true;
  if (request.machine.threads == 0)
    request.machine.threads = std::max(1, cores_of_process() / std::max(1, elastic.agents));
  return request;
}

void check_same_job(const std::string& folder, const job::Job& job) {
  const std::optional<launch::JobState> before = launch::load_state(folder);
  if (!before || before->job.empty()) return;
  const job::Job other = job::parse_job(before->job, folder + "/coordinator.json");
  const auto refuse = [&](const std::string& what) {
    throw_input_error("elastic.other-job",
                      fmt::format("--job {} belongs to another job: {}", folder, what), {folder},
                      "another folder, or the options with which that job was started");
  };
  if (!(other.plan.model == job.plan.model))
    refuse(fmt::format("its model is {} of {}, {} parameters, {:g} tokens a sample",
                       other.plan.model.name, counted(other.plan.model.num_layers(), "layer"),
                       format_count(static_cast<std::int64_t>(other.plan.model.parameters())),
                       other.plan.model.tokens_per_sample));
  if (other.plan.placement.global_batch != job.plan.placement.global_batch)
    refuse(fmt::format("its global batch is {}", other.plan.placement.global_batch));
  if (other.training.seed != job.training.seed)
    refuse(fmt::format("its seed is {}", other.training.seed));
  if (other.training.optimizer != job.training.optimizer)
    refuse(fmt::format("its optimizer is {}", job::to_string(other.training.optimizer)));
  if (other.plan.placement.precision != job.plan.placement.precision)
    refuse(fmt::format("its precision is {}", to_string(other.plan.placement.precision)));
  if (other.data.kind != job.data.kind || !same_file(other.data.path, job.data.path))
    refuse(fmt::format("its data is {}", other.data.path.empty() ? "synthetic" : other.data.path));
  if (other.data.shuffle != job.data.shuffle)
    refuse(fmt::format("its data is {}", other.data.shuffle ? "shuffled" : "not shuffled"));
  job::Training same = job.training;
  same.steps = other.training.steps;
  if (!(other.training == same))
    refuse("its learning rate, schedule, optimizer parameters, dropout or norm");
}

void check_norm(const model::Model& model, const job::Training& training) {
  if (!has_batch_norm(model) || (training.norm_group > 0 && training.norm != job::NormScope::kSync))
    return;
  throw_input_error("elastic.norm",
                    "without --norm-group, BatchNorm normalises over micro-batches, which change "
                    "with the number of machines, so the losses would change",
                    {}, "--norm-group 1, or a number that divides every micro-batch");
}

}  // namespace nereus::app
