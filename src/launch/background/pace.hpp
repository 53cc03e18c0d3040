// Controls how much a background job may run while a foreground job runs, based on the step times
// of the foreground. A plain class without processes or clocks: the caller reports steps, and reads
// the share of the time in which the background may run.
//
//   slow-down of a step = seconds / alone - 1
//   alone               = median of the last steps without background
//
// It first measures some steps without background, then windows of steps with background. After
// each window, the new share of the time follows from the window's median, with a model that has
// one unknown (the slow-down is proportional to the share), aiming below the promised bound:
//
//   share <- share x aim / slow-down, aim = 0.6 bound      at most doubled, at least a tenth of it
//
// The share stays if the slow-down is within 0.35 to 0.8 of the bound, so that it does not
// oscillate. Two consecutive steps over the bound end a window at once. Every `probe_every` steps,
// and if a cut of the share did not help (then the background is not to blame), some steps without
// background are measured again. If even the smallest share is too much, the background does not
// run until the next probe.
//
//   Pace pace({.bound = 0.05});
//   pace.step(seconds, ran);      // `ran`: share of that step in which the background ran
//   pace.share();                 // from now on
//
// Related work: TGS (NSDI 2023) controls launch rates like TCP, with additive increase and
// multiplicative decrease; DeepPool (MLSys 2022) rejects pieces while one takes 1.1 times as long
// as without background.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

namespace nereus::launch {

struct PaceOptions {
  double bound = 0.05;        // promised slow-down of the foreground's step
  double first_share = 0.02;  // cautious, because the first steps with background count too
  int warmup_steps = 2;       // at the start, ignored
  int alone_steps = 8;        // after these, without background
  int window = 8;             // steps between decisions
  int probe_every = 128;
  int probe_steps = 4;  // without background
  bool by_turns = false;
  double given = 0.65;  // share of the bound that turns may use if `share` is 1
};

// If jobs take turns, the background may run for a limited time in each step (job/gate.hpp): share
// x given x bound x the time of a step without background. The cost is this time plus the time to
// change from one job to the other and back, which does not depend on the share. So the rule is
//
//   slow-down = change + share x given x bound
//   share <- share + (0.8 - slow-down / bound) / (2 given)  unless slow-down / bound is 0.65 to 0.9
//
// This change is half of the way to the model's solution. The share is never below a quarter,
// because even short pieces could not run with less. The larger of two slow-downs decides: the
// window's median, and
//
//   tail = (1 + p95 with background) / (1 + p95 without) - 1,   p95: 95th percentile of slow-downs
//                                                               of the last steps
//
// because the 99th percentile is promised too, but few steps are not enough to estimate it. If the
// slow-down exceeds the bound at a share of a quarter in four decisions in a row (128 steps), the
// background rests for 16,384 steps, so that fewer than one in a hundred steps is slower than
// promised.
//
// If one step in many grants the time of all of them (runner.hpp), this rule intentionally ignores
// that time, which is limited as a share of all steps.
PaceOptions pace_of_turns(double bound);

struct Slowdown {
  double alone_s = 0;  // median of all steps without background
  // Slow-downs, relative to steps without background.
  double median = 0;  // of the steps with background
  double p99 = 0;
  double mean = 0;  // all steps with background compared with all without: the cost in throughput
  double alone_p99 = 0;  // 99th percentile of the steps without background
  std::int64_t num_alone = 0;
  std::int64_t num_shared = 0;
  // Compares like with like: relative to steps without background, neither the median nor the 99th
  // percentile may be slower by more than the bound.
  bool held(double bound) const {
    return median <= bound && 1 + p99 <= (1 + alone_p99) * (1 + bound);
  }
};

class Pace {
 public:
  explicit Pace(const PaceOptions& options) : options_(options) {}

  // Reports a foreground step; `ran` is the share of it in which the background ran. `present`: a
  // job that takes turns could have run, so this step never counts as one without background.
  void step(double seconds, double ran, bool present = false);
  // Share of the time, from now on.
  double share() const { return alone_left_ > 0 || rest_left_ > 0 ? 0 : share_; }
  // Median slow-down of the steps before the last decision; at least 0.
  double usual_slowdown() const { return usual_slowdown_; }
  // How often the background rested, because even the shortest turns cost more than promised.
  std::int64_t num_rests() const { return num_rests_; }
  // Seconds per step without background; 0 until one was measured.
  double alone() const { return alone_; }
  // Over all steps so far.
  Slowdown slowdown() const;

 private:
  void refresh_alone(double seconds);
  void measure_alone(double seconds);
  void decide();
  void decide_turns(double slowdown);
  bool did_not_help(double slowdown);
  double decisive_slowdown() const;
  void set_share(double share);
  void probe(int steps);

  PaceOptions options_;
  int warmup_left_ = options_.warmup_steps;
  int alone_left_ = options_.alone_steps;  // left in the current probe
  int since_probe_ = 0;
  int over_at_smallest_ = 0;  // decisions in a row
  int rest_left_ = 0;         // steps
  std::int64_t num_rests_ = 0;
  double alone_ = 0;
  double share_ = 0;
  double usual_slowdown_ = 0;
  double last_slowdown_ = 0;                    // of the previous window, if it led to a cut
  int over_in_a_row_ = 0;                       // steps over the bound
  std::deque<double> recent_alone_;             // the last steps without background
  std::vector<double> window_;                  // slow-downs
  std::deque<double> tail_alone_;               // slow-downs of the last steps without background
  std::deque<double> tail_shared_;              // with background, since the share was changed
  std::vector<double> all_alone_, all_shared_;  // step times / alone
  std::vector<double> alone_seconds_;
};

// `values` need not be sorted; 0 if there are none.
double quantile(std::vector<double> values, double q);

}  // namespace nereus::launch
