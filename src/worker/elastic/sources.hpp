// Decides which rank sends which part of the state to which, when ranks continue with another plan.
// Does not use libtorch.
//
// Every rank lists what it holds (all from the same step) and what it needs. From all these lists,
// each rank computes the same sources. The source of an element that a rank needs is the rank
// itself if it holds the element, or else another holder. The preferred holder depends on the part
// and the rank, so that replicas share the work.
//
// Copies of a part are equal to the bit, because reductions give the same bits on every rank. So
// the lists contain checksums: a copy that differs from most others is not trusted; of two copies
// that differ, neither is trusted. If the two layers of a tied weight are computed on different
// ranks, both layers have a copy of the weight. The gradients of the two copies are summed in
// different orders, so the copies may differ in the last bit. So all ranks take a tensor from only
// one of the two layers: the layer of the needed part, or else the first layer that has the
// complete tensor.
//
//   std::vector<Holding> everyone = ..;
//   Sources sources = find_sources(holds, needs);
//   for (const Move& move : sources.moves) ...       // ordered by layer
//   sources.missing;                                 // parts that no rank has
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
  std::uint64_t checksum = 0;  // of its bytes; 0 if the part is needed
  bool operator==(const PartName&) const = default;
};
using PartNames = std::vector<PartName>;  // of one rank

PartNames names_of(const std::vector<checkpoint::Part>& parts, bool with_checksums);
// One line per part.
std::string to_text(const PartNames& names);
PartNames parse_names(std::string_view text);

// Part `held` of rank `from` provides these elements of part `needed` of rank `to`.
struct Move {
  int from = 0;
  int to = 0;
  std::size_t held = 0;
  std::size_t needed = 0;
  int layer = 0;  // of the needed part
  std::vector<checkpoint::SharedRun> runs{};
  std::int64_t elements() const;
};

// Rank, and index in the list of what it holds.
using Distrusted = std::set<std::pair<int, std::size_t>>;

struct Sources {
  std::vector<Move> moves{};  // by layer
  std::vector<std::string> missing{};
};

// Copies that differ from the other copies of the same part.
Distrusted odd_copies(const std::vector<PartNames>& holds);

// Finds sources only for the parts needs[rank][place] whose (rank, place) is in `wanted`; nullptr:
// for all.
using Wanted = std::set<std::pair<int, std::size_t>>;
Sources find_sources(const std::vector<PartNames>& holds, const std::vector<PartNames>& needs,
                     const Distrusted& distrusted = {}, const Wanted* wanted = nullptr);

}  // namespace nereus::worker
