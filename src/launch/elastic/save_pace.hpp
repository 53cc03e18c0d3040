// Decides when an elastic job saves if the user does not say: as often as the measurements justify.
//
//   interval = max(Daly's interval (base/checkpoint_interval.hpp) for the cost and the mean time
//                  between losses, kWriting times the time to write a checkpoint)
//   cost     the larger of the seconds that training waits for a checkpoint, and the extra time of
//            steps until it is written; averaged over past checkpoints
//   losses   only those after which state has no copy left: all losses of machines if some state of
//            the plan has only one copy, else those after which a checkpoint was read. Zero losses
//            count as one: the longer the job runs without losses, the less often it saves
//
// The first checkpoint comes after kFirstSteps steps, to have one to return to and to measure the
// cost. Times are seconds of one steady clock; the clocks of other machines do not matter.
//
//   SavePace pace;
//   pace.step(now, seconds);                      // each new step
//   if (pace.is_due(now, single_copy)) pace.asked(now);
//   pace.copied(0.02);
//   pace.written(now);                            // it is complete
//
// If a requested checkpoint is not reported for kGivenUp seconds, or for ten times the time of the
// last one, it is requested again: the disk may have been full.
#pragma once

#include <optional>

namespace nereus::launch {

class SavePace {
 public:
  static constexpr int kFirstSteps = 20;
  static constexpr double kWriting = 5;
  static constexpr double kGivenUp = 60;  // seconds

  void begin(double now);  // start of the job or of this program; only the first call counts
  void step(double now, double seconds);  // `seconds` is the time of the step
  void copied(double seconds);            // time that a rank waited for the requested checkpoint
  void lost() { ++losses_; }              // a machine of the plan was lost
  void went_back() { ++rollbacks_; }      // no copy was left, so a checkpoint was read
  bool is_due(double now, bool single_copy) const;
  void asked(double now) {
    asked_ = now;
    copying_ = longer_ = 0;
  }
  void written(double now);
  void broken_off() { asked_.reset(); }  // the generation has ended

  struct Numbers {
    double interval = 0, cost = 0, write = 0, between = 0;  // seconds
  };
  // Empty until a checkpoint was measured.
  std::optional<Numbers> numbers(double now, bool single_copy) const;

 private:
  std::optional<double> begun_, last_, asked_;
  double usual_ = 0;                 // seconds per step while no checkpoint is written
  double copying_ = 0, longer_ = 0;  // of the requested checkpoint
  double cost_ = 0, write_ = 0;
  bool measured_ = false;
  int steps_ = 0;
  int losses_ = 0, rollbacks_ = 0;
};

}  // namespace nereus::launch
