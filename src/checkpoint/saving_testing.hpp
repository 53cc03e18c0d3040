// Checkpoints for tests: whole tensors, divided among ranks that are threads of this process.
//
//   save_all(folder.path(), at_step(1), small_plan(), small_parts());
#pragma once

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_testing.hpp"

namespace nereus::checkpoint::testing {

// A whole tensor and its bytes.
struct Whole {
  std::string name;
  TensorKind kind = TensorKind::kWeight;
  DType dtype = DType::kF32;
  Shape shape{};
  std::vector<std::byte> bytes{};
};

inline Part part_of(const Whole& whole, const SliceSpec& slice, std::int64_t begin,
                    std::int64_t end, int layer) {
  const std::vector<std::byte> bytes =
      pick_elements(whole.bytes, whole.shape, slice, begin, end, element_size(whole.dtype));
  return own_copy(
      {whole.name, whole.kind, whole.dtype, whole.shape, slice, begin, end, layer, bytes});
}

// Reports of ranks that are threads of this process.
class Meeting {
 public:
  explicit Meeting(int num_ranks) : reports_(static_cast<std::size_t>(num_ranks)) {}
  Gather gather_of(int rank) {
    return [this, rank](std::int64_t, std::string mine) -> std::vector<std::string> {
      std::unique_lock lock(mutex_);
      reports_[rank] = std::move(mine);
      ++there_;
      changed_.notify_all();
      if (rank != 0) return {};
      changed_.wait(lock, [&] { return there_ == static_cast<int>(reports_.size()); });
      there_ = 0;
      return reports_;
    };
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int there_ = 0;
  std::vector<std::string> reports_;
};

inline void save_all(const std::string& folder, const Progress& progress, const plan::Plan& plan,
                     const std::vector<std::vector<Part>>& ranks, int keep = 2) {
  const int num_ranks = static_cast<int>(ranks.size());
  Meeting meeting(num_ranks);
  std::vector<std::unique_ptr<Writer>> writers;
  for (int rank = 0; rank < num_ranks; ++rank)
    writers.push_back(std::make_unique<Writer>(
        WriterOptions{folder, rank, num_ranks, keep, meeting.gather_of(rank)}));
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    writers[rank]->save(progress, plan, ranks[rank]);
  std::exception_ptr error;  // of rank 0, which receives all reports
  for (std::size_t rank = ranks.size(); rank-- > 0;) try {
      writers[rank]->wait();
    } catch (...) {
      error = std::current_exception();
    }
  if (error) std::rethrow_exception(error);
}

inline Progress at_step(std::int64_t step) {
  return {.step = step,
          .samples = step * 8,
          .seed = 0xFFFFFFFFFFFFFFFFULL,
          .random_state = std::string("\0\x7f\xff", 3),
          .optimizer = "adamw",
          .optimizer_values = {{"beta1", 0.9}, {"rate", 3e-4}},
          .notes = {{"loss", "2.5 \"nats\"\n"}}};
}

// One rank, two tensors, three kinds: enough to damage.
inline std::vector<Whole> small_wholes() {
  std::vector<Whole> wholes = {{"a", TensorKind::kWeight, DType::kF32, {4, 6}},
                               {"a", TensorKind::kAdamM, DType::kF64, {4, 6}},
                               {"b", TensorKind::kWeight, DType::kBf16, {5}}};
  for (Whole& whole : wholes)
    whole.bytes = numbered_bytes(*num_bytes(whole.dtype, whole.shape), 17);
  return wholes;
}

inline std::vector<std::vector<Part>> small_parts() {
  std::vector<std::vector<Part>> ranks(2);
  int layer = 0;
  for (const Whole& whole : small_wholes()) {
    const std::int64_t size = num_elements(whole.shape);
    ranks[0].push_back(part_of(whole, {}, 0, size / 2, layer));
    ranks[1].push_back(part_of(whole, {}, size / 2, size, layer));
    if (whole.kind != TensorKind::kWeight) ++layer;
  }
  return ranks;
}

}  // namespace nereus::checkpoint::testing
