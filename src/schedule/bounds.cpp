#include "schedule/bounds.hpp"

#include <algorithm>

namespace nereus::schedule {

using plan::Schedule;

namespace {

// Passes of one way with their messages, by stage in the direction they take, and room.
struct OneWay {
  const double* takes = nullptr;
  double* ahead = nullptr;   // by rank in that direction: longest of a chunk up to it
  double* behind = nullptr;  // and of those after it
};

// Fewer micro-batches than ranks: at level k those from rank k - m + 1 to k are at work.
double most_of_few(const PipelineSize& size, const OneWay& way) {
  const int p = size.depth;
  const int m = size.micro_batches;
  double longest = 0;
  for (int r = p; r-- > 0; longest = std::max(longest, way.takes[r])) way.behind[r] = longest;
  double sum = 0;
  double ahead = 0;
  for (int k = 0; k < p; ++k) {
    ahead = std::max(ahead, way.takes[k]);
    sum += k < m ? ahead : std::min(ahead, way.behind[k - m]);
  }
  for (int k = p; k < p + m - 1; ++k) sum += way.behind[k - m];
  return sum;
}

double most_one_way(Schedule schedule, const PipelineSize& size, const OneWay& way) {
  const int p = size.depth;
  if (size.micro_batches < p) return most_of_few(size, way);
  const bool in_rounds = schedule == Schedule::kInterleaved && size.chunks > 1;
  const int round = in_rounds ? p : size.micro_batches;
  double first = 0;   // levels at which the first round comes
  double inside = 0;  // of a round, all others
  for (int chunk = 0; chunk < size.chunks; ++chunk) {
    const double* const takes = way.takes + chunk * p;
    double longest = 0;
    for (int q = 0; q < p; ++q) {
      longest = std::max(longest, takes[q]);
      if (chunk == 0) {
        way.ahead[q] = longest;
        first += longest;
      } else {
        inside += std::max(longest, way.behind[q]);
      }
    }
    inside += (round - p) * longest;
    longest = 0;
    for (int q = p; q-- > 0; longest = std::max(longest, takes[q])) way.behind[q] = longest;
  }
  double turn = 0;  // levels at which a round follows another
  double last = 0;
  for (int q = 0; q < p; ++q) {
    turn += std::max(way.ahead[q], way.behind[q]);
    last += way.behind[q];
  }
  const double rounds = size.micro_batches / round;
  return first + rounds * inside + (rounds - 1) * turn + last;
}

PlayBounds bound_varuna(const PipelineSize& size, const PipelineSeconds& times) {
  PlayBounds out;
  out.most = 1e300;
  const double m = size.micro_batches;
  double way = 0;  // of the first micro-batch here, and of the last one's gradient from here
  for (std::size_t r = 0; r < times.stages.size(); ++r) {
    const StageSeconds& own = times.stages[r];
    const double once = own.forward + own.input + own.weight;
    if (r > 0) way += own.send_back;
    out.least = std::max(out.least, m * (once + own.recompute) + way);
    way += once + own.send;
  }
  out.least_first = out.least;
  return out;
}

}  // namespace

PlayBounds bound_play(Schedule schedule, const PipelineSize& size, const PipelineSeconds& times,
                      std::vector<double>& room) {
  if (schedule == Schedule::kVaruna) return bound_varuna(size, times);
  const int num_stages = size.num_stages();
  const auto p = static_cast<std::size_t>(size.depth);
  const auto all = static_cast<std::size_t>(num_stages);
  if (room.size() < 2 * all + 2 * p) room.resize(2 * all + 2 * p);
  double* const forward = room.data();
  double* const back = forward + all;  // from the last stage on
  double alone = 0;                    // more than other messages, all that are
  for (std::size_t s = 0; s < all; ++s) {
    const StageSeconds& own = times.stages[s];
    forward[s] = own.forward + (s + 1 == all ? times.ends : own.send);
    back[all - 1 - s] = own.input + own.weight + (s == 0 ? times.ends : own.send_back);
    alone += std::max(0.0, own.send_alone - own.send) +
             std::max(0.0, own.send_back_alone - own.send_back);
  }
  double* const ahead = back + all;
  double* const behind = ahead + p;
  PlayBounds out;
  out.most = most_one_way(schedule, size, {forward, ahead, behind}) +
             most_one_way(schedule, size, {back, ahead, behind}) + alone - times.ends;

  const double m = size.micro_batches;
  double way = 0;  // of the first micro-batch here, and of the last one's gradient from here
  for (std::size_t r = 0; r < p; ++r) {
    double work = 0;
    for (std::size_t s = r; s < all; s += p) work += forward[s] + back[all - 1 - s];
    const StageSeconds& own = times.stages[r];
    const double last_message = r == 0 ? times.ends : own.send_back;
    const double end = m * work - last_message;
    if (r > 0) way += own.send_back_alone;
    out.least = std::max(out.least, end + way);
    way += own.forward + own.send_alone + own.input + own.weight;
    if (r > 0) continue;
    // Messages that follow the passes from its last stage's last one on.
    const double later = schedule == Schedule::kLoopedBfs ? m : size.depth;
    double messages = 0;
    for (std::size_t s = 0; s < all; s += p) {
      const double message = s == 0 ? times.ends : times.stages[s].send_back;
      messages += s + p < all ? later * message : message;
    }
    out.least_first = end - (messages - last_message);
  }
  return out;
}

}  // namespace nereus::schedule
