#include "app/simulate/rank_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nereus::app {

namespace {

using simulate::Picoseconds;
using simulate::SharedRanks;
using simulate::SimulatedStep;
using timeline::SliceKind;

double seconds_of(Picoseconds ps) { return static_cast<double>(ps) * 1e-12; }

// One group's step from its start to its end: what is not busy is idle.
class Filler {
 public:
  Filler(SharedRanks& own, std::vector<timeline::Slice>& busy, int lane)
      : own_(own), busy_(busy), lane_(lane) {}

  void busy(Picoseconds start, Picoseconds end, SliceKind kind) {
    idle_until(start);
    if (end > start) busy_.push_back({lane_, start, end, kind, -1, 0});
    free_ = std::max(free_, end);
  }
  void busy_until(Picoseconds end, SliceKind kind) { busy(free_, std::max(free_, end), kind); }
  void idle_until(Picoseconds end) {
    if (end > free_) own_.idle.push_back({seconds_of(free_), seconds_of(end)});
    free_ = std::max(free_, end);
  }

 private:
  SharedRanks& own_;
  std::vector<timeline::Slice>& busy_;
  int lane_;
  Picoseconds free_ = 0;
};

class Grouper {
 public:
  explicit Grouper(const SimulatedStep& step) : step_(step) {}

  RankGroups group(const cost::StepWork& work) {
    if (step_.layers)
      for (std::size_t c = 0; c < work.layers->classes.size(); ++c) add_class(work, c);
    else
      for (const simulate::SimulatedTeam& team : step_.teams) add_team(work, team);
    return std::move(out_);
  }

 private:
  Filler add_group(std::vector<int> ranks) {
    const auto lane = static_cast<int>(out_.shared.size());
    out_.shared.emplace_back().ranks = std::move(ranks);
    return {out_.shared.back(), out_.busy.emplace_back(), lane};
  }
  void add_class(const cost::StepWork& work, std::size_t index) {
    Filler own = add_group(work.layers->classes[index]);
    for (const simulate::HeldSpan& span : step_.layers->classes[index].held)
      own.busy(span.start, span.end,
               span.layer < 0  ? SliceKind::kSend
               : span.backward ? SliceKind::kBackward
                               : SliceKind::kForward);
    // Then gradients are summed and weights updated, by all.
    own.idle_until(step_.layers->end);
    own.busy_until(step_.end, SliceKind::kReduce);
  }
  void add_team(const cost::StepWork& work, const simulate::SimulatedTeam& team) {
    const cost::LaneWork& lane = work.lanes[team.lane];
    const simulate::Order& order = step_.order_of(team);
    for (std::size_t r = 0; r < team.played.ranks.size(); ++r) {
      std::vector<int> ranks;
      // A team represents the following teams that draw no durations.
      for (int t = 0; t < team.count; ++t)
        for (int i = 0; i < lane.ranks_per_team; ++i)
          ranks.push_back(lane.ranks[lane.joint ? t : team.team + t][r] + i);
      Filler own = add_group(std::move(ranks));
      for (std::size_t i = 0; i < order[r].size(); ++i) {
        const simulate::PlayedOp& op = team.played.ranks[r].ops[i];
        // Gradients of inputs and of weights and what is computed anew are all of the way back.
        own.busy(op.start, op.end,
                 order[r][i].pass == simulate::Pass::kForward ? SliceKind::kForward
                                                              : SliceKind::kBackward);
      }
      // The exposed part of all-reduces.
      if (!team.reduced[r].empty()) own.busy_until(team.reduced[r].back().end, SliceKind::kReduce);
      // Then the host ends the step, on all ranks: not an idle span.
      own.idle_until(step_.meet - std::llround(lane.closing * 1e12));
      own.busy_until(step_.end, SliceKind::kReduce);
    }
  }

  const SimulatedStep& step_;
  RankGroups out_;
};

// The free memory, and the ranks that the plan does not use.
void add_memory(std::vector<SharedRanks>& groups,
                const std::vector<cost::GeneralPredictor::RankBytes>& bytes) {
  std::vector<bool> used(bytes.size());
  for (SharedRanks& own : groups) {
    std::erase_if(own.ranks, [&](int rank) { return rank >= static_cast<int>(bytes.size()); });
    own.room = bytes.empty() ? 0 : bytes.front().capacity;
    for (const int rank : own.ranks) {
      used[rank] = true;
      const auto& rank_bytes = bytes[rank];
      own.room = std::min(own.room, rank_bytes.capacity - rank_bytes.total);
    }
  }
  SharedRanks free;
  free.used = false;
  for (std::size_t rank = 0; rank < bytes.size(); ++rank)
    if (!used[rank]) free.ranks.push_back(static_cast<int>(rank));
  if (free.ranks.empty()) return;
  free.room = bytes[free.ranks.front()].capacity;
  groups.push_back(std::move(free));
}

}  // namespace

timeline::Timeline RankGroups::drawing(const SimulatedStep& step, int num_devices) const {
  timeline::Timeline out;
  for (std::size_t g = 0; g < shared.size(); ++g) {
    out.lanes.push_back(
        {static_cast<int>(g),
         fmt::format("{} x rank {}", shared[g].ranks.size(), shared[g].ranks.front()), "step"});
    out.slices.insert(out.slices.end(), busy[g].begin(), busy[g].end());
  }
  out.marks.push_back(timeline::step_mark(0, 0, step.end));
  out.num_ranks = num_devices;
  return out;
}

RankGroups rank_groups(const cost::StepWork& work, const SimulatedStep& step,
                       const std::vector<cost::GeneralPredictor::RankBytes>& bytes) {
  RankGroups out = Grouper(step).group(work);
  add_memory(out.shared, bytes);
  out.busy.resize(out.shared.size());
  return out;
}

}  // namespace nereus::app
