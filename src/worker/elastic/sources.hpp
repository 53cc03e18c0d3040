// Who sends which part of the state to whom, when ranks go on with another plan. No libtorch here.
//
// Every rank says what it holds (of one and the same step) and what it is to hold; from both lists
// of all ranks each computes the same answer. For every element that a rank needs the source is
// the rank itself, else a holder; whom to ask first goes round with the part and the rank, so that
// replicas share the work.
//
// Copies of one part are equal to the bit, since sums are the same on every rank. So checksums
// travel with the lists: a copy that differs from most others is not trusted; where they are one
// against one, neither is. A tied weight of two layers that are computed apart is a part of each:
// the two are summed in different orders, and may differ in the last bit. So a tensor is taken from
// one layer alone, the needed part's own or else the first of which all is there.
//
//   std::vector<Holding> everyone = ..;
//   Sources sources = find_sources(holds, needs);
//   for (const Move& move : sources.moves) ...       // ordered by layer
//   sources.missing;                                 // parts that nobody has
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "checkpoint/tensor_slice.hpp"
#include "checkpoint/writer.hpp"

namespace nereus::worker {

// A checkpoint::Part without its bytes.
struct PartName {
  std::string tensor{};
  checkpoint::TensorKind kind = checkpoint::TensorKind::kWeight;
  checkpoint::DType dtype = checkpoint::DType::kF32;
  checkpoint::Shape shape{};
  checkpoint::SliceSpec slice{};
  std::int64_t begin = 0;
  std::int64_t end = 0;
  int layer = 0;
  std::uint64_t checksum = 0;  // of its bytes; 0 for what is needed
  bool operator==(const PartName&) const = default;
};
using PartNames = std::vector<PartName>;  // of one rank

PartNames names_of(const std::vector<checkpoint::Part>& parts, bool with_checksums);
// A line a part.
std::string to_text(const PartNames& names);
PartNames parse_names(std::string_view text);

// Part `held` of rank `from` gives these elements of part `needed` of rank `to`.
struct Move {
  int from = 0;
  int to = 0;
  std::size_t held = 0;
  std::size_t needed = 0;
  int layer = 0;  // of what is needed
  std::vector<checkpoint::SharedRun> runs{};
  std::int64_t elements() const;
};

using Distrusted = std::set<std::pair<int, std::size_t>>;  // rank and place among what it holds

struct Sources {
  std::vector<Move> moves{};  // by layer
  std::vector<std::string> missing{};
};

// Copies that differ from others of the same part.
Distrusted odd_copies(const std::vector<PartNames>& holds);

// `needs[rank][place]` where wanted(rank, place), or all.
using Wanted = std::set<std::pair<int, std::size_t>>;
Sources find_sources(const std::vector<PartNames>& holds, const std::vector<PartNames>& needs,
                     const Distrusted& distrusted = {}, const Wanted* wanted = nullptr);

}  // namespace nereus::worker
