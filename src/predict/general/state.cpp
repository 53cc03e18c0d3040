#include "predict/general/state.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "predict/general/layout.hpp"

namespace nereus::cost::general {

using plan::LayerRun;
using plan::RankRange;
using plan::Replicas;
using plan::StateKind;
using plan::StateShare;

namespace {

constexpr double kWhole = 1 - 1e-12;

// Ascending ranks; as a range if they form one.
struct Ranks {
  std::vector<int> list;
  std::optional<RankRange> range;

  explicit Ranks(std::vector<int> ranks) : list(std::move(ranks)) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    if (list.empty()) return;
    const int stride = list.size() > 1 ? list[1] - list[0] : 1;
    for (std::size_t i = 2; i < list.size(); ++i)
      if (list[i] - list[i - 1] != stride) return;
    range = RankRange{list.front(), static_cast<int>(list.size()), stride};
  }
};

// All ranks that compute the first tensor slice.
Ranks computing_ranks(const LayerRun& run) {
  std::vector<int> ranks;
  for (const Replicas& r : run.replicas)
    for (int team = 0; team < r.count; ++team)
      for (int c = 0; c < r.cp; ++c) ranks.push_back(rank_at(r, team, c, 0));
  return Ranks(std::move(ranks));
}

bool same_ranks(const RankRange& a, const RankRange& b) {
  return a.first == b.first && a.count == b.count && (a.count == 1 || a.stride == b.stride);
}

// Equal pieces on ranks [i], [i + pieces], ... of an ascending list that `at` reads.
template <class WireOf>
StateGroup equal_pieces(int pieces, const Wires& wires, WireOf wire_of) {
  StateGroup group;
  group.divided = pieces > 1;
  group.inner = wire_of(pieces, 1);
  group.outer = wire_of(0, pieces);
  group.division = {pieces, 1.0 / pieces, wires[group.inner], wires[group.outer]};
  return group;
}

class Reader {
 public:
  Reader(const LayerRun& run, const Ranks& computing, Wires& wires)
      : run_(run), computing_(computing), wires_(wires) {}

  SliceState read(bool experts) {
    SliceState slice;
    slice.weights = group_of(StateKind::kWeights, experts);
    const StateGroup gradients = group_of(StateKind::kGradients, experts);
    const StateGroup optimizer = group_of(StateKind::kOptimizer, experts);
    slice.gradients_divided = gradients.divided;
    slice.reduce = slice.weights.divided ? slice.weights
                   : optimizer.divided   ? optimizer
                   : gradients.divided   ? gradients
                                         : slice.weights;
    return slice;
  }

 private:
  // Shares of the first slice, in the cut of the run's teams if there are any.
  std::vector<const StateShare*> shares_of(StateKind kind, bool experts) const {
    std::vector<const StateShare*> shares;
    int cut = 0;
    for (const StateShare& share : run_.state) {
      const bool counts = share.kind == kind && share.experts == experts && !share.peer_copy &&
                          share.first_slice == 0 && share.begin < share.end;
      if (!counts) continue;
      const int wanted = experts ? share.cut : run_.replicas.front().tp;
      if (cut == 0 || (cut != wanted && share.cut == wanted)) {
        cut = share.cut;
        shares.clear();
      }
      if (share.cut == cut) shares.push_back(&share);
    }
    return shares;
  }

  StateGroup group_of(StateKind kind, bool experts) {
    const std::vector<const StateShare*> shares = shares_of(kind, experts);
    if (shares.empty()) return equal_pieces(1, wires_, [&](int, int) { return wires_.none(); });
    const StateShare& first = *shares.front();
    const bool alike = std::all_of(shares.begin(), shares.end(), [&](const StateShare* share) {
      return share->pieces == first.pieces && share->ranks == first.ranks;
    });
    if (alike && first.ranks.size() == 1) {
      const RankRange range = first.ranks.front();
      if (experts || (computing_.range && same_ranks(*computing_.range, range)))
        return equal_pieces(first.pieces, wires_, [&](int count, int step) {
          const int n = count > 0 ? count : range.count / step;
          return wires_.of(RankRange{range.first, n, range.stride * std::max(1, step)});
        });
    }
    return group_of_list(shares, experts);
  }

  StateGroup group_of_list(const std::vector<const StateShare*>& shares, bool experts) {
    std::vector<std::pair<int, double>> held;  // rank, share of the slice
    for (const StateShare* share : shares) {
      const double part = static_cast<double>(share->end - share->begin) /
                          static_cast<double>(plan::kStateUnits) / share->pieces;
      for (const RankRange& range : share->ranks)
        for (int i = 0; i < range.count; ++i)
          held.emplace_back(range.first + i * range.stride, part);
    }
    if (!experts)
      for (const int rank : computing_.list) held.emplace_back(rank, 0);
    std::sort(held.begin(), held.end());
    std::vector<int> ranks;
    double largest = 0;
    double least = 1;
    for (std::size_t i = 0; i < held.size();) {
      const int rank = held[i].first;
      double part = 0;
      for (; i < held.size() && held[i].first == rank; ++i) part += held[i].second;
      ranks.push_back(rank);
      largest = std::max(largest, part);
      const bool computes =
          experts || std::binary_search(computing_.list.begin(), computing_.list.end(), rank);
      if (computes) least = std::min(least, part);
    }
    const int size = static_cast<int>(ranks.size());
    const int pieces = static_cast<int>(std::lround(1 / largest));
    if (least >= kWhole) return list_pieces(ranks, 1);
    const bool equal = largest - least <= 1e-12 && std::abs(largest * pieces - 1) <= 1e-9;
    if (equal && size % pieces == 0) return list_pieces(ranks, pieces);
    StateGroup group;
    group.divided = true;
    group.inner = wires_.of(ranks);
    group.outer = wires_.none();
    group.division = {size, largest, wires_[group.inner], wires_[group.outer]};
    return group;
  }

  StateGroup list_pieces(const std::vector<int>& ranks, int pieces) {
    return equal_pieces(pieces, wires_, [&](int count, int step) {
      std::vector<int> some;
      const std::size_t end = count > 0 ? static_cast<std::size_t>(count) : ranks.size();
      for (std::size_t i = 0; i < end; i += static_cast<std::size_t>(std::max(1, step)))
        some.push_back(ranks[i]);
      return wires_.of(some);
    });
  }

  const LayerRun& run_;
  const Ranks& computing_;
  Wires& wires_;
};

bool same_layout(const LayerRun& a, const LayerRun& b) {
  const auto same_ranks_of = [](const Replicas& x, const Replicas& y) {
    return x.count == y.count && x.first == y.first && x.team_stride == y.team_stride &&
           x.cp == y.cp && x.context_stride == y.context_stride && x.tp == y.tp;
  };
  return a.state == b.state && std::equal(a.replicas.begin(), a.replicas.end(), b.replicas.begin(),
                                          b.replicas.end(), same_ranks_of);
}

}  // namespace

std::vector<RunState> read_state(const plan::Placement& placement, Wires& wires) {
  std::vector<RunState> states;
  for (std::size_t i = 0; i < placement.runs.size(); ++i) {
    const LayerRun& run = placement.runs[i];
    if (i > 0 && same_layout(placement.runs[i - 1], run)) {
      states.push_back(states.back());
      continue;
    }
    const Ranks computing = computing_ranks(run);
    Reader reader(run, computing, wires);
    const bool beyond =
        std::any_of(run.state.begin(), run.state.end(), [](const StateShare& share) {
          return share.kind == StateKind::kWeights && share.tier != plan::Tier::kDevice;
        });
    states.push_back({reader.read(false), reader.read(true), beyond});
  }
  return states;
}

Sharing sharing_of(const std::vector<RunState>& states) {
  Sharing most = Sharing::kCopies;
  for (const RunState& state : states)
    for (const SliceState* slice : {&state.dense, &state.experts}) {
      if (slice->weights.divided) return Sharing::kWeights;
      if (slice->reduce.divided) most = Sharing::kOptimizer;
    }
  return most;
}

}  // namespace nereus::cost::general
