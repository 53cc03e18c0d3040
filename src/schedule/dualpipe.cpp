// DualPipe (DeepSeek-AI 2024): two streams of micro-batches from both ends of the pipeline. A rank
// holds stage i for one stream and p - 1 - i for the other, and in the steady state runs the
// forward pass of one together with the backward pass of the other. There are eight phases, for the
// rank that is the h-th from its end: forward ahead; forward of both; backward of the second, with
// weight gradients at once; pairs; backward of the second and a pair; backward of both, the later
// half without weight gradients; weight gradients and backward of the first; weight gradients.
#include <algorithm>
#include <array>
#include <deque>

#include "schedule/order.hpp"

namespace nereus::schedule {

namespace {

class Rank {
 public:
  Rank(const PipelineSize& size, int rank, std::vector<PipelineOp>& out)
      : out_(out), half_(size.micro_batches / 2), second_half_(rank >= size.depth / 2) {
    stages_ = {rank, size.depth - 1 - rank};
  }

  // `stream` 0 is the one that starts at this rank's end.
  void forward(int stream) { add(Pass::kForward, stream, forward_); }
  void backward(int stream) { add(Pass::kBackward, stream, backward_); }
  void input(int stream) {
    add(Pass::kInput, stream, backward_);
    late_.push_back(out_.back());
  }
  void weight() {
    PipelineOp op = late_.front();
    late_.pop_front();
    op.pass = Pass::kWeight;
    out_.push_back(op);
  }
  void both(int forward_stream, int backward_stream) {
    forward(forward_stream);
    out_.back().with_next = true;
    backward(backward_stream);
  }

 private:
  void add(Pass pass, int stream, std::array<int, 2>& done) {
    const auto own = static_cast<std::size_t>(second_half_ ? 1 - stream : stream);
    out_.push_back({pass, stages_[own], static_cast<int>(own) * half_ + done[own]++});
  }

  std::vector<PipelineOp>& out_;
  int half_;
  bool second_half_;
  std::array<int, 2> stages_{};
  std::array<int, 2> forward_{};
  std::array<int, 2> backward_{};
  std::deque<PipelineOp> late_;
};

}  // namespace

Order dualpipe_order(const PipelineSize& size) {
  Order order(static_cast<std::size_t>(size.depth));
  const int p = size.depth;
  const int pairs = p / 2;
  for (int i = 0; i < p; ++i) {
    Rank rank(size, i, order[i]);
    const int h = std::min(i, p - 1 - i);
    const int rest = pairs - h - 1;
    for (int n = 0; n < 2 * rest; ++n) rank.forward(0);
    for (int n = 0; n <= h; ++n) {
      rank.forward(0);
      rank.forward(1);
    }
    for (int n = 0; n < rest; ++n) {
      rank.input(1);
      rank.weight();
      rank.forward(1);
    }
    for (int n = 0; n < size.micro_batches / 2 - p + h + 1; ++n) {
      // The innermost ranks have nothing to run the first one with.
      if (n == 0 && h == pairs - 1) {
        rank.forward(0);
        rank.backward(1);
      } else {
        rank.both(0, 1);
      }
      rank.both(1, 0);
    }
    for (int n = 0; n < rest; ++n) {
      rank.backward(1);
      rank.both(1, 0);
    }
    bool late = false;
    for (int n = 0; n <= h; ++n) {
      const auto back = [&](int stream) { late ? rank.input(stream) : rank.backward(stream); };
      if (n == (h + 1) / 2 && h % 2 == 1) late = true;
      back(1);
      if (n == (h + 1) / 2 && h % 2 == 0) late = true;
      back(0);
    }
    for (int n = 0; n < rest; ++n) {
      rank.weight();
      rank.input(0);
    }
    for (int n = 0; n <= h; ++n) rank.weight();
  }
  return order;
}

}  // namespace nereus::schedule
