#include "simulate/shared_links.hpp"

#include <algorithm>
#include <map>

#include "cost/data_parallel.hpp"
#include "simulate/network/network_play.hpp"
#include "simulate/pipeline/passes.hpp"

namespace nereus::simulate {

namespace {

constexpr double kFull = 1e12;  // one picosecond of work a picosecond, in "bytes" per second

class Builder {
 public:
  Builder(const cost::StepWork& work, const SimulatedStep& step, bool apart)
      : work_(work), step_(step), apart_(apart) {}

  // Seconds of the step.
  double run(std::int64_t& events) {
    for (const SimulatedTeam& team : step_.teams) add_team(team);
    add_reductions();
    const Played played =
        play(std::vector<double>(static_cast<std::size_t>(num_links_), kFull), all_);
    events += played.events;
    double takes = 0;
    for (std::size_t t = 0; t < teams_.size(); ++t) {
      const SimulatedTeam& team = step_.teams[t];
      for (std::size_t r = 0; r < teams_[t].last.size(); ++r) {
        Picoseconds end = 0;
        for (const int transfer : teams_[t].last[r]) end = std::max(end, played.arrivals[transfer]);
        const Picoseconds begin = step_.staggered ? team.played.ranks[r].start() : 0;
        takes = std::max(takes,
                         static_cast<double>(end - begin) * 1e-12 + work_.lanes[team.lane].closing);
      }
    }
    return takes + work_.closing;
  }

 private:
  // Wires of one rank, by their use; equal numbers mean the same wire.
  enum Use { kCollectives, kMessages, kReduction, kNumUses };
  struct Wires {
    int stream = 0;
    int out[kNumUses] = {};
    int in[kNumUses] = {};
  };
  struct Team {
    std::vector<Wires> wires;            // by pipeline rank
    std::vector<std::vector<int>> ops;   // transfer of each pass, as the order lists them
    std::vector<std::vector<int>> last;  // what ends a rank's step
  };

  Wires wires_of() {
    Wires wires;
    wires.stream = num_links_++;
    const bool outside[kNumUses] = {work_.wires.collectives_outside, work_.wires.messages_outside,
                                    work_.wires.reduction_outside};
    const int inner_out = num_links_++, inner_in = num_links_++;
    const int outer_out = num_links_++, outer_in = num_links_++;
    for (int use = 0; use < kNumUses; ++use) {
      wires.out[use] = apart_ ? num_links_++ : outside[use] ? outer_out : inner_out;
      wires.in[use] = apart_ ? num_links_++ : outside[use] ? outer_in : inner_in;
    }
    return wires;
  }

  int pass_route(const Wires& wires, double collectives) {
    Route route = {{wires.stream, 1}};
    if (collectives > 0) {
      route.push_back({wires.out[kCollectives], collectives});
      route.push_back({wires.in[kCollectives], collectives});
    }
    return all_.add_route(std::move(route), 0);
  }

  void add_team(const SimulatedTeam& team) {
    const Order& order = step_.order_of(team);
    const SimulatedLaneOrder& lane = step_.lanes[team.lane];
    const cost::LaneWork& work = work_.lanes[team.lane];
    const PassProgram program = compile(order, lane.size);
    Team own;
    for (std::size_t r = 0; r < order.size(); ++r) own.wires.push_back(wires_of());
    own.ops.resize(order.size());
    own.last.resize(order.size());
    std::map<std::pair<int, int>, int> routes;          // of passes, by rank and stage
    std::map<std::pair<int, int>, int> message_routes;  // by both ranks
    std::map<std::pair<int, int>, int> last_message;    // by both ranks
    std::vector<int> transfers(program.ops.size(), -1);
    std::vector<int> arrived(program.ops.size(), -1);  // what its output's arrival is
    const auto seconds_of = [&](const ProgramOp& op) {
      const auto v = static_cast<std::size_t>(op.op.stage);
      const bool forward = op.sends == MessageKind::kActivation;
      const std::size_t boundary = forward ? v : v - 1;
      return boundary < work.send.size() ? work.send[boundary] : 0;
    };
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      const ProgramOp& op = program.ops[i];
      const auto r = static_cast<std::size_t>(op.rank);
      const auto v = static_cast<std::size_t>(op.op.stage);
      const auto [at, fresh] = routes.try_emplace({op.rank, op.op.stage}, 0);
      if (fresh)
        at->second =
            pass_route(own.wires[r], v < work.communication.size() ? work.communication[v] : 0);
      const auto length = static_cast<double>(pass_time(lane.times, lane.size, op.op));
      transfers[i] = all_.add(at->second, length);
      if (!own.ops[r].empty()) all_.after_arrival(transfers[i], own.ops[r].back());
      own.ops[r].push_back(transfers[i]);
      // Each pass of a pair waits for what both need.
      const std::size_t first = i > 0 && program.ops[i - 1].op.with_next ? i - 1 : i;
      for (std::size_t j = first; j <= i + (op.op.with_next ? 1 : 0); ++j)
        if (const int needs = program.ops[j].needs; needs >= 0)
          if (const int before = arrived[needs]; before >= 0)
            all_.after_arrival(transfers[i], before);
      arrived[i] = transfers[i];
      if (op.sends == MessageKind::kNone || seconds_of(op) <= 0) continue;
      const int to = receiver_of(program, i);
      if (to < 0) continue;
      const auto [message, new_route] = message_routes.try_emplace({op.rank, to}, 0);
      if (new_route)
        message->second =
            all_.add_route({{own.wires[r].out[kMessages], 1}, {own.wires[to].in[kMessages], 1}}, 0);
      arrived[i] = all_.add(message->second, seconds_of(op) * 1e12);
      all_.after_arrival(arrived[i], transfers[i]);
      // Messages to one rank keep their order.
      int& before = last_message.try_emplace({op.rank, to}, -1).first->second;
      if (before >= 0) all_.after_sent(arrived[i], before);
      before = arrived[i];
    }
    for (std::size_t r = 0; r < order.size(); ++r) own.last[r].push_back(own.ops[r].back());
    teams_.push_back(std::move(own));
  }

  // The rank whose pass needs the output.
  int receiver_of(const PassProgram& program, std::size_t op) {
    if (receivers_of_ != &program) {
      receivers_of_ = &program;
      receivers_.assign(program.ops.size(), -1);
      for (const ProgramOp& other : program.ops)
        if (other.needs >= 0) receivers_[other.needs] = other.rank;
    }
    return receivers_[op];
  }

  // The index of the last backward pass of a virtual stage in its rank's order; -1: none.
  int last_backward(const std::vector<PipelineOp>& order, int stage) const {
    for (std::size_t k = order.size(); k-- > 0;)
      if (order[k].stage == stage && order[k].pass != Pass::kForward &&
          order[k].pass != Pass::kRecompute)
        return static_cast<int>(k);
    return -1;
  }

  void add_reductions() {
    for (int stage = 0; stage < work_.num_stages(); ++stage) {
      const double length = work_.reduce[stage] * 1e12;
      if (length <= 0) continue;
      for (std::size_t r = 0; r < static_cast<std::size_t>(work_.depth); ++r)
        reduce_on(stage, r, length);
    }
  }

  // One flow a rank, all teams' together: it starts when every team is ready.
  void reduce_on(int stage, std::size_t r, double length) {
    std::vector<int> ready, done;
    Route route;
    std::vector<std::size_t> members;
    for (std::size_t t = 0; t < teams_.size(); ++t) {
      const std::vector<PipelineOp>& order = step_.order_of(step_.teams[t])[r];
      const int k = last_backward(order, stage);
      if (k < 0) continue;
      const std::vector<int>& ops = teams_[t].ops[r];
      const int at = work_.reduces_last ? static_cast<int>(ops.size()) - 1 : k - 1;
      if (at >= 0) ready.push_back(ops[at]);
      done.push_back(ops[k]);
      route.push_back({teams_[t].wires[r].out[kReduction], 1});
      route.push_back({teams_[t].wires[r].in[kReduction], 1});
      members.push_back(t);
    }
    if (members.empty()) return;
    const int path = all_.add_route(std::move(route), 0);
    const int most = all_.add(path, (1 - cost::kLastBucket) * length);
    for (const int before : ready) all_.after_arrival(most, before);
    const int rest = all_.add(path, cost::kLastBucket * length);
    all_.after_arrival(rest, most);
    for (const int before : done) all_.after_arrival(rest, before);
    for (const std::size_t t : members) teams_[t].last[r].push_back(rest);
  }

  const cost::StepWork& work_;
  const SimulatedStep& step_;
  bool apart_;
  Transfers all_;
  int num_links_ = 0;
  std::vector<Team> teams_;
  const PassProgram* receivers_of_ = nullptr;
  std::vector<int> receivers_;
};

}  // namespace

SharedLinksStep play_on_shared_links(const cost::StepWork& work, const SimulatedStep& step) {
  SharedLinksStep out;
  out.step = Builder(work, step, false).run(out.events);
  out.apart = Builder(work, step, true).run(out.events);
  return out;
}

}  // namespace nereus::simulate
