// The regular plans that a search considers: every combination of these lists that can be built,
// without duplicates.
//
//   Choices choices;                              // what a user fixed; the rest is derived
//   choices.tp = {4, 8};
//   Space space(choices, model, cluster);
//   for (const Family& family : space.families()) ...
//
// A candidate is a family (layout, micro-batch, sequence parallelism: what decides a layer's cost
// on a rank), a schedule with its interleave, and what is recomputed, sharded, offloaded and
// overlapped. Combinations without a real difference are counted once: ZeRO over one rank, ZeRO-2
// under a pipeline (which must keep gradients whole), overlap with nothing to overlap.
//
// Derived lists, if a user gives none:
//   tp, pp, cp      all divisors of the devices (dp gets the rest)
//   context         a ring (zig-zag if the mask is causal), and all-to-all
//   ep, expert_tp   divisors of the experts; 1 and tp. For a model with embedding tables: divisors
//                   of the devices, and every table split
//   interleave      1 .. what the blocks can fill, under interleaved schedules
//   micro_batch     all divisors of a replica's part of the batch
//   recompute       none, selective, full, and full for the first blocks of each virtual stage:
//                   every number of blocks if a stage has up to 8, else multiples of an eighth of
//                   the stage; only full under varuna
//   zero            0 .. 3; over the whole data group, or over as many neighbors as share a fast
//                   domain (HSDP)
//   offload         none: no measured run supports its predicted cost, so offload is searched only
//                   if a user chooses it (`offload_any`). Then it is searched in every tier that
//                   all nodes have, for shares in eighths of: the optimizer state; activations,
//                   with the whole optimizer state; weights, with the whole of both; activations
//                   only. Whole parts come before shares of them: if a device is too full with a
//                   whole part offloaded, it is too full with a share
//   schedules       1f1b and interleaved, which every engine has
//   overlap         tensor and data communication, each on and off
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "cluster/cluster.hpp"
#include "model/model.hpp"
#include "plan/degrees.hpp"
#include "plan/rules.hpp"

namespace nereus::search {

// What may be recomputed: one of plan::Recompute, or the first blocks of each virtual stage.
enum class RecomputeChoice { kNone, kSelective, kFull, kPartial };

// Empty lists are derived. search/regular/choice_fields.hpp lists all of them.
struct Choices {
  std::vector<int> tp, pp, dp, cp, ep, expert_tp, interleave, micro_batch, zero, zero_group;
  std::vector<RecomputeChoice> recompute;
  std::vector<plan::Schedule> schedules;
  std::vector<plan::ContextKind> contexts;
  std::vector<plan::TableSplit> table_splits;
  std::vector<plan::Offload> offloads;
  bool offload_any = false;               // derive `offloads` from the nodes' tiers
  std::vector<plan::Tier> offload_tiers;  // tiers that offload_any may use; empty = all
  std::vector<bool> sequence_parallel, tensor_overlap, data_overlap;
  int max_tp = 0;  // 0 = no limit
  int global_batch = 0;
  cluster::Precision precision = cluster::Precision::kBf16;
  plan::StateTypes state_types{};  // of every candidate
};

// One recompute setting of a candidate.
struct RecomputeSetting {
  plan::Recompute kind = plan::Recompute::kNone;
  int blocks = 0;  // plan::Degrees::recompute_blocks
};

struct ZeroSetting {
  int zero = 0;
  int group = 0;  // plan::Degrees::zero_group
};

struct ScheduleSetting {
  plan::Schedule schedule = plan::Schedule::k1f1b;
  int interleave = 1;
};

// Everything that decides a layer's cost on a rank. Other fields have their defaults.
struct Family {
  plan::Degrees degrees;
};

class Space {
 public:
  Space(const Choices& choices, const model::Model& model, const cluster::Cluster& cluster);

  const std::vector<Family>& families() const { return families_; }
  // Number of layouts that cannot be built, by the first violated rule: tp x pp x cp x dp, expert
  // degrees and micro-batches, and their schedules.
  const std::array<std::int64_t, plan::kNumRules>& unbuildable() const { return unbuildable_; }

  // The lists of one family, in the order in which a search tries their entries: those that take
  // the least time first. They are written into `out`, which is cleared.
  void schedules(const Family& family, std::vector<ScheduleSetting>& out) const;
  void recomputes(const Family& family, ScheduleSetting schedule,
                  std::vector<RecomputeSetting>& out) const;
  void zeros(const Family& family, std::vector<ZeroSetting>& out) const;
  const std::vector<plan::Offload>& offloads() const { return offloads_; }
  // true comes first, if both values are allowed and make a difference.
  void tensor_overlaps(const Family& family, std::vector<bool>& out) const;
  void data_overlaps(const Family& family, std::vector<bool>& out) const;

  std::int64_t count(const Family& family) const;  // number of candidates

 private:
  struct Degree {
    int tp, pp, cp, dp;
  };
  void add_layout(const Degree& degree);
  void add_experts(plan::Degrees degrees);
  void add_tables(plan::Degrees degrees);
  void add_families(plan::Degrees degrees);
  bool buildable(const plan::Degrees& degrees);
  int most_chunks(const plan::Degrees& degrees) const;
  bool allows_recompute(RecomputeChoice choice) const;
  bool divides_data(const plan::Degrees& degrees) const;

  Choices choices_;
  plan::DegreeLimits limits_;
  int domain_ = 1;
  bool causal_ = false;
  bool has_experts_ = false;
  std::vector<plan::Offload> offloads_;
  std::vector<Family> families_;
  std::array<std::int64_t, plan::kNumRules> unbuildable_{};
};

}  // namespace nereus::search
