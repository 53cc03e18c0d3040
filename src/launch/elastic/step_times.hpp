// Machines that are slow rather than gone (fail-stutter), found by their ranks' step times.
//
// A rank is busy for its seconds of a step less those in which it waited for others; what counts is
// the median of kWindow / 2 steps of a generation. The busiest rank is slow where it is kSlow times
// as busy as the median of the others, in the last so many steps and in those before: what is over
// soon is no reason. Were it as quick as the next busiest, a step would take
//
//   healthy = step - (busy - busy of the next)
//
// and without its machine healthy * (planned without it / planned now). Leaving it out pays where
// that is clearly shorter (kClearly) than the step as it is, and what is gained until machines come
// or go again is more than a morph takes. Varuna (Athlur 2022) drops whoever is 1.15 times the
// median of its stage, whether or not the job is faster without.
//
//   StepTimes times;
//   times.add(rank, message);                          // of every rank and step of a generation
//   if (auto slow = times.slowest()) ... leaving_out_pays(*slow, {...})
#pragma once

#include <deque>
#include <map>
#include <optional>

#include "job/message.hpp"

namespace nereus::launch {

struct SlowRank {
  int rank = -1;
  double busy = 0;     // seconds a step
  double others = 0;   // the median of the others
  double step = 0;     // as it is
  double healthy = 0;  // were it as quick as the next busiest
};

class StepTimes {
 public:
  static constexpr std::size_t kWindow = 16;  // steps
  static constexpr std::size_t kWarmUp = 2;   // first steps of a generation that do not count
  static constexpr double kSlow = 1.3;

  void clear() { ranks_.clear(); }  // a generation begins
  void add(int rank, const job::Message& step);
  // Nothing: too few ranks or steps, or none is slow.
  std::optional<SlowRank> slowest() const;

 private:
  struct Rank {
    std::size_t seen = 0;
    std::deque<double> busy, step;
  };
  std::map<int, Rank> ranks_;
};

struct WithoutIt {
  double planned_now = 0, planned_without = 0;  // seconds of a step, of one planner
  double lasts = 0;                             // seconds
  double morph = 0;                             // seconds
};
constexpr double kClearly = 0.85;
// What a step would take without it; nothing where that does not pay.
std::optional<double> leaving_out_pays(const SlowRank& slow, const WithoutIt& plans);

}  // namespace nereus::launch
