// Writes checkpoints asynchronously, from every rank, while training continues. A kill at any time
// loses no complete checkpoint.
//
//   every rank   writes its parts to FOLDER/step-N.partial/layer-LLLL.rank-RRRR.safetensors, one
//                file per layer, and flushes each; then sends rank 0 a report of what it wrote
//   rank 0       joins and checks the reports, writes manifest.json, flushes the file and the
//                folder, renames step-N.partial to step-N, and flushes FOLDER: now the checkpoint
//                is complete
//   then         all but `keep` - 1 checkpoints of earlier steps are removed; if `known` is set,
//                more may stay
//
// A folder step-N is therefore either complete or absent. A folder that ends in .partial is a
// leftover, which rank 0 removes when a writer is constructed. All ranks must see the same FOLDER.
//
//   Writer writer({.folder = "run", .rank = 0, .num_ranks = 4, .keep = 2, .gather = gather});
//   writer.save(progress, plan, std::move(parts));   // returns at once; a thread writes
//   if (!writer.busy()) ...                          // may be called at every step
//   writer.wait();                                   // throws errors of the background thread
//
// If a save fails, the next save() or wait() throws its error. The parts' bytes must not change
// until busy() is false: pass copies (own_copy), or buffers that nothing else writes to.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "checkpoint/manifest.hpp"

namespace nereus::checkpoint {

// What a rank stores of one tensor. If several ranks hold the same elements, they must agree on one
// that stores them. Other mistakes are found when the reports are joined.
struct Part {
  std::string tensor;
  TensorKind kind = TensorKind::kWeight;
  DType dtype = DType::kF32;
  Shape shape{};           // of the whole tensor
  SliceSpec slice{};       // which slice of the tensor
  std::int64_t begin = 0;  // elements of the slice; begin = end (an empty part) is allowed
  std::int64_t end = 0;
  int layer = 0;
  std::span<const std::byte> bytes{};
  std::shared_ptr<const void> owner{};  // keeps `bytes` alive; may be empty
};

// Returns the part with a copy of its bytes, which the new part keeps alive.
Part own_copy(Part part);

// Sends every rank's report to rank 0. On rank 0 it returns the reports in the order of ranks, on
// other ranks nothing. The writer's thread calls it once per save. Throws if a rank does not
// answer.
using Gather = std::function<std::vector<std::string>(std::int64_t step, std::string mine)>;

struct WriterOptions {
  std::string folder;
  int rank = 0;
  int num_ranks = 1;
  int keep = 2;        // complete checkpoints that stay, at least 1
  Gather gather = {};  // may be empty if there is only one rank
  // Distinguishes attempts at the same step if ranks may have been replaced in between: a rank of
  // an earlier attempt that still writes must not mix its files with those of a later attempt.
  std::string attempt = {};
  // Returns the last checkpoint that the coordinator knows of: a restarted job never continues from
  // a later one. If empty, there is no such limit. Checkpoints up to it count towards `keep`. Later
  // ones are removed only if this writer wrote them, because another generation may be saving the
  // same steps.
  std::function<std::int64_t()> known = {};
  // Called on rank 0 when all files of a checkpoint are written: must call `commit`, which
  // completes the checkpoint, or throw. May be empty.
  std::function<void(const std::function<void()>& commit)> allow = {};
};

// Distinguishes a folder from a later one with the same name: its inode number, which the file
// system may reuse, and the time when it was last written to.
struct FolderMark {
  std::uint64_t number = 0;
  std::int64_t written_ns = 0;
  bool operator==(const FolderMark&) const = default;
};

class Writer {
 public:
  explicit Writer(WriterOptions options);  // on rank 0: creates the folder, removes leftovers
  ~Writer();                               // waits; an error that wait() did not throw is lost
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Waits for the previous save first, and throws its error.
  void save(Progress progress, plan::Plan plan, std::vector<Part> parts);
  bool busy() const { return busy_; }
  void wait();
  // Rank 0: the folder of the last complete save. Empty if there is none, or while a save is in
  // progress.
  std::string last_complete() const { return busy_ ? std::string() : last_complete_; }
  // Rank 0: the saves that became complete since the last call. May be called during a save.
  struct Complete {
    std::int64_t step = 0;  // number of steps done
    std::string folder{};
  };
  std::vector<Complete> take_completed();

 private:
  std::string partial_folder(std::int64_t step) const;
  void write(const Progress& progress, const plan::Plan& plan, const std::vector<Part>& parts);
  void commit(const Progress& progress, const plan::Plan& plan,
              const std::vector<std::string>& reports);
  void remove_old(std::int64_t step);

  WriterOptions options_;
  std::map<std::int64_t, FolderMark> written_;  // by step
  std::thread thread_;
  std::atomic<bool> busy_ = false;
  std::exception_ptr error_;
  std::string last_complete_;
  std::mutex completed_mutex_;
  std::vector<Complete> completed_;
};

// Writes one rank's files to an existing folder. Throws Errors ("checkpoint.write").
RankReport write_parts(const std::string& folder, int rank, const std::vector<Part>& parts);
// Removes folders and files whose name ends in .partial.
void remove_leftovers(const std::string& folder);

}  // namespace nereus::checkpoint
