#include "simulate/step_timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "simulate/pipeline/passes.hpp"

namespace nereus::simulate {

using timeline::Flow;
using timeline::Slice;
using timeline::SliceKind;
using timeline::Stream;
using timeline::Timeline;

namespace {

class Drawer {
 public:
  Drawer(const cost::StepWork& work, const SimulatedStep& step) : work_(work), step_(step) {}

  Timeline draw(int most_teams) {
    const auto teams =
        std::min(step_.teams.size(), static_cast<std::size_t>(std::max(1, most_teams)));
    for (std::size_t t = 0; t < teams; ++t) draw_team(step_.teams[t]);
    sort_lanes();
    out_.marks.push_back(timeline::step_mark(0, 0, step_.end));
    for (const cost::LaneWork& lane : work_.lanes)
      out_.num_ranks += lane.num_teams() * lane.ranks_per_team * work_.depth;
    return std::move(out_);
  }

 private:
  enum LaneOf { kCompute, kForwards, kBackwards, kReduce, kNumLanes };

  int add_lane(int process, const std::string& name, Stream stream, const char* lane) {
    out_.lanes.push_back({process, name, lane, stream});
    return static_cast<int>(out_.lanes.size()) - 1;
  }

  // Sorted by process, as a timeline requires: teams are drawn one after the other.
  void sort_lanes() {
    std::vector<int> order(out_.lanes.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return out_.lanes[a].process < out_.lanes[b].process; });
    std::vector<int> now(order.size());
    std::vector<timeline::Lane> lanes;
    for (std::size_t i = 0; i < order.size(); ++i) {
      now[order[i]] = static_cast<int>(i);
      lanes.push_back(std::move(out_.lanes[order[i]]));
    }
    out_.lanes = std::move(lanes);
    const auto move = [&](int& lane) { lane = now[lane]; };
    for (Slice& slice : out_.slices) move(slice.lane);
    for (Flow& flow : out_.flows) {
      move(flow.from_lane);
      move(flow.to_lane);
    }
  }

  void draw_team(const SimulatedTeam& team) {
    const cost::LaneWork& lane = work_.lanes[team.lane];
    const std::vector<int>& ranks = lane.ranks[team.team];
    const Order& order = step_.order_of(team);
    std::vector<std::array<int, kNumLanes>> lanes(order.size());
    for (std::size_t r = 0; r < order.size(); ++r) {
      const int rank = ranks[r];
      const std::string name =
          lane.ranks_per_team > 1
              ? fmt::format("ranks {}-{}, stage {}", rank, rank + lane.ranks_per_team - 1, r)
              : fmt::format("rank {}, stage {}", rank, r);
      lanes[r][kCompute] = add_lane(rank, name, Stream::kCompute, "passes");
      if (order.size() > 1) {
        lanes[r][kForwards] = add_lane(rank, name, Stream::kSend, "activations out");
        lanes[r][kBackwards] = add_lane(rank, name, Stream::kSend, "gradients out");
      }
      if (!team.reduced[r].empty())
        lanes[r][kReduce] = add_lane(rank, name, Stream::kReduce, "gradient reduction");
      draw_rank(team, r, lanes[r]);
      draw_memory(team, r, rank);
    }
    draw_messages(team, lanes);
  }

  void draw_rank(const SimulatedTeam& team, std::size_t r,
                 const std::array<int, kNumLanes>& lanes) {
    const std::vector<PipelineOp>& order = step_.order_of(team)[r];
    const PlayedRank& played = team.played.ranks[r];
    for (std::size_t i = 0; i < order.size(); ++i)
      if (played.ops[i].end > played.ops[i].start)
        out_.slices.push_back({lanes[kCompute], played.ops[i].start, played.ops[i].end,
                               slice_kind(order[i].pass), order[i].stage, order[i].micro_batch});
    Picoseconds end = played.end();
    for (const Reduced& reduced : team.reduced[r]) {
      if (reduced.end > reduced.start)
        out_.slices.push_back(
            {lanes[kReduce], reduced.start, reduced.end, SliceKind::kReduce, reduced.stage, -1});
      end = std::max(end, reduced.end);
    }
    // What follows all reductions; separate per rank if ranks do not wait for each other.
    const double closing = work_.closing + work_.lanes[team.lane].closing;
    const auto length = static_cast<Picoseconds>(closing * 1e12);
    const Picoseconds start = step_.staggered ? end : std::max(end, step_.end - length);
    if (length > 0)
      out_.slices.push_back(
          {lanes[kCompute], start, start + length, SliceKind::kOptimizer, -1, -1});
  }

  // Bytes held: what stays, and activations from a forward pass to the end of its backward pass.
  void draw_memory(const SimulatedTeam& team, std::size_t r, int process) {
    timeline::Counter counter{process, "memory", "bytes", {}};
    double bytes = work_.held[r];
    counter.samples.push_back({0, bytes});
    const std::vector<PipelineOp>& order = step_.order_of(team)[r];
    for (std::size_t i = 0; i < order.size(); ++i) {
      const PlayedOp& op = team.played.ranks[r].ops[i];
      const bool ends = order[i].pass == Pass::kBackward || order[i].pass == Pass::kWeight;
      if (order[i].pass != Pass::kForward && !ends) continue;
      bytes += ends ? -work_.activation[r] : work_.activation[r];
      const Picoseconds at = ends ? op.end : op.start;
      if (counter.samples.back().time == at)
        counter.samples.back().value = bytes;
      else
        counter.samples.push_back({at, bytes});
    }
    out_.counters.push_back(std::move(counter));
  }

  void draw_messages(const SimulatedTeam& team,
                     const std::vector<std::array<int, kNumLanes>>& lanes) {
    const SimulatedLaneOrder& lane = step_.lanes[team.lane];
    const PassProgram program = compile(step_.order_of(team), lane.size);
    std::vector<std::size_t> next(lanes.size());
    std::vector<std::size_t> position(program.ops.size());
    for (std::size_t i = 0; i < program.ops.size(); ++i) position[i] = next[program.ops[i].rank]++;
    const auto played = [&](std::size_t i) -> const PlayedOp& {
      return team.played.ranks[program.ops[i].rank].ops[position[i]];
    };
    std::vector<std::array<Picoseconds, 2>> wire(lanes.size());
    std::vector<Slice> messages(program.ops.size());
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      const ProgramOp& op = program.ops[i];
      if (op.sends == MessageKind::kNone) continue;
      const bool forward = op.sends == MessageKind::kActivation;
      const auto r = static_cast<std::size_t>(op.rank);
      Picoseconds& free = wire[r][forward ? 0 : 1];
      const Picoseconds start = std::max(free, played(i).end);
      free = start + message_time(lane.times, lane.size, op);
      if (free == start) continue;
      messages[i] = {lanes[r][forward ? kForwards : kBackwards],
                     start,
                     free,
                     SliceKind::kSend,
                     op.op.stage,
                     op.op.micro_batch};
      out_.slices.push_back(messages[i]);
    }
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      const int needs = program.ops[i].needs;
      if (needs < 0) continue;
      const Slice& message = messages[needs];
      const PlayedOp& op = played(i);
      if (message.end == 0 || op.end == op.start || op.start < message.end) continue;
      out_.flows.push_back({message.lane, message.end, lanes[program.ops[i].rank][kCompute],
                            op.start, ++flow_,
                            fmt::format("micro-batch {}", program.ops[i].op.micro_batch)});
    }
  }

  const cost::StepWork& work_;
  const SimulatedStep& step_;
  Timeline out_;
  std::int64_t flow_ = 0;
};

}  // namespace

SliceKind slice_kind(Pass pass) {
  switch (pass) {
    case Pass::kForward:
      return SliceKind::kForward;
    case Pass::kBackward:
      return SliceKind::kBackward;
    case Pass::kInput:
      return SliceKind::kInput;
    case Pass::kWeight:
      return SliceKind::kWeight;
    case Pass::kRecompute:
      return SliceKind::kRecompute;
  }
  return SliceKind::kOther;
}

Timeline to_timeline(const cost::StepWork& work, const SimulatedStep& step, int most_teams) {
  return Drawer(work, step).draw(most_teams);
}

Timeline passes_of(const SimulatedStep& step) {
  Timeline out;
  const SimulatedTeam& team = step.slowest();
  const Order& order = step.order_of(team);
  for (std::size_t r = 0; r < order.size(); ++r) {
    const int lane = static_cast<int>(r);
    out.lanes.push_back({lane, fmt::format("stage {}", r), "compute"});
    for (std::size_t i = 0; i < order[r].size(); ++i) {
      const PlayedOp& op = team.played.ranks[r].ops[i];
      if (op.end > op.start)
        out.slices.push_back({lane, op.start, op.end, slice_kind(order[r][i].pass),
                              order[r][i].stage, order[r][i].micro_batch});
    }
  }
  return out;
}

}  // namespace nereus::simulate
