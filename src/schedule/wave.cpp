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
  const auto all = static_cast<std::size_t>(size.num_stages());
  if (room_.size() < 6 * p + 2 + 2 * all) room_.resize(6 * p + 2 + 2 * all);
  f_ = room_.data() + 1;
  b_ = f_ + p;
  forward_ = b_ + p + 1;
  back_ = forward_ + p;
  before_ = back_ + p;
  std::fill(room_.begin(), room_.begin() + static_cast<std::ptrdiff_t>(2 * p + 2), 0);
  forward_of_ = before_ + 2 * p;
  back_of_ = forward_of_ + all;
  for (std::size_t s = 0; s < all; ++s) {
    const StageSeconds& own = times.stages[s];
    forward_of_[s] = own.forward + (s + 1 == all ? times.ends : own.send);
    back_of_[s] = own.input + own.weight + (s == 0 ? times.ends : own.send_back);
  }
}

double Wave::forward_alone(int stage) const {
  const StageSeconds& own = times_.stages[stage];
  return own.forward + (stage + 1 == size_.num_stages() ? times_.ends : own.send_alone);
}

double Wave::back_alone(int stage) const {
  const StageSeconds& own = times_.stages[stage];
  return own.input + own.weight + (stage == 0 ? times_.ends : own.send_back_alone);
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
    forward_[r] = forward_alone(r);
    back_[r] = back_of_[r];
  }
  constexpr int kChecks = 16;  // levels from one look whether it has come to rest to the next
  const int first_full = 0;    // level with both passes on every rank
  const int last_full = 2 * (m - p);  // 2 (i - p + 1) + r <= .. for i = m - 1 and r = 0
  for (int level = -2 * (p - 1); level <= 2 * (m - 1); ++level) {
    const int parity = level & 1;
    // The last rank of which this is the level of its last backward pass.
    const int done = 2 * (m - 1) - level;
    if (done < p) back_[done] = back_alone(done);
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
        if (i == 0) forward_[r] = forward_of_[r];
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
    const StageSeconds& own = times_.stages[r];
    close.busy_after[r] = own.input + own.weight;
  }
}

// Updates, for either kind of pass, the ranks that have one at this level; the others are
// unchanged.
void Wave::run_level(Span forward, Span back) {
  const int p = size_.depth;
  for (int r = p; --r > forward.high;) f_[r] = b_[r];
  for (int r = forward.high; r >= forward.low; --r)
    f_[r] = std::max(b_[r], f_[r - 1]) + forward_[r];
  for (int r = forward.low; r-- > 0;) f_[r] = b_[r];
  for (int r = back.low; r-- > 0;) b_[r] = f_[r];
  for (int r = back.low; r <= back.high; ++r) b_[r] = std::max(f_[r], b_[r + 1]) + back_[r];
  for (int r = back.high + 1; r < p; ++r) b_[r] = f_[r];
}

// The same if all ranks have both.
void Wave::run_full_level() {
  const int p = size_.depth;
  for (int r = p - 1; r >= 0; --r) f_[r] = std::max(b_[r], f_[r - 1]) + forward_[r];
  for (int r = 0; r < p; ++r) b_[r] = std::max(f_[r], b_[r + 1]) + back_[r];
}

// A rank comes to its next chunk, and with it hears from its neighbours.
void Wave::enter_forward(Turn& turn) {
  const int p = size_.depth;
  forward_[turn.rank] = forward_of_[turn.chunk * p + turn.rank];
  f_[-1] = turn.chunk == 0 ? 0 : f_[p - 1];
  if (++turn.rank < p) return;
  turn.rank = 0;
  if (++turn.chunk == size_.chunks) turn.chunk = 0;
}

void Wave::enter_back(Turn& turn) {
  const int p = size_.depth;
  back_[turn.rank] = back_of_[turn.chunk * p + turn.rank];
  b_[p] = turn.chunk == size_.chunks - 1 ? 0 : b_[0];
  turn.step_down(size_);
}

void Wave::Turn::step_down(const PipelineSize& size) {
  if (--rank >= 0) return;
  rank = size.depth - 1;
  if (--chunk < 0) chunk = size.chunks - 1;
}

// Interleaved. Rank r has forward pass i at level i + r - 2 (p - 1) - (v - 1) p and backward pass j
// at level j - r: only forward passes up to level -p, only backward passes after level m v - p v.
void Wave::play_chunks(PipelineClose& close) {
  const int p = size_.depth;
  const int round = p * size_.chunks;
  const int last_round = size_.micro_batches * size_.chunks - round;
  // At every level one rank comes to its next chunk: forward from rank 0 up, backward down.
  Turn forward{0, 0};
  Turn back{p - 1, size_.chunks - 1};
  int level = 2 - p - round;
  for (int started = 0; level <= -p; ++level, ++started) {
    const Turn entered = forward;
    enter_forward(forward);
    forward_[entered.rank] = forward_alone(entered.chunk * p + entered.rank);
    for (int r = std::min(started, p - 1); r >= 0; --r)
      f_[r] = std::max(f_[r], f_[r - 1]) + forward_[r];
    forward_[entered.rank] = forward_of_[entered.chunk * p + entered.rank];
  }
  std::copy(f_, f_ + p, b_);

  const int last_full = last_round - p + 1;  // with both passes on every rank, from level 0 on
  int next_look = 0;
  for (; level < last_round; ++level) {
    enter_forward(forward);
    enter_back(back);
    if (level >= 0 && level <= last_full)
      run_full_level();
    else
      run_level({std::max(0, level - last_full), p - 1}, {std::max(0, -level), p - 1});
    if (level != next_look || level + round > last_full) continue;
    next_look += round;
    double seconds = 0;
    if (level > 0 && has_come_to_rest(seconds)) {
      const int rounds = (last_full - level) / round;
      move_on(rounds * seconds);
      level += rounds * round;
    } else {
      snapshot();
    }
  }

  Turn done{p - 1, size_.chunks - 1};  // at the last micro-batch of a chunk
  for (; level < last_round + round; ++level) {
    enter_back(back);
    const int stage = done.chunk * p + done.rank;
    back_[done.rank] = back_alone(stage);
    const int last = std::min(p - 1, last_round + round - 1 - level);
    if (level == last_round)  // the last forward pass of all, on the last rank
      run_level({p - 1, p - 1}, {0, p - 1});
    else
      for (int r = 0; r <= last; ++r) b_[r] = std::max(b_[r], b_[r + 1]) + back_[r];
    finish(done.rank, stage, close);
    done.step_down(size_);
  }
  for (int r = 0; r < p; ++r) {
    double later = 0;  // of chunks before, a round's passes
    for (int stage = r; stage < round; stage += p) {
      const StageSeconds& own = times_.stages[stage];
      close.busy_after[stage] = later + own.input + own.weight;
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
