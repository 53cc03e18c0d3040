#include "schedule/greedy.hpp"

#include <cstddef>

namespace nereus::schedule {

namespace {

constexpr int kForwardTicks = 1;
constexpr int kBackwardTicks = 2;

class Ticker {
 public:
  Ticker(const std::vector<int>& rank_of_stage, int num_ranks, int micro_batches)
      : micro_batches_(micro_batches),
        stages_(rank_of_stage.size()),
        ranks_(static_cast<std::size_t>(num_ranks)),
        order_(static_cast<std::size_t>(num_ranks)) {
    for (std::size_t s = 0; s < rank_of_stage.size(); ++s)
      ranks_[rank_of_stage[s]].stages.push_back(static_cast<int>(s));
  }

  Order run() {
    while (stages_.front().backward_done < micro_batches_) {
      for (std::size_t r = 0; r < ranks_.size(); ++r)
        if (ranks_[r].until <= now_) start(r);
      ++now_;
      // All ranks see in the next tick what ends in this one.
      for (Rank& rank : ranks_) {
        if (rank.stage < 0 || rank.until > now_) continue;
        Stage& stage = stages_[rank.stage];
        ++(rank.forward ? stage.forward_done : stage.backward_done);
        rank.stage = -1;
      }
    }
    return std::move(order_);
  }

 private:
  struct Stage {
    int forward = 0, backward = 0;  // begun
    int forward_done = 0, backward_done = 0;
  };
  struct Rank {
    std::vector<int> stages;
    int until = 0;
    int stage = -1;  // what it runs
    bool forward = false;
  };

  bool can_go_back(std::size_t s) const {
    const Stage& stage = stages_[s];
    if (stage.backward >= stage.forward_done) return false;
    return s + 1 == stages_.size() || stages_[s + 1].backward_done > stage.backward;
  }
  bool can_go_forward(std::size_t s) const {
    const Stage& stage = stages_[s];
    const int most = static_cast<int>(stages_.size() - s);
    if (stage.forward >= micro_batches_ || stage.forward - stage.backward_done >= most)
      return false;
    return s == 0 || stages_[s - 1].forward_done > stage.forward;
  }

  void start(std::size_t r) {
    Rank& rank = ranks_[r];
    int back = -1, on = -1;
    for (const int s : rank.stages) {
      const auto i = static_cast<std::size_t>(s);
      if (can_go_back(i) && (back < 0 || stages_[i].backward < stages_[back].backward)) back = s;
      if (can_go_forward(i)) on = s;
    }
    const int stage = back >= 0 ? back : on;
    if (stage < 0) return;
    rank.stage = stage;
    rank.forward = back < 0;
    rank.until = now_ + (rank.forward ? kForwardTicks : kBackwardTicks);
    Stage& own = stages_[stage];
    const int micro_batch = rank.forward ? own.forward++ : own.backward++;
    order_[r].push_back({rank.forward ? Pass::kForward : Pass::kBackward, stage, micro_batch});
  }

  int micro_batches_;
  std::vector<Stage> stages_;
  std::vector<Rank> ranks_;
  Order order_;
  int now_ = 0;
};

}  // namespace

Order greedy_order(const std::vector<int>& rank_of_stage, int num_ranks, int micro_batches) {
  return Ticker(rank_of_stage, num_ranks, micro_batches).run();
}

}  // namespace nereus::schedule
