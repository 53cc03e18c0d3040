// What is kept of a regular plan's passes (predict/played.hpp). Settings that leave a plan's
// layers, stages and micro-batches alone (how state is divided, which reductions overlap) have the
// same.
//
//   PlanPasses& passes = memo.at(key);
//   if (passes.key != key) passes.start(key);            // another plan's until then
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "cost/data_parallel.hpp"
#include "cost/row_table.hpp"
#include "plan/degrees.hpp"
#include "schedule/clock.hpp"

namespace nereus::cost {

struct KindRow;
struct StageTable;

// A step's gradient reduction as far as its length is asked for here.
struct StepReduction {
  double first = 0;    // seconds, of the first pipeline rank or less
  double longest = 0;  // of any
  double overlap = 0;  // share of the compute beside it that it uses; 0: it comes after all passes
};

struct PlanPassesKey {
  const KindRow* kinds = nullptr;
  const StageTable* stages = nullptr;
  plan::Schedule schedule = plan::Schedule::k1f1b;
  int micro_batches = 0;
  bool same_domain = false;  // all of the plan's ranks
  bool operator==(const PlanPassesKey&) const = default;
  std::uint64_t hash() const {
    return mix(
        mix(reinterpret_cast<std::uintptr_t>(kinds), reinterpret_cast<std::uintptr_t>(stages)),
        static_cast<std::uint64_t>(micro_batches) << 8 | static_cast<std::uint64_t>(schedule) << 1 |
            (same_domain ? 1U : 0U));
  }
};

struct PlanPasses {
  PlanPassesKey key;
  bool known = false;  // else the closed form has to do
  bool split = false;  // weight gradients run apart
  bool alike = false;  // all virtual stages, where their closed form is exact (predict/played.hpp)
  bool played = false;
  schedule::PipelineSize size;
  double longest_send = 0;
  double overlap = 0;      // of messages
  double near = 0;         // how far the closed form may be from the play
  double least = 0;        // seconds that a play is not below ...
  double least_first = 0;  // ... and the first rank, its last messages apart
  double most = 0;
  double last_pass = 0;    // seconds of the step's last pass, backward on the first stage
  double first_share = 1;  // of the first rank's gradients, those of its first stage
  double least_share = 1;  // of any rank's, those of any of its stages
  double least_after = 0;  // seconds of a rank's passes from its last chunk's last one on
  double first_after = 0;  // the same of the first rank, exactly

  void start(const PlanPassesKey& of) {
    known = alike = played = false;
    key = of;
  }

  // Between these lies the play with its reduction.
  double low(const StepReduction& reduction) const {
    if (split) return std::max(least, least_first + reduction.first);
    if (reduction.overlap <= 0) return least + reduction.first;
    const double after = std::max(kLastBucket * reduction.first,
                                  first_share * reduction.first - reduction.overlap * last_pass);
    return std::max(least + after, least_first + reduction.first - reduction.overlap * first_after);
  }
  double high(const StepReduction& reduction) const {
    const double all = reduction.longest;
    if (split || reduction.overlap <= 0) return most + all;
    const double before = (size.chunks - 1) * least_share * all;  // of all chunks but the last
    return most + std::max({kLastBucket * all, all - before - reduction.overlap * last_pass,
                            all - reduction.overlap * least_after});
  }
};

// The last plans' passes, each in the place that its key says, and beside each room for its play.
// Both are made with the tables (predict/predictor_tables.hpp), so that whoever finds those finds
// these.
class PlanPassesMemo {
 public:
  PlanPassesMemo() : entries_(kFewest) {}

  // Those of that key, or the ones that they replace.
  PlanPasses& at(const PlanPassesKey& key) { return entries_[place(key)]; }

  // kRows numbers by virtual stage, row after row.
  static constexpr std::size_t kRows = 4;
  std::span<double> row(const PlanPasses& passes, std::size_t row) {
    const auto entry = static_cast<std::size_t>(&passes - entries_.data());
    return {rooms_.data() + (entry * kRows + row) * num_stages_, num_stages_};
  }

  // As many places as tables have rows, of so many stages.
  void make_room(std::size_t num_rows, std::size_t num_stages) {
    std::size_t wanted = entries_.size();
    while (wanted < std::min(num_rows, kMost)) wanted *= 4;
    num_stages = std::max(num_stages, num_stages_);
    if (wanted == entries_.size() && num_stages == num_stages_) return;
    std::vector<PlanPasses> few(wanted);
    few.swap(entries_);
    num_stages_ = num_stages;
    rooms_.resize(wanted * kRows * num_stages);
    for (PlanPasses& passes : few) {
      passes.played = false;  // its room is another's now
      if (passes.key.stages != nullptr) entries_[place(passes.key)] = passes;
    }
  }

 private:
  static constexpr std::size_t kFewest = 4;
  static constexpr std::size_t kMost = 1024;

  std::size_t place(const PlanPassesKey& key) const { return key.hash() % entries_.size(); }

  std::vector<PlanPasses> entries_;
  std::vector<double> rooms_;
  std::size_t num_stages_ = 0;  // for which there is room
};

}  // namespace nereus::cost
