#include "simulate/network/fold.hpp"

#include <bit>

namespace nereus::simulate {

namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

int period_by_shifts(const Dimension& d) {
  const int leaf = d.below_switch();
  if (leaf == d.size) return 1;  // one switch, or none
  if (d.kind != DimensionKind::kDragonfly) return leaf;
  return d.num_groups() > 1 ? leaf * d.group : d.size;
}

int period_by_bits(const Dimension& d) {
  if (d.kind == DimensionKind::kRing) return d.size == 2 ? 1 : d.size;
  const int leaf = d.below_switch();
  if (leaf == d.size) return 1;
  const bool halves = std::has_single_bit(static_cast<unsigned>(leaf));
  return d.kind != DimensionKind::kDragonfly && halves ? leaf : d.size;
}

}  // namespace

Fold::Fold(const Network& network) : network_(&network), bits_(network.dimensions().size(), false) {
  for (const Dimension& d : network.dimensions()) period_.push_back(d.size);
}

Fold Fold::none(const Network& network) {
  Fold fold(network);
  fold.num_played_ = network.num_ranks();
  return fold;
}

Fold Fold::of(const Network& network, const Program& program) {
  Fold fold(network);
  const std::size_t count = network.dimensions().size();
  std::vector<bool> shifts(count), bits(count), pairs(count);
  for (const Exchange& e : program) {
    if (e.pattern == Exchange::Pattern::kShift) shifts[at(e.dimension)] = true;
    if (e.pattern == Exchange::Pattern::kXor) bits[at(e.dimension)] = true;
    if (e.pattern == Exchange::Pattern::kPairs) pairs[at(e.dimension)] = true;
  }
  for (std::size_t d = 0; d < count; ++d) {
    const Dimension& dimension = network.dimensions()[d];
    if (!pairs[d] && !(shifts[d] && bits[d]))
      fold.period_[d] = bits[d] ? period_by_bits(dimension) : period_by_shifts(dimension);
    fold.bits_[d] = bits[d];
    fold.num_played_ *= fold.period_[d];
  }
  return fold;
}

int Fold::number_of(int rank) const {
  int number = 0, stride = 1;
  for (std::size_t d = 0; d < period_.size(); ++d) {
    number += network_->coordinate(rank, static_cast<int>(d)) % period_[d] * stride;
    stride *= period_[d];
  }
  return number;
}

int Fold::rank_of(int number) const {
  int rank = 0;
  for (std::size_t d = 0; d < period_.size(); ++d) {
    rank = network_->moved(rank, static_cast<int>(d), number % period_[d]);
    number /= period_[d];
  }
  return rank;
}

// Links that are identified by their destination (full connections, links between groups) are
// counted relative to their source.
int Fold::link_of(int link) const {
  Network::LinkPlace place = network_->place_of(link);
  const auto d = at(place.dimension);
  const Dimension& dimension = network_->dimensions()[d];
  const int from = network_->coordinate(place.owner, place.dimension);
  if (period_[d] < dimension.size && dimension.kind == DimensionKind::kFullyConnected) {
    const int n = dimension.size;
    place.index = bits_[d] ? place.index ^ from : (place.index - from + n) % n;
  }
  if (period_[d] < dimension.size && network_->class_of(place) == LinkClass::kGlobal) {
    const int groups = dimension.num_groups(), per_group = dimension.leaf * dimension.group;
    const int first = network_->first_global(dimension);
    place.index = first + (place.index - first - from / per_group + groups) % groups;
  }
  place.owner = rank_of(number_of(place.owner));
  return network_->link_at(place);
}

}  // namespace nereus::simulate
