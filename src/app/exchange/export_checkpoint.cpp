#include "app/exchange/export_checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "app/exchange/write_folder.hpp"
#include "base/error.hpp"
#include "base/write_file.hpp"
#include "export/hf_model.hpp"

namespace nereus::app {

namespace {

namespace fs = std::filesystem;
using checkpoint::DType;
using checkpoint::LogicalTensor;

std::string torch_name(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return "float64";
    case DType::kBf16:
      return "bfloat16";
    case DType::kF16:
      return "float16";
    default:
      return "float32";
  }
}

// The dtype of the weights; the widest if they differ, because transformers loads all as one type.
DType weight_dtype(const std::vector<const LogicalTensor*>& tensors) {
  DType widest = DType::kBf16;
  bool any = false;
  for (const LogicalTensor* tensor : tensors) {
    if (tensor->kind == checkpoint::TensorKind::kRunningStatistic) continue;
    if (!any || element_size(tensor->dtype) > element_size(widest)) widest = tensor->dtype;
    any = true;
  }
  return widest;
}

}  // namespace

bool is_checkpoint(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) && checkpoint::find_latest(path).has_value();
}

CheckpointExport export_checkpoint(const CheckpointExportRequest& request) {
  const std::optional<std::string> found = checkpoint::find_latest(request.checkpoint);
  if (!found)
    throw_input_error(
        "checkpoint.none",
        fmt::format("{} is neither a checkpoint nor a folder of checkpoints", request.checkpoint),
        {}, "a folder step-N that nereus train has completed");
  const checkpoint::Checkpoint saved(*found);
  const model::Model& model = saved.manifest().plan.model;
  std::vector<const LogicalTensor*> tensors = checkpoint::model_tensors(saved);
  const DType dtype = weight_dtype(tensors);
  const exporting::HfModel hf = exporting::hf_model(model, torch_name(dtype));
  std::erase_if(tensors, [&](const LogicalTensor* tensor) {
    return std::find(hf.left_out.begin(), hf.left_out.end(), tensor->name) != hf.left_out.end();
  });

  CheckpointExport answer{*found, request.directory, saved.manifest().progress.step,
                          torch_name(dtype)};
  for (const LogicalTensor* tensor : tensors)
    if (tensor->kind != checkpoint::TensorKind::kRunningStatistic)
      answer.parameters += checkpoint::num_elements(tensor->shape);
  if (static_cast<double>(answer.parameters) < model.parameters())
    throw_input_error("export.incomplete",
                      fmt::format("{} contains {} of the {:.0f} parameters of {}", *found,
                                  answer.parameters, model.parameters(), model.name),
                      {}, "a checkpoint of the whole model");

  write_folder(request.directory, [&](const fs::path& folder) {
    write_file((folder / "config.json").string(), hf.config);
    answer.files =
        join_tensors(saved, tensors, folder.string(), {.most_bytes = request.most_file_bytes});
  });
  answer.files.insert(answer.files.begin(), {"config.json", hf.config.size()});
  return answer;
}

}  // namespace nereus::app
