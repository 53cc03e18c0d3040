// The compact form of a regular plan: the same degrees everywhere. plan/expand.hpp expands it to
// the general placement. predict/ predicts both forms; they agree to 1e-9 (a property test checks
// it).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cluster/device.hpp"
#include "plan/state_types.hpp"

namespace nereus::plan {

enum class Recompute { kNone, kSelective, kFull };
enum class Schedule {
  kGpipe,
  k1f1b,
  kInterleaved,
  kLoopedBfs,
  kVaruna,
  kZbH1,
  kZbH2,
  kZbV,
  kDualPipe
};
enum class Attention { kUnfused, kFlash };  // whether the score matrix is ever written to memory
// How a sequence is cut over the context axis. Ring: contiguous slices that pass keys and values
// around a ring. Zig-zag: a ring with 2 cp chunks, where slice c holds chunks c and 2 cp - 1 - c,
// which balances a causal mask. All-to-all: contiguous slices; an all-to-all gives each rank whole
// sequences of some heads.
enum class ContextKind { kRing, kZigzag, kAllToAll };
enum class Tier { kDevice, kExpanded, kHost, kNvme };  // named as in cluster::MemoryTier
// How the ep ranks of a group share one copy of a model's embedding tables
// (plan/table_placement.hpp). kTable and kLookups: whole tables, balanced by bytes or by look-ups.
// kRow: blocks of every table's rows. kColumn: columns of every table.
enum class TableSplit { kTable, kLookups, kRow, kColumn };

std::string_view to_string(Recompute r);
std::string_view to_string(Schedule s);
std::string_view to_string(ContextKind c);
std::string_view to_string(Tier t);
std::optional<Recompute> parse_recompute(std::string_view text);
std::optional<Schedule> parse_schedule(std::string_view text);
std::optional<ContextKind> parse_context(std::string_view text);
std::optional<Tier> parse_tier(std::string_view text);
std::optional<TableSplit> parse_table_split(std::string_view text);
std::string_view to_string(TableSplit t);

struct Offload {  // share of each that is offloaded
  double weights = 0;
  double optimizer = 0;
  double activations = 0;
  Tier tier = Tier::kHost;  // one tier for all of them
  bool none() const { return weights == 0 && optimizer == 0 && activations == 0; }
  bool operator==(const Offload&) const = default;
};

struct Degrees {
  int tp = 1;
  int pp = 1;
  int dp = 1;
  int cp = 1;
  int ep = 1;         // ranks that share the experts or tables; ep x expert_tp divides tp x cp x dp
  int expert_tp = 1;  // tensor degree inside experts
  int interleave = 1;  // virtual stages per rank
  int micro_batch = 1;
  int global_batch = 1;
  Recompute recompute = Recompute::kNone;
  // Under full recompute: how many blocks of each virtual stage, from its first; 0 = all.
  int recompute_blocks = 0;
  int zero = 0;  // 0..3
  // Ranks that share one copy of sharded state: neighbors in the data-parallel group (context x
  // data). 0 = the whole group; fewer = HSDP.
  int zero_group = 0;
  bool sequence_parallel = false;
  // Tensor collectives run in pieces, concurrently with the GEMMs that feed them.
  bool tensor_overlap = false;
  bool data_overlap = true;  // communication of sharded state and gradients overlaps with passes
  cluster::Precision precision = cluster::Precision::kBf16;
  Schedule schedule = Schedule::k1f1b;
  ContextKind context = ContextKind::kZigzag;
  TableSplit table_split = TableSplit::kTable;
  Offload offload{};
  StateTypes state_types{};  // number formats of gradients, gathered weights and optimizer state

  int num_ranks() const { return tp * pp * dp * cp; }
  // Micro-batches per replica and step.
  int num_micro_batches() const { return global_batch / (dp * micro_batch); }
  bool operator==(const Degrees&) const = default;
};

// A request for degrees: fields in the same order (plan/degree_fields.hpp lists both). Fields that
// are not given are derived (plan/complete.hpp).
struct DegreesRequest {
  std::optional<int> tp{}, pp{}, dp{}, cp{}, ep{}, expert_tp{}, interleave{};
  std::optional<int> micro_batch{}, global_batch{};
  std::optional<int> seq{};  // tokens per sample: changes the model; not a field of Degrees
  std::optional<Recompute> recompute{};
  std::optional<int> recompute_blocks{};
  std::optional<int> zero{}, zero_group{};
  std::optional<bool> sequence_parallel{}, tensor_overlap{}, data_overlap{};
  std::optional<cluster::Precision> precision{};
  std::optional<Schedule> schedule{};
  std::optional<ContextKind> context{};
  std::optional<TableSplit> table_split{};
  std::optional<Offload> offload{};
  std::optional<StateTypes> state_types{};
};

}  // namespace nereus::plan
