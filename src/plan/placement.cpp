#include "plan/placement.hpp"

#include "plan/names.hpp"

namespace nereus::plan {

namespace {

constexpr Names<StateKind, 3> kStateKinds{{{StateKind::kWeights, "weights"},
                                           {StateKind::kGradients, "gradients"},
                                           {StateKind::kOptimizer, "optimizer"}}};
constexpr Names<Gather, 3> kGathers{{{Gather::kPerMicroBatch, "per-micro-batch"},
                                     {Gather::kPerPass, "per-pass"},
                                     {Gather::kPerStep, "per-step"}}};

// Products of units, elements and pieces reach 1e38. Unsigned, because clang's sanitizer needs a
// function for signed products that GCC's runtime does not have.
using Wide = unsigned __int128;

}  // namespace

std::string_view to_string(StateKind kind) { return name_of(kStateKinds, kind); }
std::string_view to_string(Gather gather) { return name_of(kGathers, gather); }
std::optional<StateKind> parse_state_kind(std::string_view text) {
  return value_of(kStateKinds, text);
}
std::optional<Gather> parse_gather(std::string_view text) { return value_of(kGathers, text); }

int num_ranks(const RankSet& ranks) {
  int total = 0;
  for (const RankRange& range : ranks) total += range.count;
  return total;
}

ElementRange elements_of_piece(const StateShare& share, int piece, std::int64_t length) {
  const auto units = static_cast<Wide>(share.end - share.begin);
  // Both ends use one division of the exact fraction, so that the end of a piece is exactly the
  // begin of the next.
  const auto element_at = [&](int boundary) {
    const Wide numerator = static_cast<Wide>(share.begin) * static_cast<Wide>(share.pieces) +
                           units * static_cast<Wide>(boundary);
    return static_cast<std::int64_t>(numerator * static_cast<Wide>(length) /
                                     (Wide{kStateUnits} * static_cast<Wide>(share.pieces)));
  };
  return {element_at(piece), element_at(piece + 1)};
}

std::int64_t unit_of_element(std::int64_t element, std::int64_t length) {
  const auto whole = static_cast<Wide>(length);
  return static_cast<std::int64_t>((static_cast<Wide>(element) * kStateUnits + whole - 1) / whole);
}

}  // namespace nereus::plan
