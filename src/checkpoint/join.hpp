// Writes whole tensors of a checkpoint as plain safetensors files, in the layout of Hugging Face's
// hub: model.safetensors or, above a size, model-00001-of-0000N.safetensors with an index
//
//   {"metadata": {"total_size": BYTES}, "weight_map": {"NAME": "model-00001-of-00003.safetensors"}}
//
// in model.safetensors.index.json. Slices are joined chunk by chunk, so that memory stays small for
// any model.
//
//   std::vector<JoinedFile> files = join_tensors(saved, model_tensors(saved), "out", {});
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_reader.hpp"

namespace nereus::checkpoint {

struct JoinOptions {
  std::uint64_t most_bytes = 5'000'000'000;  // per file, as in transformers
  Metadata metadata = {{"format", "pt"}};
};

struct JoinedFile {
  std::string name;
  std::uint64_t size = 0;
  bool operator==(const JoinedFile&) const = default;
};

// The tensors of the model, by name: its weights (master weights if there are no others) and
// running statistics.
std::vector<const LogicalTensor*> model_tensors(const Checkpoint& saved);

// Writes to an existing folder; each file appears atomically. Throws the Errors of reading and
// writing.
std::vector<JoinedFile> join_tensors(const Checkpoint& saved,
                                     const std::vector<const LogicalTensor*>& tensors,
                                     const std::string& folder, const JoinOptions& options);

}  // namespace nereus::checkpoint
