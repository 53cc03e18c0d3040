#include "simulate/step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "cost/pipeline_time.hpp"
#include "simulate/network/network_play.hpp"
#include "simulate/pipeline/varuna.hpp"

namespace nereus::simulate {

using plan::Schedule;

namespace {

// One lane with its own player; made once, played for every team.
class LanePlayer {
 public:
  LanePlayer(const SimulatedLaneOrder& own, bool opportunistic) : own_(own) {
    if (opportunistic)
      varuna_.emplace(own.size, RecomputeStart::kEarly, PullAhead::kWithinPeak);
    else
      player_.emplace(own.order, own.size);
  }
  const PlayedPipeline& play(const Draws* draws) {
    if (!varuna_) return player_->play(own_.times, draws);
    const PlayedVaruna& run = varuna_->play(own_.times, draws);
    order_ = &run.order;
    return run.played;
  }
  // The order of the last run, if it is decided at run time; else null.
  const Order* order() const { return order_; }

 private:
  const SimulatedLaneOrder& own_;
  std::optional<PipelinePlayer> player_;
  std::optional<VarunaPlayer> varuna_;
  const Order* order_ = nullptr;
};

class Simulation {
 public:
  Simulation(const cost::StepWork& work, const StepOptions& options)
      : work_(work), options_(options), jitter_(options.jitter) {
    varies_ = jitter_.compute.kind != Distribution::Kind::kNone ||
              jitter_.link.kind != Distribution::Kind::kNone;
    check_passes();
    int first = 0;
    for (const cost::LaneWork& lane : work.lanes) {
      orders_.push_back(lane_order(work, lane, options.order));
      first_team_.push_back(first);
      first += lane.num_teams();
    }
    if (work.layers) play_layers_first();
    opportunistic_ = work.schedule == Schedule::kVaruna && work.depth > 1 && !options.order;
    staggered_ = work.depth > 1 && cost::splits_backward(work.schedule);
    place_slow_ranks();
    check_seconds();
  }

  SimulatedStep run() {
    SimulatedStep out;
    out.steps.resize(static_cast<std::size_t>(options_.num_steps));
    std::vector<std::int64_t> events(out.steps.size());
    std::vector<std::int64_t> represented(out.steps.size());
    parallel_for(out.steps.size(), [&](std::size_t step) {
      std::vector<SimulatedTeam> teams = play(step, step == 0);
      Picoseconds meet = 0;
      Picoseconds takes = 0;
      for (const SimulatedTeam& team : teams) {
        meet = std::max(meet, team.end);
        takes = std::max(takes, team.takes);
        events[step] += team.played.events;
        represented[step] +=
            team.played.events * team.count * work_.lanes[team.lane].ranks_per_team;
      }
      const Picoseconds closing = picoseconds(work_.closing);
      out.steps[step] = static_cast<double>(takes + closing) * 1e-12;
      if (step > 0) return;
      out.meet = meet;
      out.end = meet + closing;
      out.teams = std::move(teams);
    });
    out.step = out.steps.front();
    for (std::size_t step = 0; step < events.size(); ++step) {
      out.events += events[step];
      out.events_represented += represented[step];
    }
    out.staggered = staggered_;
    out.lanes = std::move(orders_);
    if (layers_) {
      out.events += layers_->events;
      for (std::size_t c = 0; c < layers_->classes.size(); ++c)
        out.events_represented += 2 * static_cast<std::int64_t>(layers_->classes[c].held.size() *
                                                                work_.layers->classes[c].size());
      out.layers = std::move(layers_);
    }
    return out;
  }

 private:
  // The passes of the lane that represents all lanes take the time of the simulated layers.
  void play_layers_first() {
    NEREUS_CHECK(orders_.size() == 1 && work_.depth == 1, "layers are those of one stage");
    layers_ = play_layers(*work_.layers);
    StageTimes& times = orders_.front().times.stages.front();
    times.forward = layers_->forward;
    times.recompute = 0;
    times.weight = 0;
    times.input = layers_->end - layers_->forward;
  }

  // Every pass is held in memory, its order too.
  void check_passes() const {
    constexpr double kMostPasses = 5e7;
    double passes = 0;
    for (const cost::LaneWork& lane : work_.lanes)
      passes += 2.0 * lane.num_micro_batches * static_cast<double>(lane.passes.size()) *
                (varies_ && !lane.joint ? lane.num_teams() : 1);
    if (passes > kMostPasses)
      throw_input_error("simulate.too-large",
                        fmt::format("{:.3g} passes are too many; at most {:g} are simulated",
                                    passes, kMostPasses),
                        {}, "a smaller global batch or larger micro-batches");
  }

  // Times are 64 bits of picoseconds: a hundred days.
  void check_seconds() const {
    constexpr double kMostSeconds = 2e6;
    double factor = 1 + 9 * (jitter_.compute.relative + jitter_.link.relative);
    for (const Distribution* d : {&jitter_.compute, &jitter_.link}) {
      // No draw is beyond 9 deviations; of a log-normal sum, the largest draw counts, not all of
      // them.
      factor *= std::exp(std::min(9.0, 4 + d->sigma) * d->sigma);
      double most = 1;
      for (const double measured : d->factors) most = std::max(most, measured);
      factor *= most;
    }
    double slowest = 1;
    for (const SlowRank& slow : jitter_.slow) slowest = std::max(slowest, slow.factor);
    factor *= slowest;
    for (const cost::LaneWork& lane : work_.lanes) {
      const double m = lane.num_micro_batches;
      double seconds = work_.closing + lane.closing;
      for (std::size_t v = 0; v < lane.passes.size(); ++v)
        seconds += m * (lane.passes[v].total() + 2 * lane.send[v] + 9 * jitter_.compute.seconds +
                        18 * jitter_.link.seconds) +
                   work_.reduce[v];
      if (!(seconds * factor <= kMostSeconds))
        throw_input_error("simulate.too-long",
                          fmt::format("its passes and messages one after the other may take "
                                      "{:.3g} s; steps of at most {:g} s are simulated",
                                      seconds * factor, kMostSeconds),
                          {}, "faster links, or less jitter");
    }
  }

  // The slow ranks of the plan as lanes of the draws: team t, pipeline rank r is t depth + r.
  void place_slow_ranks() {
    std::vector<SlowRank> placed;
    ErrorList errors;
    for (const SlowRank& slow : options_.jitter.slow) {
      if (std::count_if(options_.jitter.slow.begin(), options_.jitter.slow.end(),
                        [&](const SlowRank& other) { return other.rank == slow.rank; }) > 1) {
        errors.add("simulate.slow-rank", fmt::format("rank {} has two slowdown factors", slow.rank),
                   {}, "one factor per rank");
        break;
      }
      const std::size_t before = placed.size();
      for (std::size_t l = 0; l < work_.lanes.size(); ++l) {
        const cost::LaneWork& lane = work_.lanes[l];
        for (int t = 0; t < lane.num_teams(); ++t)
          for (int r = 0; r < work_.depth; ++r) {
            const int first = lane.ranks[t][r];
            if (slow.rank < first || slow.rank >= first + lane.ranks_per_team) continue;
            placed.push_back({(first_team_[l] + t) * work_.depth + r, slow.factor});
          }
      }
      if (placed.size() == before)
        errors.add("simulate.slow-rank", fmt::format("the plan does not use rank {}", slow.rank));
    }
    errors.throw_if_any();
    jitter_.slow = std::move(placed);
  }

  bool is_slow(int team) const {
    return std::any_of(jitter_.slow.begin(), jitter_.slow.end(),
                       [&](const SlowRank& slow) { return slow.rank / work_.depth == team; });
  }

  std::vector<SimulatedTeam> play(std::size_t step, bool keep) const {
    std::vector<SimulatedTeam> teams;
    for (std::size_t l = 0; l < work_.lanes.size(); ++l) {
      const cost::LaneWork& lane = work_.lanes[l];
      LanePlayer player(orders_[l], opportunistic_ && !orders_[l].greedy);
      int alike = -1;  // the team that stands for all that draw nothing
      for (int t = 0; t < (lane.joint ? 1 : lane.num_teams()); ++t) {
        const int number = first_team_[l] + t;
        const bool alone = varies_ || lane.joint || is_slow(number);
        if (!alone && alike >= 0) {
          ++teams[alike].count;
          continue;
        }
        const Draws draws(jitter_, step, static_cast<std::uint64_t>(number), number * work_.depth,
                          lane.joint ? lane.num_teams() : 1, work_.depth);
        const bool draws_any = varies_ || !jitter_.slow.empty();
        SimulatedTeam team;
        team.lane = static_cast<int>(l);
        team.team = t;
        if (lane.joint) team.count = lane.num_teams();
        const Draws* drawn = draws_any ? &draws : nullptr;
        const PlayedPipeline& played = player.play(drawn);
        const Order* own = player.order();
        finish(team, own != nullptr ? *own : orders_[l].order, played);
        team.played.events = played.events;
        if (keep) {
          team.played = played;
          if (own != nullptr) team.order = *own;
        }
        if (!alone) alike = static_cast<int>(teams.size());
        teams.push_back(std::move(team));
      }
    }
    return teams;
  }

  void finish(SimulatedTeam& team, const Order& order, const PlayedPipeline& played) const {
    const Picoseconds host = picoseconds(work_.lanes[team.lane].closing);
    for (std::size_t r = 0; r < order.size(); ++r) {
      const PlayedRank& rank = played.ranks[r];
      team.reduced.push_back(reduce(order[r], rank, work_));
      const std::vector<Reduced>& reduced = team.reduced.back();
      const Picoseconds end =
          reduced.empty() ? rank.end() : std::max(rank.end(), reduced.back().end);
      team.end = std::max(team.end, end + host);
      team.takes = std::max(team.takes, end + host - (staggered_ ? rank.start() : 0));
    }
  }

  const cost::StepWork& work_;
  const StepOptions& options_;
  Jitter jitter_;
  std::vector<SimulatedLaneOrder> orders_;
  std::vector<int> first_team_;  // of each lane, counted over all
  bool varies_ = false;
  bool opportunistic_ = false;
  bool staggered_ = false;
  std::optional<PlayedGraph> layers_;
};

}  // namespace

const SimulatedTeam& SimulatedStep::slowest() const {
  return *std::max_element(
      teams.begin(), teams.end(),
      [](const SimulatedTeam& a, const SimulatedTeam& b) { return a.takes < b.takes; });
}

SimulatedStep simulate_step(const cost::StepWork& work, const StepOptions& options) {
  return Simulation(work, options).run();
}

}  // namespace nereus::simulate
