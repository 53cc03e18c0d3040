#include "simulate/step_statistics.hpp"

#include <algorithm>

#include "simulate/pipeline/passes.hpp"

namespace nereus::simulate {

namespace {

double seconds(Picoseconds ps) { return static_cast<double>(ps) * 1e-12; }

double waited(const PlayedRank& rank, WaitCause cause) {
  return seconds(rank.waited[static_cast<std::size_t>(cause)]);
}

RankStatistics rank_of(const cost::StepWork& work, const SimulatedStep& step,
                       const SimulatedTeam& team, std::size_t r) {
  const cost::LaneWork& lane = work.lanes[team.lane];
  const PlayedRank& played = team.played.ranks[r];
  RankStatistics out;
  out.pipeline_rank = static_cast<int>(r);
  out.first_rank = lane.ranks[team.team][r];
  double collectives = 0;
  for (std::size_t i = 0; i < played.ops.size(); ++i) {
    const PipelineOp& op = step.order_of(team)[r][i];
    const auto v = static_cast<std::size_t>(op.stage);
    const double takes = seconds(played.ops[i].end - played.ops[i].start);
    const bool reduces = op.pass == Pass::kBackward && op.micro_batch + 1 < lane.num_micro_batches;
    const double reduced = reduces ? std::min(takes, lane.reduced_each) : 0;
    collectives += reduced;
    if (v < lane.communication.size()) collectives += lane.communication[v] * (takes - reduced);
  }
  out.collectives = collectives;
  out.compute = seconds(played.busy) - collectives;
  out.send = waited(played, WaitCause::kOwnSend);
  out.wait_input =
      waited(played, WaitCause::kInput) - (step.staggered ? seconds(played.start()) : 0);
  out.wait_gradient = waited(played, WaitCause::kGradient);
  const std::vector<Reduced>& reduced = team.reduced[r];
  if (!reduced.empty())
    out.reduction = seconds(std::max<Picoseconds>(0, reduced.back().end - played.end()));
  out.closing = work.closing + lane.closing;
  out.wait_others =
      std::max(0.0, step.step - (out.compute + out.collectives + out.send + out.wait_input +
                                 out.wait_gradient + out.reduction + out.closing));
  out.peak = played.peak;
  out.peak_bytes = work.held[r] + work.activation[r] * played.peak;
  return out;
}

// For a step that was simulated layer by layer: a row per class of ranks instead.
std::vector<RankStatistics> classes_of(const cost::StepWork& work, const SimulatedStep& step,
                                       const RankStatistics& one) {
  if (!step.layers) return {one};
  std::vector<RankStatistics> out;
  // Drawn durations may have made passes longer.
  const double passes = one.compute + one.collectives;
  const double factor = step.layers->end > 0 ? passes / seconds(step.layers->end) : 1;
  for (std::size_t c = 0; c < step.layers->classes.size(); ++c) {
    const PlayedClass& played = step.layers->classes[c];
    RankStatistics own = one;
    own.first_rank = work.layers->classes[c].front();
    own.compute = factor * seconds(played.computes);
    own.collectives = factor * seconds(played.moves);
    own.wait_input = factor * seconds(played.idle_forward);
    own.wait_gradient = factor * seconds(played.idle_backward);
    out.push_back(own);
  }
  return out;
}

PathPart part_of(Pass pass) {
  switch (pass) {
    case Pass::kForward:
      return PathPart::kForward;
    case Pass::kRecompute:
      return PathPart::kRecompute;
    case Pass::kWeight:
      return PathPart::kWeight;
    default:
      return PathPart::kBackward;
  }
}

// Walks back from the last pass of the slowest rank.
class Walker {
 public:
  Walker(const cost::StepWork& work, const SimulatedStep& step)
      : work_(work), step_(step), team_(step.slowest()), order_(step.order_of(team_)) {
    const SimulatedLaneOrder& lane = step.lanes[team_.lane];
    program_ = compile(order_, lane.size);
    at_.resize(order_.size());
    for (std::size_t i = 0; i < program_.ops.size(); ++i) at_[program_.ops[i].rank].push_back(i);
    index_.resize(program_.ops.size());
    for (const std::vector<std::size_t>& rank : at_)
      for (std::size_t k = 0; k < rank.size(); ++k) index_[rank[k]] = k;
  }

  CriticalPath walk() {
    path_.by_rank.resize(order_.size());
    std::size_t rank = start();
    std::size_t k = order_[rank].size();
    while (k-- > 0) {
      const PlayedOp& op = played(rank, k);
      add(part_of(order_[rank][k].pass), op.end - op.start);
      path_.by_rank[rank] += seconds(op.end - op.start);
      ++path_.num_passes;
      const Picoseconds before = k > 0 ? played(rank, k - 1).end : 0;
      if (k > 0 && op.start <= before) continue;  // its rank was busy
      const int needs = program_.ops[at_[rank][k]].needs;
      const bool from_other = needs >= 0 && program_.ops[needs].rank != static_cast<int>(rank);
      if (from_other && arrives(static_cast<std::size_t>(needs)) <= op.start &&
          arrives(static_cast<std::size_t>(needs)) > before) {
        const auto sender = static_cast<std::size_t>(needs);
        const auto from = static_cast<std::size_t>(program_.ops[sender].rank);
        add(PathPart::kMessage, op.start - played(from, index_[sender]).end);
        ++path_.num_messages;
        rank = from;
        k = index_[sender] + 1;
        continue;
      }
      if (op.start > before) {  // held up by its own message
        add(PathPart::kMessage, op.start - before);
        ++path_.num_messages;
      }
    }
    return path_;
  }

 private:
  const PlayedOp& played(std::size_t rank, std::size_t k) const {
    return team_.played.ranks[rank].ops[k];
  }
  // At the latest when its sender ended; the message itself is what remains.
  Picoseconds arrives(std::size_t op) const {
    return played(static_cast<std::size_t>(program_.ops[op].rank), index_[op]).end;
  }
  void add(PathPart part, Picoseconds ps) {
    path_.seconds[static_cast<std::size_t>(part)] += seconds(ps);
  }

  // The slowest rank, including what follows its last pass.
  std::size_t start() {
    std::size_t longest = 0;
    Picoseconds most = -1;
    Picoseconds tail = 0;
    for (std::size_t r = 0; r < order_.size(); ++r) {
      const PlayedRank& rank = team_.played.ranks[r];
      const std::vector<Reduced>& reduced = team_.reduced[r];
      const Picoseconds after =
          reduced.empty() ? 0 : std::max<Picoseconds>(0, reduced.back().end - rank.end());
      const Picoseconds takes = rank.end() + after - (step_.staggered ? rank.start() : 0);
      if (takes <= most) continue;
      most = takes;
      longest = r;
      tail = after;
    }
    add(PathPart::kReduction, tail);
    path_.seconds[static_cast<std::size_t>(PathPart::kClosing)] +=
        work_.closing + work_.lanes[static_cast<std::size_t>(team_.lane)].closing;
    return longest;
  }

  const cost::StepWork& work_;
  const SimulatedStep& step_;
  const SimulatedTeam& team_;
  const Order& order_;
  PassProgram program_;
  std::vector<std::vector<std::size_t>> at_;  // index in the program, by rank and position
  std::vector<std::size_t> index_;            // position on its rank, by index in the program
  CriticalPath path_;
};

}  // namespace

std::string_view to_string(PathPart part) {
  constexpr std::string_view kNames[] = {"forward",  "recompute", "backward", "weight gradients",
                                         "messages", "reduction", "closing"};
  return kNames[static_cast<std::size_t>(part)];
}

StepStatistics statistics_of(const cost::StepWork& work, const SimulatedStep& step) {
  StepStatistics out;
  for (std::size_t t = 0; t < step.teams.size(); ++t) {
    const SimulatedTeam& team = step.teams[t];
    for (std::size_t r = 0; r < team.played.ranks.size(); ++r) {
      const RankStatistics own = rank_of(work, step, team, r);
      const std::vector<RankStatistics> classes = classes_of(work, step, own);
      out.ranks.insert(out.ranks.end(), classes.begin(), classes.end());
      out.ranks.back().team = static_cast<int>(t);
    }
    out.bubble = std::max(out.bubble, seconds(team.played.bubble()));
  }
  out.path = Walker(work, step).walk();
  return out;
}

}  // namespace nereus::simulate
