#include "plan/degrees.hpp"

#include "plan/names.hpp"

namespace nereus::plan {

namespace {

constexpr Names<Recompute, 3> kRecomputes{
    {{Recompute::kNone, "none"}, {Recompute::kSelective, "selective"}, {Recompute::kFull, "full"}}};
constexpr Names<Schedule, 9> kSchedules{{{Schedule::kGpipe, "gpipe"},
                                         {Schedule::k1f1b, "1f1b"},
                                         {Schedule::kInterleaved, "interleaved"},
                                         {Schedule::kLoopedBfs, "looped-bfs"},
                                         {Schedule::kVaruna, "varuna"},
                                         {Schedule::kZbH1, "zb-h1"},
                                         {Schedule::kZbH2, "zb-h2"},
                                         {Schedule::kZbV, "zb-v"},
                                         {Schedule::kDualPipe, "dualpipe"}}};
constexpr Names<ContextKind, 3> kContextKinds{{{ContextKind::kRing, "ring"},
                                               {ContextKind::kZigzag, "zigzag"},
                                               {ContextKind::kAllToAll, "all-to-all"}}};
constexpr Names<Tier, 4> kTiers{{{Tier::kDevice, "device"},
                                 {Tier::kExpanded, "expanded"},
                                 {Tier::kHost, "host"},
                                 {Tier::kNvme, "nvme"}}};

constexpr Names<TableSplit, 4> kTableSplits{{{TableSplit::kTable, "table"},
                                             {TableSplit::kLookups, "lookups"},
                                             {TableSplit::kRow, "row"},
                                             {TableSplit::kColumn, "column"}}};

}  // namespace

std::string_view to_string(Recompute recompute) { return name_of(kRecomputes, recompute); }
std::string_view to_string(Schedule schedule) { return name_of(kSchedules, schedule); }
std::string_view to_string(ContextKind context) { return name_of(kContextKinds, context); }
std::string_view to_string(Tier tier) { return name_of(kTiers, tier); }
std::string_view to_string(TableSplit split) { return name_of(kTableSplits, split); }
std::optional<Recompute> parse_recompute(std::string_view text) {
  return value_of(kRecomputes, text);
}
std::optional<Schedule> parse_schedule(std::string_view text) { return value_of(kSchedules, text); }
std::optional<ContextKind> parse_context(std::string_view text) {
  return value_of(kContextKinds, text);
}
std::optional<Tier> parse_tier(std::string_view text) { return value_of(kTiers, text); }
std::optional<TableSplit> parse_table_split(std::string_view text) {
  return value_of(kTableSplits, text);
}

}  // namespace nereus::plan
