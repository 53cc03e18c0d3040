// When an elastic job saves, where nobody says so: as often as what was measured makes it worth.
//
//   interval = max(Daly's (base/checkpoint_interval.hpp) of cost and mean time between losses,
//                  kWriting times what writing one takes)
//   cost     seconds that training waits for one, or by how much steps are longer until it is
//            written, whichever is more: the mean of the last one and those before
//   losses   those that no copy survives: all of them where the plan has one copy of some state,
//            else those after which a checkpoint was read. None so far counts as one: the longer
//            all goes well, the rarer it saves
//
// The first is after kFirstSteps steps, to have something to go back to and to measure. Times are
// seconds of one steady clock; no machine's date matters.
//
//   SavePace pace;
//   pace.step(now, seconds);                      // each new step
//   if (pace.is_due(now, single_copy)) pace.asked(now);
//   pace.copied(0.02);
//   pace.written(now);                            // it is complete
//
// What was asked for and not heard of for kGivenUp seconds, or ten times what the last one took, is
// asked for again: the disk may have been full.
#pragma once

#include <optional>

namespace nereus::launch {

class SavePace {
 public:
  static constexpr int kFirstSteps = 20;
  static constexpr double kWriting = 5;
  static constexpr double kGivenUp = 60;  // seconds

  void begin(double now);                 // of the job, or of this program; the first call counts
  void step(double now, double seconds);  // that it took
  void copied(double seconds);            // that a rank waited for the one that was asked for
  void lost() { ++losses_; }              // a machine of the plan
  void went_back() { ++rollbacks_; }      // no copy was left: a checkpoint was read
  bool is_due(double now, bool single_copy) const;
  void asked(double now) {
    asked_ = now;
    copying_ = longer_ = 0;
  }
  void written(double now);
  void broken_off() { asked_.reset(); }  // the generation is over

  struct Numbers {
    double interval = 0, cost = 0, write = 0, between = 0;  // seconds
  };
  // Nothing before one was measured.
  std::optional<Numbers> numbers(double now, bool single_copy) const;

 private:
  std::optional<double> begun_, last_, asked_;
  double usual_ = 0;                 // seconds of a step while nothing is written
  double copying_ = 0, longer_ = 0;  // of the one that is asked for
  double cost_ = 0, write_ = 0;
  bool measured_ = false;
  int steps_ = 0;
  int losses_ = 0, rollbacks_ = 0;
};

}  // namespace nereus::launch
