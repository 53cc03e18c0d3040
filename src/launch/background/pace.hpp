// How much a background job may run beside a foreground job, controlled by the foreground's own
// step time. A plain class without processes or clocks: whoever runs the jobs tells it steps, and
// asks it for a share of the time.
//
//   slow-down of a step = seconds / alone - 1
//   alone               = median of the last steps without the background
//
// First some steps alone; then windows of steps beside the background. The share of the time that
// the background runs follows from what a window's median says, by a model with one unknown (the
// slow-down is in proportion to the share), aimed below the promised bound:
//
//   share <- share x aim / slow-down, aim = 0.6 bound        at most twice, at least a tenth of it
//
// and stays where the slow-down lies within 0.35 to 0.8 of the bound: so it does not swing. Two
// steps in a row over the bound end a window at once. Every `probe_every` steps, and where a cut
// did not help (then not the background is to blame), some steps alone are measured again. Where
// even the smallest share is too much there is none until the next probe.
//
//   Pace pace({.bound = 0.05});
//   pace.step(seconds, ran);      // `ran`: share of that step in which the background ran
//   pace.share();                 // from now on
//
// Peers: TGS (NSDI 2023) controls rates of launches like TCP, additively up and by factors down;
// DeepPool (MLSys 2022) refuses pieces while one is 1.1 times as long as alone.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

namespace nereus::launch {

struct PaceOptions {
  double bound = 0.05;        // promised slow-down of the foreground's step
  double first_share = 0.02;  // cautious: the first steps beside it count too
  int warmup_steps = 2;       // at the start, not looked at
  int alone_steps = 8;        // then without the background
  int window = 8;             // steps between decisions
  int probe_every = 128;
  int probe_steps = 4;  // without the background
  bool by_turns = false;
  double given = 0.65;  // of the bound, by turns, at a share of one
};

// Where they take turns what a step gives is bounded by itself (job/gate.hpp): share x given x
// bound of a step alone. What it costs is that, and what it takes to change from one job to the
// other and back, which no share makes smaller. So here
//
//   slow-down = change + share x given x bound
//   share <- share + (0.8 - slow-down / bound) / (2 given)      where that is not 0.65 to 0.9
//
// half of the way to where the model says, and never below a quarter, where even short pieces would
// have no chance to run. The worse of two slow-downs decides, the window's median and
//
//   tail = (1 + 95th percentile of the last steps beside) / (1 + the same of steps alone) - 1
//
// since at the 99th percentile, which is promised too, few steps say much. Where a quarter is over
// the bound in four decisions in a row (128 steps) the background rests for 16,384 steps: so it is
// less than one step in a hundred that is slower than promised.
//
// Where one step in many gives for all of them (runner.hpp) these see nothing of it, as they
// should: what it gives is bounded as a share of all.
PaceOptions pace_of_turns(double bound);

struct Slowdown {
  double alone_s = 0;  // median of all steps alone; so the others, relative to what alone was then
  double median = 0;   // of the steps beside the background
  double p99 = 0;
  double mean = 0;       // all steps beside it against all alone: what it costs in throughput
  double alone_p99 = 0;  // the foreground's own unrest: its steps alone against their median
  std::int64_t num_alone = 0;
  std::int64_t num_shared = 0;
  // Like with like: the median within the bound, and the 99th percentile within the bound of that
  // of steps alone.
  bool held(double bound) const {
    return median <= bound && 1 + p99 <= (1 + alone_p99) * (1 + bound);
  }
};

class Pace {
 public:
  explicit Pace(const PaceOptions& options) : options_(options) {}

  // A step of the foreground is done; `ran` is the share of it in which the background ran.
  // `present`: one that takes turns had its chance, so the step was not alone in any case.
  void step(double seconds, double ran, bool present = false);
  // Of the time, from now on.
  double share() const { return alone_left_ > 0 || rest_left_ > 0 ? 0 : share_; }
  // Median slow-down of the steps before the last decision; not below 0.
  double usual_slowdown() const { return usual_slowdown_; }
  // So often turns cost more than promised, however short.
  std::int64_t num_rests() const { return num_rests_; }
  // Seconds of a step alone; 0 until there is one.
  double alone() const { return alone_; }
  // Everything so far.
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
  int alone_left_ = options_.alone_steps;  // of the probe under way
  int since_probe_ = 0;
  int over_at_smallest_ = 0;  // decisions in a row
  int rest_left_ = 0;         // steps
  std::int64_t num_rests_ = 0;
  double alone_ = 0;
  double share_ = 0;
  double usual_slowdown_ = 0;
  double last_slowdown_ = 0;                    // of the window before, where it led to a cut
  int over_in_a_row_ = 0;                       // steps over the bound
  std::deque<double> recent_alone_;             // the last of them
  std::vector<double> window_;                  // slow-downs
  std::deque<double> tail_alone_;               // slow-downs of the last steps alone
  std::deque<double> tail_shared_;              // and beside, since the share was changed
  std::vector<double> all_alone_, all_shared_;  // steps / alone
  std::vector<double> alone_seconds_;
};

// Of sorted or unsorted values; 0 where there are none.
double quantile(std::vector<double> values, double q);

}  // namespace nereus::launch
