// ZB-V (Qi 2024): two chunks per rank in a V, so that the first rank also holds the last stage.
// RankOfV i of p runs 2 (p - i) - 1 forward passes through its first chunk; i times forward through
// both; p - i times forward and backward through the second; then both in turn; and at the end
// weight gradients while it would wait.
#include <array>

#include "schedule/order.hpp"

namespace nereus::schedule {

namespace {

// The passes that one rank has run on its two chunks.
class RankOfV {
 public:
  RankOfV(const PipelineSize& size, int rank, std::vector<PipelineOp>& out)
      : out_(out), stages_{rank, 2 * size.depth - 1 - rank} {}

  void run(Pass pass, int chunk) { out_.push_back({pass, stages_[chunk], done(pass, chunk)++}); }
  int& done(Pass pass, int chunk) {
    return done_[static_cast<std::size_t>(pass)][static_cast<std::size_t>(chunk)];
  }

 private:
  std::vector<PipelineOp>& out_;
  std::array<int, 2> stages_;
  std::array<std::array<int, 2>, 4> done_{};
};

}  // namespace

Order zb_v_order(const PipelineSize& size) {
  Order order(static_cast<std::size_t>(size.depth));
  const int p = size.depth;
  const int m = size.micro_batches;
  for (int i = 0; i < p; ++i) {
    RankOfV rank(size, i, order[i]);
    const auto back = [&](int chunk) {
      rank.run(Pass::kInput, chunk);
      rank.run(Pass::kWeight, chunk);
    };
    for (int n = 0; n < 2 * (p - i) - 1; ++n) rank.run(Pass::kForward, 0);
    for (int n = 0; n < i; ++n) {
      rank.run(Pass::kForward, 1);
      rank.run(Pass::kForward, 0);
    }
    for (int n = 0; n < p - i; ++n) {
      rank.run(Pass::kForward, 1);
      back(1);
    }
    while (rank.done(Pass::kForward, 1) < rank.done(Pass::kForward, 0) ||
           rank.done(Pass::kForward, 0) < m) {
      if (rank.done(Pass::kForward, 0) < m) rank.run(Pass::kForward, 0);
      back(0);
      rank.run(Pass::kForward, 1);
      back(1);
    }
    for (int n = 0; n < i; ++n) {
      rank.run(Pass::kInput, 0);
      rank.run(Pass::kInput, 1);
    }
    for (int n = 0; n < p - i; ++n) back(0);
    for (const int chunk : {1, 0})
      while (rank.done(Pass::kWeight, chunk) < m) rank.run(Pass::kWeight, chunk);
  }
  return order;
}

}  // namespace nereus::schedule
