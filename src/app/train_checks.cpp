#include "app/train_checks.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "app/train_script.hpp"
#include "base/format.hpp"
#include "checkpoint/reader.hpp"
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
          fmt::format("{} is no model of your own: only those are trained on tensors", model->name),
          {data.path}, "--data takes tokens or images for it, or synthetic");
    return;
  }
  const bool tokens = model != nullptr && model->tokens_per_sample > 0;
  if (data.kind == Kind::kTokens) {
    if (model != nullptr && !tokens)
      errors.add("train.data-kind",
                 fmt::format("{} is trained on images, and this is no folder", model->name),
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
                 fmt::format("{} is trained on tokens, and this is a folder", model->name),
                 {data.path}, "--data takes a token file for it, or synthetic");
    else
      collect(errors, [&] {
        data::ImageFolder folder = data::ImageFolder::open(data.path);
        if (model != nullptr && model->cnn)  // as many classes as the model tells apart
          data::ImageFolderSamples(std::move(folder), model->cnn->image, model->cnn->classes, {});
      });
  }
}

void check_resume(const TrainRequest& request, const model::Model* model, bool thoroughly,
                  ErrorList& errors) {
  const std::string& name = request.checkpoint.resume;
  if (name.empty()) return;
  std::error_code unknown;
  const std::optional<std::string> folder =
      fs::is_directory(name, unknown) ? checkpoint::find_latest(name) : std::nullopt;
  if (!folder) {
    errors.add("train.no-checkpoint",
               fs::is_directory(name, unknown) ? "this folder holds no complete checkpoint"
                                               : "there is no such folder to resume from",
               {name},
               "a checkpoint is a folder with a manifest.json; --resume takes one, or the folder "
               "they are in");
    return;
  }
  collect(errors, [&] {
    const checkpoint::Checkpoint saved(*folder);
    const checkpoint::Progress& progress = saved.manifest().progress;
    if (model != nullptr && saved.manifest().plan.model != *model)
      errors.add(
          "train.other-model",
          fmt::format(
              "the checkpoint is of {} ({} parameters), and the plan is for {} ({})",
              saved.manifest().plan.model.name,
              format_count(static_cast<std::int64_t>(saved.manifest().plan.model.parameters())),
              model->name, format_count(static_cast<std::int64_t>(model->parameters()))),
          {*folder}, "any plan may go on, but of the same model");
    const std::string_view optimizer = job::to_string(request.training.optimizer);
    if (!progress.optimizer.empty() && progress.optimizer != optimizer)
      errors.add("train.other-optimizer",
                 fmt::format("the checkpoint holds the state of {}, and this job trains with {}",
                             progress.optimizer, optimizer),
                 {*folder}, "--optimizer " + progress.optimizer);
    if (progress.step >= request.training.steps)
      errors.add("train.nothing-to-do",
                 fmt::format("the checkpoint has done {} steps, and --steps {} is all there are",
                             progress.step, request.training.steps),
                 {*folder}, fmt::format("--steps {}", progress.step + 1));
    if (thoroughly) saved.verify();
  });
}

void check_checkpoint_folder(const job::Checkpoint& checkpoint, ErrorList& errors) {
  std::error_code unknown;
  if (!checkpoint.folder.empty() && fs::exists(checkpoint.folder, unknown) &&
      !fs::is_directory(checkpoint.folder, unknown))
    errors.add("train.checkpoint-folder", "checkpoints go into a folder, and this is a file",
               {checkpoint.folder});
  if (checkpoint.folder.empty() && checkpoint.every > 0)
    errors.add("train.checkpoint-folder", "--checkpoint-every has nowhere to write", {},
               "--checkpoint DIR");
}

void check_timeline_file(const std::string& file, ErrorList& errors) {
  if (file.empty()) return;
  const auto ends = [&](std::string_view with) { return file.ends_with(with); };
  if (!ends(".json") && !ends(".json.gz") && !ends(".svg"))
    errors.add("train.timeline", fmt::format("--timeline {} is of no form that is written", file),
               {}, "FILE.json, FILE.json.gz or FILE.svg");
  const fs::path folder = fs::path(file).has_parent_path() ? fs::path(file).parent_path() : ".";
  if (access(folder.c_str(), W_OK) != 0)
    errors.add("train.timeline", fmt::format("--timeline {} cannot be written", file), {folder},
               "a folder that is there and can be written to");
}

}  // namespace nereus::app
