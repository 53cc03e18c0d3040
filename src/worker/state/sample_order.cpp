#include "worker/state/sample_order.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "base/error.hpp"

namespace nereus::worker {

namespace {

using plan::Placement;
using plan::Replicas;
using schedule::Pass;

// A micro-batch of one run on one team, by the rank of its first slice.
struct Piece {
  int stage = 0;
  int team = 0;
  int number = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::vector<std::size_t> before{};  // pieces of the stage before, and after, that share samples
  std::vector<std::size_t> after{};
  bool forward_begun = false, forward_done = false, backward_begun = false, backward_done = false;
};

struct Team {
  std::vector<std::size_t> pieces{};  // by stage, then in their order
  std::int64_t until = 0;
  int running = -1;
  bool forward = false;
  std::map<int, std::int64_t> held{};  // samples by stage
  std::vector<schedule::PipelineOp> order{};
};

std::vector<Piece> pieces_of(const Placement& placement) {
  std::vector<Piece> pieces;
  std::vector<std::size_t> begin_of_stage;
  for (std::size_t stage = 0; stage < placement.runs.size(); ++stage) {
    begin_of_stage.push_back(pieces.size());
    for (const Replicas& r : placement.runs[stage].replicas)
      for (int team = 0; team < r.count; ++team)
        for (int m = 0; m < r.num_micro_batches; ++m)
          pieces.push_back({static_cast<int>(stage), r.first + team * r.team_stride, m,
                            r.first_sample_of(team, m), r.samples_in(m)});
    if (stage == 0) continue;
    // Sorted by samples, so that both lists can be walked together.
    const auto by_first = [&](std::size_t a, std::size_t b) {
      return pieces[a].first < pieces[b].first;
    };
    std::vector<std::size_t> old, now;
    for (std::size_t i = begin_of_stage[stage - 1]; i < begin_of_stage[stage]; ++i)
      old.push_back(i);
    for (std::size_t i = begin_of_stage[stage]; i < pieces.size(); ++i) now.push_back(i);
    std::sort(old.begin(), old.end(), by_first);
    std::sort(now.begin(), now.end(), by_first);
    for (std::size_t i = 0, j = 0; i < old.size() && j < now.size();) {
      Piece &a = pieces[old[i]], &b = pieces[now[j]];
      if (a.first < b.first + b.count && b.first < a.first + a.count) {
        a.after.push_back(now[j]);
        b.before.push_back(old[i]);
      }
      (a.first + a.count <= b.first + b.count ? i : j) += 1;
    }
  }
  return pieces;
}

class Play {
 public:
  explicit Play(const Placement& placement)
      : placement_(&placement), pieces_(pieces_of(placement)) {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      teams_[pieces_[i].team].pieces.push_back(i);
      largest_ = std::max(largest_, pieces_[i].count);
    }
    left_ = 2 * pieces_.size();
  }

  std::map<int, Team> run() {
    while (left_ > 0) {
      bool running = false;
      for (auto& [rank, team] : teams_) {
        if (team.running < 0) start(team);
        running |= team.running >= 0;
      }
      if (!running) force();
      advance();
    }
    return std::move(teams_);
  }

 private:
  bool can_go_forward(const Piece& piece) const {
    return !piece.forward_begun &&
           std::all_of(piece.before.begin(), piece.before.end(),
                       [&](std::size_t i) { return pieces_[i].forward_done; });
  }
  bool can_go_back(const Piece& piece) const {
    return piece.forward_done && !piece.backward_begun &&
           std::all_of(piece.after.begin(), piece.after.end(),
                       [&](std::size_t i) { return pieces_[i].backward_done; });
  }
  bool has_room(const Team& team, const Piece& piece) const {
    if (placement_->schedule == plan::Schedule::kGpipe) return true;
    const auto at = team.held.find(piece.stage);
    const std::int64_t held = at == team.held.end() ? 0 : at->second;
    const auto stages_left =
        static_cast<std::int64_t>(placement_->runs.size()) - static_cast<std::int64_t>(piece.stage);
    return held == 0 || held + piece.count <= largest_ * stages_left;
  }

  void start(Team& team) {
    int back = -1, on = -1;
    for (const std::size_t i : team.pieces) {
      const Piece& piece = pieces_[i];
      if (can_go_back(piece) && (back < 0 || piece.first < pieces_[back].first))
        back = static_cast<int>(i);
      const bool later = on < 0 || piece.stage > pieces_[on].stage;
      if (later && can_go_forward(piece) && has_room(team, piece)) on = static_cast<int>(i);
    }
    if (back >= 0 || on >= 0) begin(team, back >= 0 ? back : on, back < 0);
  }

  // Nobody has room: the earliest samples go on all the same.
  void force() {
    int best = -1;
    for (std::size_t i = 0; i < pieces_.size(); ++i)
      if (can_go_forward(pieces_[i]) && (best < 0 || pieces_[i].first < pieces_[best].first))
        best = static_cast<int>(i);
    NEREUS_CHECK(best >= 0, "samples pass every stage");
    begin(teams_.at(pieces_[best].team), best, true);
  }

  void begin(Team& team, int which, bool forward) {
    Piece& piece = pieces_[which];
    const plan::LayerRun& run = placement_->runs[piece.stage];
    (forward ? piece.forward_begun : piece.backward_begun) = true;
    if (forward) team.held[piece.stage] += piece.count;
    team.running = which;
    team.forward = forward;
    team.until = now_ + piece.count * run.num_layers * (forward ? 1 : 2);
    team.order.push_back({forward ? Pass::kForward : Pass::kBackward, piece.stage, piece.number});
  }

  void advance() {
    std::int64_t next = std::numeric_limits<std::int64_t>::max();
    for (const auto& [rank, team] : teams_)
      if (team.running >= 0) next = std::min(next, team.until);
    now_ = next;
    for (auto& [rank, team] : teams_) {
      if (team.running < 0 || team.until > now_) continue;
      Piece& piece = pieces_[team.running];
      (team.forward ? piece.forward_done : piece.backward_done) = true;
      if (!team.forward) team.held[piece.stage] -= piece.count;
      team.running = -1;
      --left_;
    }
  }

  const Placement* placement_;
  std::vector<Piece> pieces_;
  std::map<int, Team> teams_;
  std::int64_t largest_ = 0;
  std::int64_t now_ = 0;
  std::size_t left_ = 0;
};

}  // namespace

bool meets_whole(const Placement& placement) {
  const auto alike = [](const Replicas& a, const Replicas& b) {
    return a.count == b.count && a.micro_batch == b.micro_batch &&
           a.num_micro_batches == b.num_micro_batches &&
           a.samples_per_team() == b.samples_per_team() && a.first_sample == b.first_sample &&
           a.team_step() == b.team_step() && a.micro_batch_step() == b.micro_batch_step();
  };
  const auto& first = placement.runs.front().replicas;
  for (const plan::LayerRun& run : placement.runs)
    if (!std::equal(first.begin(), first.end(), run.replicas.begin(), run.replicas.end(), alike))
      return false;
  if (placement.schedule == plan::Schedule::kDualPipe) return true;  // its ranks are in two lanes
  // A rank is in one lane: the same team of every run that it computes.
  std::map<int, std::pair<std::size_t, int>> team_of;
  for (const plan::LayerRun& run : placement.runs)
    for (std::size_t i = 0; i < run.replicas.size(); ++i)
      for (int team = 0; team < run.replicas[i].count; ++team) {
        const int rank = run.replicas[i].first + team * run.replicas[i].team_stride;
        const std::pair<std::size_t, int> lane{i, team};
        if (team_of.try_emplace(rank, lane).first->second != lane) return false;
      }
  return true;
}

std::vector<schedule::PipelineOp> sample_order(const Placement& placement, int rank) {
  int lead = -1;  // the first slice of its team
  for (const plan::LayerRun& run : placement.runs)
    for (const Replicas& r : run.replicas)
      for (int team = 0; team < r.count; ++team)
        for (int slice = 0; slice < r.tp; ++slice)
          if (lead < 0 && r.first + team * r.team_stride + slice * r.tensor_stride == rank)
            lead = r.first + team * r.team_stride;
  NEREUS_CHECK(lead >= 0, "the rank computes");
  std::map<int, Team> teams = Play(placement).run();
  return std::move(teams.at(lead).order);
}

}  // namespace nereus::worker
