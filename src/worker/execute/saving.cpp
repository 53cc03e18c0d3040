#include "worker/execute/saving.hpp"

#include <chrono>
#include <filesystem>
#include <thread>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/remove_tree.hpp"
#include "base/write_file.hpp"
#include "checkpoint/checkpoint_reader.hpp"
#include "checkpoint/files.hpp"
#include "checkpoint/flat_tensors.hpp"
#include "spec/source.hpp"
#include "worker/execute/host_state.hpp"

namespace nereus::worker {

namespace {

namespace fs = std::filesystem;
using checkpoint::TensorKind;

// The same layer without weights that another layer owns, which are saved there.
checkpoint::FlatLayer saved_layer(const LayerState& state) {
  checkpoint::FlatLayer flat = flat_layer(state);
  for (std::size_t i = 0; i < flat.tensors.size(); ++i)
    if (state.parameters()[i].tied_to_layer >= 0) flat.tensors[i].offset = -1;
  return flat;
}

void add_statistics(const LayerState& state, std::vector<checkpoint::Part>& parts) {
  for (const SavedStatistic& statistic : statistics_of(*state.statistics())) {
    const auto value = std::make_shared<at::Tensor>(statistic.value);
    checkpoint::Part part;
    part.tensor = statistic.name;
    part.kind = TensorKind::kRunningStatistic;
    part.dtype = dtype_of(*value);
    part.shape = value->sizes().vec();
    part.end = value->numel();
    part.layer = state.layer().index;
    part.bytes = bytes_of(*value);
    part.owner = value;
    parts.push_back(std::move(part));
  }
}

void read_statistics(const checkpoint::Checkpoint& saved, NormStatistics& norm) {
  std::vector<SavedStatistic> statistics = statistics_of(norm);
  for (const SavedStatistic& statistic : statistics) {
    const at::Tensor& value = statistic.value;
    checkpoint::FlatLayer flat;
    flat.tensors.push_back({statistic.name, value.sizes().vec(), {}, 0});
    flat.end = value.numel();
    read_flat(saved, flat, TensorKind::kRunningStatistic, dtype_of(value), bytes_of(value));
  }
  put_statistics(norm, {statistics[0].value, statistics[1].value, statistics[2].value});
}

// Sends reports as files in the folder of the checkpoint, which all ranks share anyway.
checkpoint::Gather by_files(const job::Job& job, int rank, int num_ranks,
                            const std::string& attempt, const std::function<bool()>& abandoned) {
  const std::string folder = job.checkpoint.folder;
  const double timeout_s = job.machine.timeout_s;
  return [=](std::int64_t step, const std::string& mine) {
    const std::string place =
        fmt::format("{}/reports-{}{}{}.partial", folder, step, attempt.empty() ? "" : ".", attempt);
    checkpoint::make_folder(place);
    const auto file = [&](int r) { return fmt::format("{}/{}.json", place, r); };
    std::vector<std::string> reports;
    if (rank != 0) {
      write_file(file(rank), mine);
      return reports;
    }
    reports.push_back(mine);
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout_s);
    for (int r = 1; r < num_ranks; ++r) {
      while (!fs::exists(file(r))) {
        if (abandoned() || std::chrono::steady_clock::now() > end)
          throw_environment_error(
              "checkpoint.no-report",
              fmt::format("rank {} has not written its part of step {}", r, step));
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
      reports.push_back(spec::read_text_file(file(r)));
    }
    remove_tree(place);
    return reports;
  };
}

}  // namespace

Saver::Saver(const job::Job& job, int rank, int num_ranks, const std::string& attempt,
             std::function<std::int64_t()> known)
    : job_(&job), abandoned_(std::make_shared<Abandoned>()) {
  if (job.checkpoint.folder.empty()) return;
  checkpoint::WriterOptions options;
  options.folder = job.checkpoint.folder;
  options.rank = rank;
  options.num_ranks = num_ranks;
  options.keep = job.checkpoint.keep;
  const std::shared_ptr<Abandoned> abandoned = abandoned_;
  if (num_ranks > 1)
    options.gather =
        by_files(job, rank, num_ranks, attempt, [abandoned] { return abandoned->yes.load(); });
  options.allow = [abandoned](const std::function<void()>& commit) {
    const std::lock_guard lock(abandoned->mutex);
    if (abandoned->yes)
      throw_environment_error("checkpoint.abandoned", "its ranks do something else by now");
    commit();
  };
  options.attempt = attempt;
  options.known = std::move(known);
  writer_ = std::make_unique<checkpoint::Writer>(options);
}

void Saver::abandon() {
  const std::lock_guard lock(abandoned_->mutex);
  abandoned_->yes = true;
}

void Saver::save(std::int64_t steps_done, Executor& executor) {
  std::vector<checkpoint::Part> parts;
  for (Optimizer::Slot& slot : executor.optimizer().slots()) {
    const LayerState& state = *slot.state;
    if (state.statistics() && state.keeps_statistics()) add_statistics(state, parts);
    if (!state.first_copy()) continue;
    const checkpoint::FlatLayer flat = saved_layer(state);
    const auto add = [&](TensorKind kind, const at::Tensor& values) {
      // A copy: training goes on while it is written.
      const auto copy = std::make_shared<at::Tensor>(values.to(at::kCPU).clone());
      add_parts(flat, kind, dtype_of(*copy), bytes_of(*copy), copy, parts);
    };
    const bool master = executor.wide_masters();
    add(master ? TensorKind::kMasterWeight : TensorKind::kWeight, state.own_master());
    add(first_kind(job_->training), slot.first);
    if (slot.second.defined()) add(TensorKind::kAdamV, slot.second);
  }
  const job::Training& t = job_->training;
  checkpoint::Progress progress;
  progress.step = steps_done;
  progress.samples = steps_done * job_->plan.placement.global_batch;
  progress.seed = t.seed;
  progress.optimizer = t.optimizer == job::OptimizerKind::kSgd ? "sgd" : "adamw";
  progress.optimizer_values = {{"rate", t.rate},         {"beta1", t.beta1},
                               {"beta2", t.beta2},       {"epsilon", t.epsilon},
                               {"momentum", t.momentum}, {"weight_decay", t.weight_decay}};
  writer_->save(std::move(progress), job_->plan, std::move(parts));
}

void Saver::finish() {
  if (writer_) writer_->wait();
}

std::int64_t resume(const job::Job& job, Executor& executor) {
  if (job.checkpoint.resume.empty()) return 0;
  const std::optional<std::string> folder = checkpoint::find_latest(job.checkpoint.resume);
  if (!folder)
    throw_input_error("train.no-checkpoint", "there is no complete checkpoint",
                      {job.checkpoint.resume}, "a folder step-N, or one that holds such");
  const std::int64_t steps = read_saved(job, *folder, executor);
  for (Optimizer::Slot& slot : executor.optimizer().slots()) slot.state->spread_start();
  return steps;
}

std::int64_t read_saved(const job::Job& job, const std::string& folder, Executor& executor) {
  const checkpoint::Checkpoint saved(folder);
  const checkpoint::Progress& progress = saved.manifest().progress;
  const bool sgd = job.training.optimizer == job::OptimizerKind::kSgd;
  if (progress.optimizer != (sgd ? "sgd" : "adamw"))
    throw_input_error("train.optimizer",
                      fmt::format("the checkpoint was trained with {}", progress.optimizer),
                      {folder}, "--optimizer " + progress.optimizer);
  if (!(saved.manifest().plan.model == job.plan.model))
    throw_input_error("train.other-model",
                      fmt::format("the checkpoint is of {}, the plan of {}",
                                  saved.manifest().plan.model.name, job.plan.model.name),
                      {folder}, "the model that the checkpoint was made with");
  for (Optimizer::Slot& slot : executor.optimizer().slots()) {
    LayerState& state = *slot.state;
    const checkpoint::FlatLayer flat = flat_layer(state);
    const auto read = [&](TensorKind kind, at::Tensor values) {
      const at::Tensor host = values.to(at::kCPU).contiguous();
      read_flat(saved, flat, kind, dtype_of(host), bytes_of(host));
      values.copy_(host);
    };
    read(executor.wide_masters() ? TensorKind::kMasterWeight : TensorKind::kWeight,
         state.own_master());
    read(first_kind(job.training), slot.first);
    if (slot.second.defined()) read(TensorKind::kAdamV, slot.second);
    if (state.statistics()) read_statistics(saved, *state.statistics());
    state.store_update();
  }
  return progress.step;
}

}  // namespace nereus::worker
