// A cache of the passes of regular plans (predict/played.hpp). Plans share an entry if they differ
// only in settings that do not change layers, stages and micro-batches (how state is sharded, which
// reductions overlap).
//
//   PlanPasses& passes = memo.at(key);
//   if (passes.key != key) passes.start(key);            // the entry was another plan's
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

// The numbers of a step's gradient reduction that decide how long it is exposed.
struct StepReduction {
  double first = 0;    // seconds on the first pipeline rank, or a lower bound
  double longest = 0;  // seconds, the maximum over ranks
  // Share of the concurrent compute that the reduction can use; 0: it runs after all passes.
  double overlap = 0;
};

struct PlanPassesKey {
  const KindRow* kinds = nullptr;
  const StageTable* stages = nullptr;
  plan::Schedule schedule = plan::Schedule::k1f1b;
  int micro_batches = 0;
  bool same_domain = false;  // whether all of the plan's ranks are in one fast domain
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
  bool known = false;  // whether the passes are known; if not, the closed form is used
  bool split = false;  // weight gradients run separately
  // All virtual stages are equal, so their closed form is exact (predict/played.hpp).
  bool alike = false;
  bool played = false;
  schedule::PipelineSize size;
  double longest_send = 0;
  double overlap = 0;      // share of messages that overlaps with passes
  double near = 0;         // how far the closed form may be from the simulation
  double least = 0;        // lower bound in seconds of the simulated passes
  double least_first = 0;  // lower bound for the first rank, without its last messages
  double most = 0;
  double last_pass = 0;    // seconds of the step's last pass, backward on the first stage
  double first_share = 1;  // the first stage's share of the first rank's gradients
  double least_share = 1;  // the smallest share that any stage has of its rank's gradients
  // Least seconds of a rank's passes from its last chunk's last backward pass on.
  double least_after = 0;
  double first_after = 0;  // the same for the first rank, exactly

  void start(const PlanPassesKey& of) {
    known = alike = played = false;
    key = of;
  }

  // The simulated step with its reduction lies between low() and high().
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
    const double before = (size.chunks - 1) * least_share * all;  // of all chunks except the last
    return most + std::max({kLastBucket * all, all - before - reduction.overlap * last_pass,
                            all - reduction.overlap * least_after});
  }
};

// The passes of recently used plans. Each is in the slot that its key hashes to, with room for the
// plan's simulation. Entries and their room are allocated together with the tables
// (predict/predictor_tables.hpp), so that whoever has found the tables also has them.
class PlanPassesMemo {
 public:
  PlanPassesMemo() : entries_(kFewest) {}

  // The entry with that key, or the entry that it replaces.
  PlanPasses& at(const PlanPassesKey& key) { return entries_[place(key)]; }

  // Each entry has kRows rows of numbers by virtual stage.
  static constexpr std::size_t kRows = 4;
  std::span<double> row(const PlanPasses& passes, std::size_t row) {
    const auto entry = static_cast<std::size_t>(&passes - entries_.data());
    return {rooms_.data() + (entry * kRows + row) * num_stages_, num_stages_};
  }

  // Makes as many slots as the tables have rows, for that many stages.
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
      passes.played = false;  // its room now belongs to another entry
      if (passes.key.stages != nullptr) entries_[place(passes.key)] = passes;
    }
  }

 private:
  static constexpr std::size_t kFewest = 4;
  static constexpr std::size_t kMost = 1024;

  std::size_t place(const PlanPassesKey& key) const { return key.hash() % entries_.size(); }

  std::vector<PlanPasses> entries_;
  std::vector<double> rooms_;
  std::size_t num_stages_ = 0;  // number of stages that there is room for
};

}  // namespace nereus::cost
