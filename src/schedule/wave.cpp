#include "schedule/wave.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace nereus::schedule {

using plan::Schedule;

bool in_waves(Schedule schedule, const PipelineSize& size) {
  return size.depth > 1 && (schedule == Schedule::k1f1b || schedule == Schedule::kInterleaved);
}

void Wave::start(const PipelineSize& size, const PipelineSeconds& times) {
  size_ = size;
  times_ = times;
  const auto p = static_cast<std::size_t>(size.depth);
  if (room_.size() < 6 * p + 2) room_.resize(6 * p + 2);
  f_ = room_.data() + 1;
  b_ = f_ + p;
  forward_ = b_ + p + 1;
  back_ = forward_ + p;
  before_ = back_ + p;
  std::fill(room_.begin(), room_.end(), 0);
}

double Wave::forward_of(int stage, bool alone) const {
  const StageSeconds& own = times_.stages[static_cast<std::size_t>(stage)];
  if (stage + 1 == size_.num_stages()) return own.forward + times_.ends;
  return own.forward + (alone ? own.send_alone : own.send);
}

double Wave::back_of(int stage, bool alone) const {
  const StageSeconds& own = times_.stages[static_cast<std::size_t>(stage)];
  const double message = stage == 0 ? times_.ends : alone ? own.send_back_alone : own.send_back;
  return own.input + own.weight + message;
}

// The rank has run the stage's last backward pass.
void Wave::finish(int rank, int stage, PipelineClose& close) const {
  const auto s = static_cast<std::size_t>(stage);
  close.last_back[s] = b_[rank] - back_[rank];
  const StageSeconds& own = times_.stages[s];
  if (stage == rank) close.end[s] = close.last_back[s] + own.input + own.weight;
}

void Wave::snapshot() {
  const int p = size_.depth;
  std::copy(f_, f_ + 2 * p, before_);
}

// Whether the round since the snapshot made everything later by the same.
bool Wave::has_come_to_rest(double& round) const {
  constexpr double kRest = 1e-12;
  double least = 1e300;
  double most = 0;
  for (int i = 0; i < 2 * size_.depth; ++i) {
    const double by = f_[i] - before_[i];
    least = std::min(least, by);
    most = std::max(most, by);
  }
  round = most;
  return most - least <= kRest * most;
}

void Wave::move_on(double seconds) {
  for (int i = 0; i < 2 * size_.depth; ++i) f_[i] += seconds;
}

// 1F1B. Rank r has forward pass i at level 2 (i - p + 1) + r, backward pass j at level 2 j - r.
void Wave::play_single(PipelineClose& close) {
  const int p = size_.depth;
  const int m = size_.micro_batches;
  for (int r = 0; r < p; ++r) {
    forward_[r] = forward_of(r, true);
    back_[r] = back_of(r, false);
  }
  constexpr int kChecks = 16;  // levels from one look whether it has come to rest to the next
  const int first_full = 0;    // level with both passes on every rank
  const int last_full = 2 * (m - p);  // 2 (i - p + 1) + r <= .. for i = m - 1 and r = 0
  for (int level = -2 * (p - 1); level <= 2 * (m - 1); ++level) {
    const int parity = level & 1;
    // The last rank of which this is the level of its last backward pass.
    const int done = 2 * (m - 1) - level;
    if (done < p) back_[done] = back_of(done, true);
    if (level >= first_full && level <= last_full) {
      for (int r = parity; r < p; r += 2) {
        const double f = std::max(b_[r], f_[r - 1]) + forward_[r];
        f_[r] = f;
        b_[r] = std::max(f, b_[r + 1]) + back_[r];
      }
    } else {
      for (int r = parity; r < p; r += 2) {
        // Twice the numbers of the passes.
        const int i = level + 2 * (p - 1) - r;
        const int j = level + r;
        if (i >= 0 && i < 2 * m) b_[r] = f_[r] = std::max(b_[r], f_[r - 1]) + forward_[r];
        if (i == 0) forward_[r] = forward_of(r, false);
        if (j >= 0 && j < 2 * m) b_[r] = std::max(b_[r], b_[r + 1]) + back_[r];
      }
    }
    if (done < p) finish(done, done, close);
    if (level < first_full || parity != 0 || level + 2 > last_full) continue;
    const int since = (level - first_full) % kChecks;
    if (since == 0) snapshot();
    double round = 0;
    if (since == 2 && has_come_to_rest(round)) {
      const int rounds = (last_full - level) / 2;
      move_on(rounds * round);
      level += 2 * rounds;
    }
  }
  for (int r = 0; r < p; ++r) {
    const StageSeconds& own = times_.stages[static_cast<std::size_t>(r)];
    close.busy_after[static_cast<std::size_t>(r)] = own.input + own.weight;
  }
}

// All ranks; those of a kind of pass that have one at this level, the others keep what they have.
void Wave::run_level(Span forward, Span back) {
  const int p = size_.depth;
  for (int r = p; --r > forward.high;) f_[r] = b_[r];
  for (int r = forward.high; r >= forward.low; --r)
    f_[r] = std::max(b_[r], f_[r - 1]) + forward_[r];
  for (int r = std::min(forward.low, p); r-- > 0;) f_[r] = b_[r];
  for (int r = std::min(back.low, p); r-- > 0;) b_[r] = f_[r];
  for (int r = back.low; r <= back.high; ++r) b_[r] = std::max(f_[r], b_[r + 1]) + back_[r];
  for (int r = std::max(back.high, -1) + 1; r < p; ++r) b_[r] = f_[r];
}

// Interleaved. Rank r has forward pass i at level i + r - 2 (p - 1) - (v - 1) p, backward pass j at
// level j - r.
void Wave::play_chunks(PipelineClose& close) {
  const int p = size_.depth;
  const int v = size_.chunks;
  const int all = size_.micro_batches * v;
  const int round = p * v;
  const int num_rounds = all / round;
  const int first = -(2 * (p - 1) + (v - 1) * p);
  const int last_full = all - 1 + first;  // with both passes on every rank, from level 0 on
  int next_look = 0;
  // At every level one rank comes to its next chunk: forward from rank 0 up, backward down.
  Turn forward{0, 0, 0};
  Turn back{p - 1, v - 1, 0};
  for (int level = first; level < all; ++level) {
    double* const next_forward = &forward_[forward.rank];
    const int entered = forward.chunk * p + forward.rank;
    if (forward.round < num_rounds) *next_forward = forward_of(entered, forward.round == 0);
    if (back.round < num_rounds) back_[back.rank] = back_of(back.chunk * p + back.rank, false);
    // The rank that is at the last micro-batch of a round's chunk.
    const bool of_last = back.rank == 0;
    Turn done{of_last ? p - 1 : back.rank - 1, back.chunk, back.round};
    if (!of_last && ++done.chunk == v) {
      done.chunk = 0;
      --done.round;
    }
    const bool is_last = level > -p && done.round == num_rounds - 1;
    if (is_last) back_[done.rank] = back_of(done.chunk * p + done.rank, true);

    f_[-1] = forward.chunk == 0 ? 0 : f_[p - 1];
    b_[p] = back.chunk == v - 1 ? 0 : b_[0];
    run_level({std::max(0, level - last_full), std::min(p - 1, level - first)},
              {std::max(0, -level), std::min(p - 1, all - 1 - level)});

    if (forward.round == 0) *next_forward = forward_of(entered, false);
    if (is_last) finish(done.rank, done.chunk * p + done.rank, close);
    if (++forward.rank == p) {
      forward.rank = 0;
      if (++forward.chunk == v) {
        forward.chunk = 0;
        ++forward.round;
      }
    }
    if (level > -p && --back.rank < 0) {
      back.rank = p - 1;
      if (--back.chunk < 0) {
        back.chunk = v - 1;
        ++back.round;
      }
    }
    if (level != next_look || level + round > last_full) continue;
    next_look += round;
    double seconds = 0;
    if (level > 0 && has_come_to_rest(seconds)) {
      const int rounds = (last_full - level) / round;
      move_on(rounds * seconds);
      level += rounds * round;
      forward.round += rounds;
      back.round += rounds;
    } else {
      snapshot();
    }
  }
  for (int r = 0; r < p; ++r) {
    double later = 0;  // of chunks before, a round's passes
    for (int stage = r; stage < p * v; stage += p) {
      const StageSeconds& own = times_.stages[static_cast<std::size_t>(stage)];
      close.busy_after[static_cast<std::size_t>(stage)] = later + own.input + own.weight;
      later += p * (own.input + own.weight);
    }
  }
}

void Wave::play(const PipelineSize& size, const PipelineSeconds& times, PipelineClose& close) {
  start(size, times);
  const auto num_stages = static_cast<std::size_t>(size.num_stages());
  NEREUS_CHECK(times.stages.size() == num_stages, "every virtual stage has its times");
  close.end.resize(static_cast<std::size_t>(size.depth));
  close.last_back.resize(num_stages);
  close.busy_after.resize(num_stages);
  if (size.chunks == 1)
    play_single(close);
  else
    play_chunks(close);
}

}  // namespace nereus::schedule
