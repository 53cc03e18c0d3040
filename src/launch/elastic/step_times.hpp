// Detects machines that are slow instead of dead (fail-stutter), from their ranks' step times.
//
// The busy time of a rank is its step time minus the time it waited for others: the median of
// kWindow / 2 steps of one generation (the time with a fixed set of machines). The busiest rank is
// slow if it is kSlow times as busy as the median of the others, both in the last kWindow / 2 steps
// and in the kWindow / 2 steps before them, so that a short disturbance does not count.
//
//   healthy = step - (busy - busy of the next)        if it were as fast as the next busiest rank
//   without = healthy * planned without / planned     if its machine left; both as predicted
//
// Leaving the machine out pays off if `without` is clearly (kClearly) shorter than the current
// step, and if the time saved until machines join or leave again exceeds the time to switch plans
// (a morph). Varuna (Athlur 2022) drops any machine that takes more than 1.15 times the median of
// its stage, whether or not the job becomes faster.
//
//   StepTimes times;
//   times.add(rank, message);                          // for every rank and step of a generation
//   if (auto slow = times.slowest()) ... leaving_out_pays(*slow, {...})
#pragma once

#include <deque>
#include <map>
#include <optional>

#include "job/message.hpp"

namespace nereus::launch {

struct SlowRank {
  int rank = -1;
  double busy = 0;     // seconds per step
  double others = 0;   // median busy time of the other ranks
  double step = 0;     // seconds of the current step
  double healthy = 0;  // the step, if this rank were as fast as the next busiest one
};

class StepTimes {
 public:
  static constexpr std::size_t kWindow = 16;  // steps
  static constexpr std::size_t kWarmUp = 2;   // ignored first steps of a generation
  static constexpr double kSlow = 1.3;

  void clear() { ranks_.clear(); }  // called when a generation begins
  void add(int rank, const job::Message& step);
  // Empty if there are too few ranks or steps, or if no rank is slow.
  std::optional<SlowRank> slowest() const;

 private:
  struct Rank {
    std::size_t seen = 0;
    std::deque<double> busy, step;
  };
  std::map<int, Rank> ranks_;
};

struct WithoutIt {
  double planned_now = 0, planned_without = 0;  // seconds per step, predicted by the same planner
  double lasts = 0;                             // seconds
  double morph = 0;                             // seconds
};
constexpr double kClearly = 0.85;
// The expected step without the machine; empty if leaving it out does not pay off.
std::optional<double> leaving_out_pays(const SlowRank& slow, const WithoutIt& plans);

}  // namespace nereus::launch
