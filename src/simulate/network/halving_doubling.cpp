#include <bit>

#include "simulate/network/algorithms.hpp"

namespace nereus::simulate {

namespace {

// Adds steps one after the other; if not all ranks take part in a step, the next one waits for all
// of them.
class Steps {
 public:
  Steps(Program& program, const Phase& phase, std::vector<int> after)
      : program_(program),
        phase_(phase),
        p_(std::bit_floor(static_cast<unsigned>(phase.size))),
        whole_(p_ == static_cast<unsigned>(phase.size)),
        after_(std::move(after)) {}

  void exchange_bits(unsigned bits, double bytes) {
    Exchange e;
    if (whole_) {
      e.pattern = Exchange::Pattern::kXor;
      e.amount = static_cast<int>(bits);
    } else {
      e.pattern = Exchange::Pattern::kPairs;
      for (unsigned i = 0; i < p_; ++i)
        e.pairs.emplace_back(static_cast<int>(i), static_cast<int>(i ^ bits));
    }
    push(std::move(e), bytes);
  }
  void shift(int amount, double bytes) {
    Exchange e;
    e.amount = amount;
    push(std::move(e), bytes);
  }
  // The ranks beyond the power of two send to their partners, or receive back.
  void fold(double bytes) { between(bytes, true); }
  void unfold(double bytes) { between(bytes, false); }

  unsigned power() const { return p_; }
  std::vector<int> last() const { return after_; }

 private:
  void between(double bytes, bool down) {
    if (whole_) return;
    Exchange e;
    e.pattern = Exchange::Pattern::kPairs;
    for (int i = static_cast<int>(p_); i < phase_.size; ++i) {
      const int partner = i - static_cast<int>(p_);
      e.pairs.push_back(down ? std::pair{i, partner} : std::pair{partner, i});
    }
    push(std::move(e), bytes);
  }
  void push(Exchange e, double bytes) {
    e.dimension = phase_.dimension;
    e.bytes = bytes;
    e.after = after_;
    const int number = static_cast<int>(program_.size());
    if (whole_)
      after_ = {number};
    else
      after_.push_back(number);  // a rank that is not in the last step waits for its own last one
    program_.push_back(std::move(e));
  }

  Program& program_;
  const Phase& phase_;
  unsigned p_;
  bool whole_;
  std::vector<int> after_;
};

}  // namespace

std::vector<int> add_halving_doubling(Program& program, const Phase& phase, Collective collective,
                                      double bytes, std::vector<int> after) {
  const int n = phase.size;
  Steps steps(program, phase, std::move(after));
  const double piece = bytes / n;
  if (collective == Collective::kAllToAll) {
    // Bruck: step i carries the blocks whose distance has bit i set.
    for (int bit = 1; bit < n; bit <<= 1) {
      int blocks = 0;
      for (int distance = 1; distance < n; ++distance) blocks += (distance & bit) != 0;
      steps.shift(bit, blocks * piece);
    }
    return steps.last();
  }
  const bool reduces = collective != Collective::kAllGather;
  const bool gathers = collective != Collective::kReduceScatter;
  const unsigned p = steps.power();
  steps.fold(reduces ? bytes : piece);
  if (reduces)
    for (unsigned bits = p / 2; bits > 0; bits /= 2) steps.exchange_bits(bits, bytes * bits / p);
  if (gathers)
    for (unsigned bits = 1; bits < p; bits *= 2) steps.exchange_bits(bits, bytes * bits / p);
  steps.unfold(gathers ? bytes : piece);
  return steps.last();
}

}  // namespace nereus::simulate
