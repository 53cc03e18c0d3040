// Shared by the parts of the checker. Not for use by other folders.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "plan/check.hpp"

namespace nereus::plan::checking {

// Collects violations, and limits how many of them a broken plan can report.
class Report {
 public:
  void add(std::string code, std::string message, std::string hint = {});
  std::vector<Error> take();
  bool empty() const { return found_ == 0; }
  int num_found() const { return found_; }

 private:
  static constexpr int kMostShown = 40;
  std::vector<Error> errors_;
  int found_ = 0;
};

// The facts about a model that the checker needs. The lists are sums over layers [0, i), so that a
// run is looked up in constant time.
struct LayerFacts {
  std::vector<int> dense;    // layers with weights outside experts
  std::vector<int> experts;  // layers with expert weights or embedding tables
  std::vector<int> blocks;
  bool splits_tensors = false;  // some operator can be divided by tp
  int num_layers = 0;
  int table_layer = -1;         // index of the layer with the embedding tables, or -1
  std::vector<int> table_dims;  // columns of each table

  bool has_tables(const LayerRun& run) const {
    return table_layer >= run.first_layer && table_layer - run.first_layer < run.num_layers;
  }
  static int count(const std::vector<int>& sums, const LayerRun& run) {
    const auto first = static_cast<std::size_t>(run.first_layer);
    return sums[first + static_cast<std::size_t>(run.num_layers)] - sums[first];
  }
};

// Ranks [begin, end) are in nodes of this group.
struct GroupRanks {
  int begin = 0;
  int end = 0;
  const cluster::Node* node = nullptr;
};

struct Facts {
  const Placement& placement;
  const model::Model& model;
  LayerFacts layers;
  std::vector<GroupRanks> groups;
  int num_ranks = 0;
};

// Saturating product, since the factors come from a file.
inline std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (!__builtin_mul_overflow(a, b, &result)) return result;
  return (a < 0) == (b < 0) ? std::numeric_limits<std::int64_t>::max()
                            : std::numeric_limits<std::int64_t>::min();
}
inline std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (!__builtin_add_overflow(a, b, &result)) return result;
  return a > 0 ? std::numeric_limits<std::int64_t>::max()
               : std::numeric_limits<std::int64_t>::min();
}

// Minimum and maximum of first + sum of stride_k [0, count_k): how far a strided set reaches.
struct Reach {
  std::int64_t least;
  std::int64_t greatest;
  explicit Reach(std::int64_t first) : least(first), greatest(first) {}
  Reach& stride(std::int64_t step, std::int64_t count) {
    const std::int64_t span = times(step, count - 1);
    least = plus(least, std::min<std::int64_t>(span, 0));
    greatest = plus(greatest, std::max<std::int64_t>(span, 0));
    return *this;
  }
  bool within(std::int64_t begin, std::int64_t end) const {
    return least >= begin && greatest < end;
  }
};

std::string run_name(const Placement& placement, std::size_t run);  // "run 3 (layers 12..17)"
// "run 3 (layers 12..17), replicas 0"
std::string replicas_name(const Placement& placement, std::size_t run, std::size_t replicas);

// check_work.cpp and check_samples.cpp: which rank computes what.
class WorkChecker {
 public:
  WorkChecker(const Facts& facts, Report& report);
  void check_run(std::size_t index);
  void finish();  // checks that need all runs

 private:
  bool check_numbers(std::size_t index);
  bool check_ranks(std::size_t index);
  void check_splits(std::size_t index);
  void check_experts(std::size_t index);
  void check_tables(std::size_t index);
  void check_tier(std::size_t index, const Replicas& replicas);
  void check_samples(std::size_t index);
  void check_order(std::size_t index, const std::vector<int>& now);
  bool fill_micro_batches(std::size_t index, std::vector<int>& micro_batch_of);

  const Facts& facts_;
  Report& report_;
  std::vector<int> seen_in_run_;     // last run (1-based) that used the rank
  std::vector<int> last_stage_;      // stage + 1 that last used the rank
  std::vector<int> num_stages_;      // number of different stages on the rank
  std::vector<int> micro_batch_of_;  // of every sample, in the last valid run
  std::size_t last_sound_run_ = 0;   // 1-based; 0 = none yet
};

// check_state.cpp: which rank stores what.
class StateChecker {
 public:
  StateChecker(const Facts& facts, Report& report);
  void check_run(std::size_t index);

 private:
  using Shares = std::vector<const StateShare*>;  // valid shares with equal kind, `experts` and cut
  bool check_numbers(std::size_t index, const StateShare& share);
  bool check_cut(std::size_t index, const StateShare& share);
  bool check_tier(std::size_t index, const StateShare& share);
  void check_kind(std::size_t index, StateKind kind, bool experts);
  void check_complete(std::size_t index, const Shares& shares);
  void check_overlaps(std::size_t index, const Shares& shares);
  bool check_holdings(std::size_t index, const Shares& suspects);
  bool spend(std::int64_t work);

  // One piece on one rank; the holdings of a rank are a linked list.
  struct Holding {
    int slice;
    int next;
    std::int64_t begin;
    std::int64_t end;
  };
  const Facts& facts_;
  Report& report_;
  std::vector<int> head_;   // newest holding of the rank in this generation
  std::vector<int> stamp_;  // generation that head_ belongs to
  int generation_ = 0;
  std::vector<Holding> holdings_;
  std::int64_t budget_ = 1LL << 27;  // steps of the check; about a second
  bool exhausted_ = false;
};

}  // namespace nereus::plan::checking
