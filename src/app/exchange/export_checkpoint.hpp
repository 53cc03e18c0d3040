// `nereus export CHECKPOINT --to huggingface`: a folder that others load.
//
//   CheckpointExport done =
//       export_checkpoint({.checkpoint = "run/checkpoints", .directory = "hf"});
//   done.files;        // config.json, model.safetensors
//
// The weights are joined from all ranks' slices, verified on the way; a folder of checkpoints
// stands for its newest.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/join.hpp"

namespace nereus::app {

struct CheckpointExportRequest {
  std::string checkpoint;
  std::string directory;
  std::uint64_t most_file_bytes = checkpoint::JoinOptions{}.most_bytes;
};

struct CheckpointExport {
  std::string checkpoint;  // the one that was read
  std::string directory;
  std::int64_t step = 0;
  std::string torch_dtype;
  std::int64_t parameters = 0;  // elements of the weights that were written
  std::vector<checkpoint::JoinedFile> files;
};

// Whether this is a checkpoint or a folder of them, and no plan.
bool is_checkpoint(const std::string& path);

// Throws Errors: no checkpoint, a broken one, one that lacks weights of its model
// ("export.incomplete"), a model that Hugging Face has no type for.
CheckpointExport export_checkpoint(const CheckpointExportRequest& request);

}  // namespace nereus::app
