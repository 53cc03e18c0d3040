// `nereus export CHECKPOINT --to huggingface`: writes a folder that Hugging Face software can load.
//
//   CheckpointExport done =
//       export_checkpoint({.checkpoint = "run/checkpoints", .directory = "hf"});
//   done.files;        // config.json, model.safetensors
//
// The weights are joined from the slices of all ranks, and verified. A folder of checkpoints means
// its newest one.
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
  std::string checkpoint;  // that was read
  std::string directory;
  std::int64_t step = 0;
  std::string torch_dtype;
  std::int64_t parameters = 0;  // number of weight elements written
  std::vector<checkpoint::JoinedFile> files;
};

// Whether the path is a checkpoint or a folder of checkpoints, and not a plan.
bool is_checkpoint(const std::string& path);

// Throws Errors: no checkpoint, a broken one, one without some weights of its model
// ("export.incomplete"), a model for which Hugging Face has no type.
CheckpointExport export_checkpoint(const CheckpointExportRequest& request);

}  // namespace nereus::app
