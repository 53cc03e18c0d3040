// Reads a checkpoint for any plan: every rank requests the elements that it must hold, no matter
// which ranks wrote them and how they were divided.
//
//   const std::optional<std::string> folder = find_latest("run/checkpoints");
//   const Checkpoint saved(*folder);            // reads the manifest; checks files and their sizes
//   saved.read_range("transformer.wte.weight", TensorKind::kWeight,
//                    {.slice = 1, .of = 4, .dim = 0, .groups = 1}, begin, end, bytes);
//
// Only the requested pieces of a file are read; the first access to a piece verifies its checksum.
// Errors name the file: checkpoint.missing-file, checkpoint.file-size, checkpoint.checksum; or
// checkpoint.no-tensor if the checkpoint does not have the tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "checkpoint/safetensors.hpp"
#include "checkpoint/tensor_slice.hpp"

namespace nereus::checkpoint {

// "step-000123".
std::string step_folder(std::int64_t step);
// Complete checkpoints in a folder, by step; other files are ignored.
std::map<std::int64_t, std::string> list_checkpoints(const std::string& folder);
// The newest complete checkpoint in a folder of checkpoints, or the folder itself if it is a
// checkpoint.
std::optional<std::string> find_latest(const std::string& folder);

class Checkpoint {
 public:
  explicit Checkpoint(const std::string& folder);  // throws Errors with all errors

  const std::string& folder() const { return folder_; }
  const Manifest& manifest() const { return manifest_; }
  const LogicalTensor* find(std::string_view name, TensorKind kind) const;  // nullptr = none

  // Reads elements [begin, end) of that slice, row-major, as they were stored; `out` must have
  // exactly their size. May be called from several threads.
  void read_range(std::string_view name, TensorKind kind, const SliceSpec& slice,
                  std::int64_t begin, std::int64_t end, std::span<std::byte> out) const;

  // Checks every byte of every file against its checksum; throws Errors that name all broken files.
  void verify() const;

 private:
  struct OpenFile {
    std::mutex mutex;
    std::unique_ptr<SafetensorsFile> file;  // opened at the first use
    std::set<std::string_view> verified;    // names of verified pieces
  };

  std::string path_of(const std::string& file) const { return folder_ + "/" + file; }
  std::span<const std::byte> bytes_of(const LogicalTensor& tensor, const Piece& piece) const;

  std::string folder_;
  Manifest manifest_;
  std::map<std::pair<std::string_view, TensorKind>, const LogicalTensor*> index_;
  mutable std::map<std::string_view, OpenFile> files_;
};

}  // namespace nereus::checkpoint
