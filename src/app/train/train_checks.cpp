#include "app/train/train_checks.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "app/train/output_checks.hpp"
#include "app/train/train_script.hpp"
#include "base/format.hpp"
#include "checkpoint/checkpoint_reader.hpp"
#include "data/image_folder.hpp"
#include "data/token_file.hpp"

namespace nereus::app {

namespace fs = std::filesystem;

job::Data find_data(const std::string& name, job::Data data, ErrorList& errors) {
  if (name.empty())
    errors.add("train.no-data", "there is no data to train on", {},
               "--data FILE (nereus data prepare makes one), or --data synthetic");
  if (name.empty() || name == "synthetic") return data;
  std::error_code unknown;
  data.path = name;
  data.kind = fs::is_directory(name, unknown)                ? job::Data::Kind::kImages
              : fs::path(name).extension() == ".safetensors" ? job::Data::Kind::kTensors
                                                             : job::Data::Kind::kTokens;
  return data;
}

void check_data(const job::Data& data, const model::Model* model, bool thoroughly,
                ErrorList& errors) {
  using Kind = job::Data::Kind;
  if (model != nullptr && model->script) {
    collect(errors, [&] { check_script_data(data, *model, thoroughly); });
    return;
  }
  if (data.kind == Kind::kTensors) {
    if (model != nullptr)
      errors.add(
          "train.data-kind",
          fmt::format("{} is a built-in model; only your own models can be trained on tensors",
                      model->name),
          {data.path}, "--data takes tokens or images for it, or synthetic");
    return;
  }
  const bool tokens = model != nullptr && model->tokens_per_sample > 0;
  if (data.kind == Kind::kTokens) {
    if (model != nullptr && !tokens)
      errors.add("train.data-kind",
                 fmt::format("{} is trained on images, but this is not a folder", model->name),
                 {data.path}, "--data takes a folder of images for it, or synthetic");
    else
      collect(errors, [&] {
        const data::TokenFile file = data::TokenFile::open(data.path);
        if (tokens && thoroughly && model->transformer)
          data::check_tokens(file, model->transformer->vocab, model->transformer->seq);
      });
  }
  if (data.kind == Kind::kImages) {
    if (tokens)
      errors.add("train.data-kind",
                 fmt::format("{} is trained on tokens, but this is a folder", model->name),
                 {data.path}, "--data takes a token file for it, or synthetic");
    else
      collect(errors, [&] {
        data::ImageFolder folder = data::ImageFolder::open(data.path);
        if (model != nullptr && model->cnn)  // as many classes as the model tells apart
          data::ImageFolderSamples(std::move(folder), model->cnn->image, model->cnn->classes, {});
      });
  }
}

namespace {

// Precisions whose state is the same tensors: fp64, fp32 with tf32, and those with fp32 masters.
int state_kind(cluster::Precision precision) {
  using cluster::Precision;
  return precision == Precision::kFp64                                    ? 0
         : precision == Precision::kFp32 || precision == Precision::kTf32 ? 1
                                                                          : 2;
}

fs::path whole_path(const std::string& name) {
  std::error_code unknown;
  // As a parent folder, so that a slash at its end does not count.
  return fs::weakly_canonical(fs::absolute(name) / "x", unknown).parent_path();
}

// Whether a run goes on from a folder of checkpoints, or from one of it.
bool goes_on_from(const job::Checkpoint& checkpoint) {
  if (checkpoint.resume.empty()) return false;
  const fs::path from = whole_path(checkpoint.resume), to = whole_path(checkpoint.folder);
  return from == to || from.parent_path() == to;
}

void note_differences(const TrainRequest& request, const checkpoint::Manifest& saved,
                      const plan::Plan& plan, std::vector<std::string>& notes) {
  const std::int64_t step = saved.progress.step;
  if (saved.progress.seed != request.training.seed)
    notes.push_back(fmt::format(
        "note: the checkpoint was trained with --seed {}, but this run continues with {}, so it "
        "sees other samples than that run would have seen",
        saved.progress.seed, request.training.seed));
  const std::int64_t batch = saved.plan.placement.global_batch;
  if (batch != plan.placement.global_batch)
    notes.push_back(fmt::format(
        "note: the checkpoint was trained with --global-batch {}, but this run continues with {}; "
        "its {} as {} of the new size",
        batch, plan.placement.global_batch,
        counted(saved.progress.samples, "sample counts", "samples count"), counted(step, "step")));
  const std::string& folder = request.checkpoint.folder;
  if (folder.empty() || request.elastic || !goes_on_from(request.checkpoint)) return;
  const auto all = checkpoint::list_checkpoints(folder);
  if (!all.empty() && all.rbegin()->first > step)
    notes.push_back(fmt::format(
        "note: {} also contains later steps, up to {}; --resume {} would prefer those to this "
        "run's",
        folder, all.rbegin()->first, folder));
}

}  // namespace

void check_resume(const TrainRequest& request, const plan::Plan* plan, bool thoroughly,
                  std::vector<std::string>& notes, ErrorList& errors) {
  const model::Model* model = plan != nullptr ? &plan->model : nullptr;
  const std::string& name = request.checkpoint.resume;
  if (name.empty()) return;
  std::error_code unknown;
  const std::optional<std::string> folder =
      fs::is_directory(name, unknown) ? checkpoint::find_latest(name) : std::nullopt;
  if (!folder) {
    errors.add("train.no-checkpoint",
               fs::is_directory(name, unknown) ? "this folder contains no complete checkpoint"
                                               : "there is no such folder to resume from",
               {name},
               "a checkpoint is a folder with a manifest.json; --resume takes one, or a folder of "
               "checkpoints");
    return;
  }
  collect(errors, [&] {
    const checkpoint::Checkpoint saved(*folder);
    const checkpoint::Progress& progress = saved.manifest().progress;
    if (model != nullptr && saved.manifest().plan.model != *model)
      errors.add(
          "train.other-model",
          fmt::format(
              "the checkpoint belongs to {} ({} parameters), but the plan is for {} ({})",
              saved.manifest().plan.model.name,
              format_count(static_cast<std::int64_t>(saved.manifest().plan.model.parameters())),
              model->name, format_count(static_cast<std::int64_t>(model->parameters()))),
          {*folder}, "any plan of the same model can resume from it");
    const std::string_view optimizer = job::to_string(request.training.optimizer);
    if (!progress.optimizer.empty() && progress.optimizer != optimizer)
      errors.add("train.other-optimizer",
                 fmt::format("the checkpoint contains the state of {}, but this job trains with {}",
                             progress.optimizer, optimizer),
                 {*folder}, "--optimizer " + progress.optimizer);
    const cluster::Precision trained_in = saved.manifest().plan.placement.precision;
    if (plan != nullptr && state_kind(trained_in) != state_kind(plan->placement.precision))
      errors.add(
          "train.other-precision",
          fmt::format("the checkpoint contains the state of training in {}, but this job trains "
                      "in {}, which needs other tensors",
                      to_string(trained_in), to_string(plan->placement.precision)),
          {*folder}, fmt::format("--precision {}", to_string(trained_in)));
    if (plan != nullptr) note_differences(request, saved.manifest(), *plan, notes);
    if (progress.step >= request.training.steps)
      errors.add(
          "train.nothing-to-do",
          fmt::format("the checkpoint already has {}, but --steps {} is the total number of steps",
                      counted(progress.step, "step"), request.training.steps),
          {*folder}, fmt::format("--steps {}", progress.step + 1));
    if (thoroughly) saved.verify();
  });
}

namespace {

void check_checkpoint_folder(const TrainRequest& request, ErrorList& errors) {
  const job::Checkpoint& checkpoint = request.checkpoint;
  const std::string& folder = checkpoint.folder;
  std::error_code unknown;
  if (folder.empty()) {
    if (checkpoint.every > 0)
      errors.add("train.checkpoint-folder", "--checkpoint-every needs --checkpoint", {},
                 "--checkpoint DIR");
    return;
  }
  if (fs::exists(folder, unknown) && !fs::is_directory(folder, unknown)) {
    errors.add("train.checkpoint-folder", "checkpoints need a folder, but this is a file",
               {folder});
    return;
  }
  check_output_folder("train.checkpoint-folder", "--checkpoint", folder, errors);
  if (request.elastic || goes_on_from(checkpoint)) return;
  const auto saved = checkpoint::list_checkpoints(folder);
  if (saved.empty()) return;
  errors.add(
      "train.other-run",
      fmt::format("the folder contains checkpoints of another run, up to step {}, and this run "
                  "would mix its checkpoints with them",
                  saved.rbegin()->first),
      {folder},
      fmt::format("--resume {} to continue that run, or another folder for --checkpoint", folder));
}

void check_timeline_file(const std::string& file, ErrorList& errors) {
  if (file.empty()) return;
  const auto ends = [&](std::string_view with) { return file.ends_with(with); };
  if (!ends(".json") && !ends(".json.gz") && !ends(".svg"))
    errors.add("train.timeline", fmt::format("--timeline {} has an unknown file type", file), {},
               "FILE.json, FILE.json.gz or FILE.svg");
  check_output_file("train.timeline", "--timeline", file, errors);
}

}  // namespace

void check_outputs(const TrainRequest& request, ErrorList& errors) {
  check_checkpoint_folder(request, errors);
  check_timeline_file(request.timeline_file, errors);
  if (request.launched && request.launched->rank != 0) return;  // rank 0 writes the rest
  check_output_file("train.metrics", "--metrics", request.metrics_file, errors);
  check_output_folder("train.tensorboard", "--tensorboard", request.tensorboard, errors);
  for (const std::string& file : request.output_files)
    check_output_file("output.path", "the result's file", file, errors);
}

}  // namespace nereus::app
