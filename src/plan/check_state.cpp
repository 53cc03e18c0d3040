// Checker, second half: shares of state.
#include <fmt/format.h>

#include "base/format.hpp"
#include "plan/check_internal.hpp"

namespace nereus::plan::checking {

namespace {

std::string name_of(const Facts& facts, std::size_t run, const StateShare& share) {
  // Named by its content: one entry of a plan's file may mean several shares, so an index would
  // mislead.
  return fmt::format("{}, state ({}{}, units {} .. {})", run_name(facts.placement, run),
                     share.experts ? "expert " : "", to_string(share.kind), share.begin, share.end);
}

double percent(std::int64_t unit) {
  return 100.0 * static_cast<double>(unit) / static_cast<double>(kStateUnits);
}

bool covers_slice(const StateShare& share, int slice) {
  return slice >= share.first_slice && slice - share.first_slice < share.num_slices;
}

// Whether a rank of the range, shifted, sits in a node of the group.
bool meets(const RankRange& range, std::int64_t shift, const GroupRanks& group) {
  const std::int64_t first = range.first + shift;
  const std::int64_t below = std::max<std::int64_t>(0, group.begin - first);
  const std::int64_t steps = (below + range.stride - 1) / range.stride;
  return steps < range.count && first + steps * range.stride < group.end;
}

}  // namespace

StateChecker::StateChecker(const Facts& facts, Report& report)
    : facts_(facts),
      report_(report),
      head_(static_cast<std::size_t>(facts.num_ranks), -1),
      stamp_(static_cast<std::size_t>(facts.num_ranks), 0) {}

void StateChecker::check_run(std::size_t index) {
  bool sound = true;
  for (const StateShare& share : facts_.placement.runs[index].state)
    sound &= check_numbers(index, share) && check_cut(index, share) && check_tier(index, share);
  if (!sound) return;
  for (bool experts : {false, true})
    for (StateKind kind : {StateKind::kWeights, StateKind::kGradients, StateKind::kOptimizer})
      check_kind(index, kind, experts);
}

// Work that a sound plan never needs much of. Once it is spent nothing more is proved.
bool StateChecker::spend(std::int64_t work) {
  budget_ -= std::min(work, budget_);
  if (budget_ > 0) return true;
  if (!exhausted_)
    report_.add("plan.too-large", "the shares of state are too many to be checked",
                "write equal shares as strided ranges and pieces");
  exhausted_ = true;
  return false;
}

bool StateChecker::check_numbers(std::size_t index, const StateShare& share) {
  const auto complain = [&](const std::string& what) {
    report_.add("plan.state", fmt::format("{}: {}", name_of(facts_, index, share), what));
    return false;
  };
  if (share.cut < 1 || share.first_slice < 0 || share.num_slices < 1 ||
      plus(share.first_slice, share.num_slices) > share.cut)
    return complain(fmt::format("slices {} .. {} of cut = {}", share.first_slice,
                                std::int64_t{share.first_slice} + share.num_slices - 1, share.cut));
  if (share.begin < 0 || share.begin > share.end || share.end > kStateUnits)
    return complain(fmt::format("units {} .. {} of 0 .. {}", share.begin, share.end, kStateUnits));
  std::int64_t ranks = 0;
  for (const RankRange& range : share.ranks) {
    if (range.count < 1 || range.stride < 1)
      return complain(fmt::format("ranks with count = {}, stride = {}; both are at least 1",
                                  range.count, range.stride));
    const Reach reach = Reach(range.first)
                            .stride(range.stride, range.count)
                            .stride(share.slice_stride, share.num_slices);
    if (!reach.within(0, facts_.num_ranks)) {
      report_.add("plan.rank",
                  fmt::format("{} uses ranks {} .. {}, but the cluster has ranks 0 .. {}",
                              name_of(facts_, index, share), reach.least, reach.greatest,
                              facts_.num_ranks - 1));
      return false;
    }
    ranks = plus(ranks, range.count);
  }
  if (share.pieces < 1 || ranks < 1 || ranks % share.pieces != 0)
    return complain(fmt::format("pieces = {} for {}; the ranks must be a multiple of the pieces",
                                share.pieces, counted(ranks, "rank")));
  return true;
}

bool StateChecker::check_cut(std::size_t index, const StateShare& share) {
  const LayerRun& run = facts_.placement.runs[index];
  if (share.experts && facts_.layers.has_tables(run)) {
    if (share.cut == run.ep && share.pieces == 1) return true;
    report_.add("plan.cut",
                fmt::format("{}: cut = {}, pieces = {} of tables that ep = {} ranks share",
                            name_of(facts_, index, share), share.cut, share.pieces, run.ep),
                "cut = ep, and every slice whole");
    return false;
  }
  if (share.experts) {
    const int experts = facts_.model.transformer ? facts_.model.transformer->experts : 0;
    const std::int64_t groups = share.cut / std::max(1, run.expert_tp);
    const bool whole = share.cut % times(std::max(1, run.ep), std::max(1, run.expert_tp)) == 0 &&
                       groups > 0 && experts % groups == 0;
    if (LayerFacts::count(facts_.layers.experts, run) > 0 && whole) return true;
    report_.add("plan.cut",
                fmt::format("{}: cut = {} for ep x expert_tp = {} x {} and {}",
                            name_of(facts_, index, share), share.cut, run.ep, run.expert_tp,
                            counted(LayerFacts::count(facts_.layers.experts, run) > 0 ? experts : 0,
                                    "expert")),
                "a multiple of ep x expert_tp with equally many experts in each");
    return false;
  }
  const bool used = std::any_of(run.replicas.begin(), run.replicas.end(),
                                [&](const Replicas& r) { return r.tp == share.cut; });
  if (used || share.cut == 1) return true;
  report_.add("plan.cut",
              fmt::format("{}: cut = {}, but no replica of the run has that tp",
                          name_of(facts_, index, share), share.cut),
              "cut = tp of a replica, or 1 for the unsplit layer");
  return false;
}

bool StateChecker::check_tier(std::size_t index, const StateShare& share) {
  if (share.tier == Tier::kDevice) return true;
  const std::string_view tier = to_string(share.tier);
  for (const GroupRanks& group : facts_.groups) {
    if (group.node->tier(tier) != nullptr) continue;
    for (const RankRange& range : share.ranks) {
      if (!spend(share.num_slices)) return false;
      for (int s = 0; s < share.num_slices; ++s) {
        if (!meets(range, std::int64_t{s} * share.slice_stride, group)) continue;
        report_.add("plan.tier", fmt::format("{}: node {} (ranks {} .. {}) has no memory tier {}",
                                             name_of(facts_, index, share), group.node->name,
                                             group.begin, group.end - 1, tier));
        return false;
      }
    }
  }
  return true;
}

void StateChecker::check_kind(std::size_t index, StateKind kind, bool experts) {
  const LayerRun& run = facts_.placement.runs[index];
  const auto& sums = experts ? facts_.layers.experts : facts_.layers.dense;
  const bool needed = LayerFacts::count(sums, run) > 0;
  std::vector<int> cuts;
  for (const StateShare& share : run.state)
    if (share.kind == kind && share.experts == experts) cuts.push_back(share.cut);
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  if (needed && cuts.empty())
    report_.add("plan.state-missing",
                fmt::format("{}: no rank stores the {}{}", run_name(facts_.placement, index),
                            experts ? "expert " : "", to_string(kind)));
  // Teams compute on their own slices, so the weights must exist in every cut that is computed.
  if (needed && !experts && kind == StateKind::kWeights && !cuts.empty())
    for (const Replicas& r : run.replicas)
      if (!std::binary_search(cuts.begin(), cuts.end(), r.tp)) {
        report_.add("plan.cut", fmt::format("{}: a replica has tp = {}, but no weights are split "
                                            "by this tp",
                                            run_name(facts_.placement, index), r.tp));
        break;
      }
  for (int cut : cuts) {
    Shares shares;
    for (const StateShare& share : run.state)
      if (share.kind == kind && share.experts == experts && share.cut == cut)
        shares.push_back(&share);
    std::stable_sort(shares.begin(), shares.end(),
                     [](const StateShare* a, const StateShare* b) { return a->begin < b->begin; });
    check_complete(index, shares);
    check_overlaps(index, shares);
  }
}

// Every unit of every slice. Slices between two neighbouring bounds are covered alike.
void StateChecker::check_complete(std::size_t index, const Shares& shares) {
  std::vector<int> bounds = {0};
  for (const StateShare* share : shares) {
    bounds.push_back(share->first_slice);
    if (share->first_slice + share->num_slices < share->cut)
      bounds.push_back(share->first_slice + share->num_slices);
  }
  std::sort(bounds.begin(), bounds.end());
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  if (!spend(times(static_cast<std::int64_t>(bounds.size()),
                   static_cast<std::int64_t>(shares.size()))))
    return;
  for (int slice : bounds) {
    std::int64_t held = 0, next = kStateUnits;
    for (const StateShare* share : shares) {
      if (share->peer_copy || share->begin == share->end || !covers_slice(*share, slice)) continue;
      if (share->begin > held) {
        next = share->begin;
        break;
      }
      held = std::max(held, share->end);
    }
    if (held == kStateUnits) continue;
    const StateShare& any = *shares.front();
    report_.add("plan.state-missing",
                fmt::format("{}: no rank stores units {} .. {} of {} ({:.6g} %) of the {}{} of "
                            "slice {} of {}",
                            run_name(facts_.placement, index), held, next, kStateUnits,
                            percent(next - held), any.experts ? "expert " : "", to_string(any.kind),
                            slice, any.cut));
    return;
  }
}

// Only shares whose units meet those of another can put a part twice on a rank.
void StateChecker::check_overlaps(std::size_t index, const Shares& shares) {
  Shares together;
  std::int64_t end = -1;
  const auto flush = [&] {
    const bool suspect =
        together.size() > 1 || (together.size() == 1 && together.front()->ranks.size() > 1);
    const bool sound = !suspect || check_holdings(index, together);
    together.clear();
    return sound;
  };
  for (const StateShare* share : shares) {
    if (share->begin == share->end) continue;
    if (share->begin >= end && !flush()) return;
    together.push_back(share);
    end = std::max(end, share->end);
  }
  flush();
}

bool StateChecker::check_holdings(std::size_t index, const Shares& suspects) {
  ++generation_;
  holdings_.clear();
  for (const StateShare* share : suspects) {
    const auto boundary = [&](int piece) {
      using Wide = unsigned __int128;
      const auto units = static_cast<Wide>(share->end - share->begin);
      return share->begin + static_cast<std::int64_t>(units * static_cast<Wide>(piece) /
                                                      static_cast<Wide>(share->pieces));
    };
    int position = 0;
    for (const RankRange& range : share->ranks) {
      if (!spend(times(range.count, share->num_slices))) return false;
      for (int i = 0; i < range.count; ++i, ++position) {
        const int piece = position % share->pieces;
        const std::int64_t begin = boundary(piece);
        const std::int64_t end = boundary(piece + 1);
        for (int s = 0; s < share->num_slices; ++s) {
          const int rank = range.first + i * range.stride + s * share->slice_stride;
          const int slice = share->first_slice + s;
          const auto r = static_cast<std::size_t>(rank);
          if (stamp_[r] != generation_) {
            stamp_[r] = generation_;
            head_[r] = -1;
          }
          for (int h = head_[r]; h >= 0; h = holdings_[h].next) {
            if (!spend(1)) return false;
            const Holding& other = holdings_[h];
            if (other.slice != slice || other.begin >= end || begin >= other.end) continue;
            report_.add("plan.state-twice",
                        fmt::format("{}: rank {} stores {:.6g} .. {:.6g} % of slice {} twice",
                                    name_of(facts_, index, *share), rank,
                                    percent(std::max(begin, other.begin)),
                                    percent(std::min(end, other.end)), slice));
            return false;
          }
          holdings_.push_back({slice, head_[r], begin, end});
          head_[r] = static_cast<int>(holdings_.size()) - 1;
        }
      }
    }
  }
  return true;
}

}  // namespace nereus::plan::checking
