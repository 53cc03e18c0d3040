// The collectives that are simulated, and their names in tables.
//
//   parse_collective("All-Reduce");   // also all-reduce, allreduce, all_reduce
#pragma once

#include <optional>
#include <string_view>

namespace nereus::simulate {

enum class Collective { kAllReduce, kReduceScatter, kAllGather, kAllToAll };

std::string_view to_string(Collective collective);
std::optional<Collective> parse_collective(std::string_view text);

}  // namespace nereus::simulate
