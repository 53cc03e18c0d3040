// Writing checkpoints beside training, from every rank, so that a kill at any byte loses nothing
// that was complete.
//
//   every rank   its parts into FOLDER/step-N.partial/layer-LLLL.rank-RRRR.safetensors, one file a
//                layer, each flushed; then what it wrote as a report to rank 0
//   rank 0       joins and checks the reports, writes manifest.json, flushes file and folder,
//                renames step-N.partial to step-N, flushes FOLDER: from here on it is complete
//   then         of the checkpoints of earlier steps all but `keep` - 1 are removed; `known` may
//                have more stay
//
// A folder step-N is therefore whole or not there; what ends in .partial is a leftover, removed by
// rank 0 when a writer is made. FOLDER must be one that all ranks see.
//
//   Writer writer({.folder = "run", .rank = 0, .num_ranks = 4, .keep = 2, .gather = gather});
//   writer.save(progress, plan, std::move(parts));   // returns at once; a thread writes
//   if (!writer.busy()) ...                          // may be asked at every step
//   writer.wait();                                   // throws what went wrong in the background
//
// Errors of a save are thrown by the next save() or wait(). The parts' bytes must stay as they are
// until busy() is false: copies (own_copy), or buffers that the caller sets aside.
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

// What a rank stores of one tensor. Ranks that hold the same elements agree on one that stores
// them; all else is found out when the reports are joined.
struct Part {
  std::string tensor;
  TensorKind kind = TensorKind::kWeight;
  DType dtype = DType::kF32;
  Shape shape{};           // of the whole tensor
  SliceSpec slice{};       // which slice of it
  std::int64_t begin = 0;  // elements of the slice; begin = end is an empty part, which is fine
  std::int64_t end = 0;
  int layer = 0;
  std::span<const std::byte> bytes{};
  std::shared_ptr<const void> owner{};  // keeps `bytes` alive; may be empty
};

// The part with a copy of its bytes that it owns.
Part own_copy(Part part);

// Brings every rank's report to rank 0, which gets them in the order of ranks; the others get
// nothing back. Called on the writer's thread, once a save. Throws where a rank does not answer.
using Gather = std::function<std::vector<std::string>(std::int64_t step, std::string mine)>;

struct WriterOptions {
  std::string folder;
  int rank = 0;
  int num_ranks = 1;
  int keep = 2;        // complete ones that stay, at least 1
  Gather gather = {};  // may be empty where there is one rank
  // Tells attempts at the same step apart where ranks may have been replaced meanwhile: what a rank
  // of an earlier attempt still writes does not get among the files of a later one.
  std::string attempt = {};
  // The step up to which those who would start anew count on checkpoints; empty: any. Of later ones
  // (somebody may train elsewhere by now, and write the same steps) a writer removes its own alone.
  std::function<std::int64_t()> known = {};
  // Around what makes a checkpoint complete, on rank 0: calls it, or throws instead. May be empty.
  std::function<void(const std::function<void()>& commit)> allow = {};
};

// Tells a folder from another that took its name: its number in the file system, which is used
// again, and when it was last written to.
struct FolderMark {
  std::uint64_t number = 0;
  std::int64_t written_ns = 0;
  bool operator==(const FolderMark&) const = default;
};

class Writer {
 public:
  explicit Writer(WriterOptions options);  // on rank 0: makes the folder, removes leftovers
  ~Writer();                               // waits; an error that nobody asked for is lost
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Waits for the save before, and throws its error.
  void save(Progress progress, plan::Plan plan, std::vector<Part> parts);
  bool busy() const { return busy_; }
  void wait();
  // Rank 0: the folder of the last save that is complete; empty = none yet.
  std::string last_complete() const { return busy_ ? std::string() : last_complete_; }
  // Rank 0: the saves that became complete since this was asked last, also while another is
  // written.
  struct Complete {
    std::int64_t step = 0;  // steps done
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

// One rank's files in an existing folder. Throws Errors ("checkpoint.write").
RankReport write_parts(const std::string& folder, int rank, const std::vector<Part>& parts);
// What ends in .partial.
void remove_leftovers(const std::string& folder);

}  // namespace nereus::checkpoint
