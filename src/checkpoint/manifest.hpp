// The content of a checkpoint: the file manifest.json in a folder step-000123/, written last.
//
//   {"schema_version": 1, "step": 123, "seed": "7", "samples": 7872, "random_state": "",
//    "optimizer": {"kind": "adamw", "values": {"beta1": 0.9, ..}}, "notes": {"loss": "2.31"},
//    "plan": {..},                          the plan it was trained with, and in it the model
//    "files": [{"name": "layer-0000.rank-0000.safetensors", "size": 1234, "checksum": "0f.."}, ..],
//    "tensors": [
//     {"name": "transformer.wte.weight", "kind": "weight", "dtype": "F32", "shape": [100, 64],
//      "pieces": [{"file": "layer-0000.rank-0000.safetensors",
//                  "name": "transformer.wte.weight#0/2",
//                  "slice": 0, "of": 2, "dim": 0, "groups": 1, "begin": 0, "end": 3200,
//                  "checksum": "93.."}, ..]}, ..],
//    "checksum": "5b.."}
//
// Checksums are Xxh64 (checkpoint/checksum.hpp). A file's checksum covers all of its bytes. A
// piece's checksum covers only the piece, so that a part of a file can be read without the rest.
// The manifest's checksum covers all bytes before its last line. checkpoint/tensor_slice.hpp
// defines pieces; begin and end count elements of the slice.
//
// Invariants (violations are "checkpoint.manifest"): each pair of tensor name and kind appears
// once; a tensor's pieces are cut alike (same of, dim, groups), and cover each of its elements
// exactly once; every file of a piece is listed, and each file is listed once.
//
//   std::string text = manifest_to_json(manifest);
//   Manifest again = parse_manifest(text, "step-000123/manifest.json");   // equal; throws Errors
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "checkpoint/safetensors.hpp"
#include "checkpoint/tensor_slice.hpp"
#include "plan/placement.hpp"

namespace nereus::checkpoint {

inline constexpr int kManifestSchemaVersion = 1;
inline constexpr const char* kManifestFile = "manifest.json";

enum class TensorKind { kWeight, kMasterWeight, kAdamM, kAdamV, kMomentum, kRunningStatistic };
std::string_view to_string(TensorKind kind);  // "weight", "master_weight", "adam_m", ...

struct Piece {
  std::string file;
  std::string name;  // in that file
  SliceSpec part{};
  std::int64_t begin = 0;  // elements of the slice
  std::int64_t end = 0;
  std::uint64_t checksum = 0;
  bool operator==(const Piece&) const = default;
};

struct LogicalTensor {
  std::string name;
  TensorKind kind = TensorKind::kWeight;
  DType dtype = DType::kF32;
  Shape shape{};
  std::vector<Piece> pieces{};
  bool operator==(const LogicalTensor&) const = default;
};

struct StoredFile {
  std::string name;
  std::uint64_t size = 0;
  std::uint64_t checksum = 0;
  bool operator==(const StoredFile&) const = default;
};

// The progress of training, without tensors.
struct Progress {
  std::int64_t step = 0;     // number of steps done
  std::int64_t samples = 0;  // samples of the data that were consumed
  std::uint64_t seed = 0;
  std::string random_state = {};  // bytes; empty if all randomness follows from the seed
  std::string optimizer = {};     // "adamw", "sgd"
  std::map<std::string, double> optimizer_values = {};  // its hyper-parameters
  std::map<std::string, std::string> notes = {};        // for people and tools; not interpreted
  bool operator==(const Progress&) const = default;
};

// The files that one rank has written; rank 0 makes the manifest from all reports.
struct RankReport {
  std::string error = {};  // why this rank failed; the other fields are then invalid
  std::vector<StoredFile> files = {};
  std::vector<LogicalTensor> tensors = {};
  bool operator==(const RankReport&) const = default;
};

struct Manifest {
  Progress progress{};
  plan::Plan plan;
  std::vector<StoredFile> files{};       // by name
  std::vector<LogicalTensor> tensors{};  // by name, then kind
  bool operator==(const Manifest&) const = default;
};

// Joins the pieces of all ranks; throws Errors if they do not form whole tensors.
Manifest make_manifest(const Progress& progress, const plan::Plan& plan,
                       const std::vector<RankReport>& reports);
// Checks the invariants above; reports at most 20 errors.
void check_manifest(const Manifest& manifest, const std::string& file, ErrorList& errors);

std::string manifest_to_json(const Manifest& manifest);
Manifest parse_manifest(std::string_view text, const std::string& file);
// Appends the last line, which has the checksum, to a manifest without this line.
std::string seal(std::string body);

// The form in which ranks send reports.
std::string report_to_json(const RankReport& report);
RankReport parse_report(std::string_view text, const std::string& from);

}  // namespace nereus::checkpoint
