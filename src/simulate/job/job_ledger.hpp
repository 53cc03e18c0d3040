// Records how a job's time was spent, and which of its steps are safe. Only for use inside
// simulate/job.
//
// Steps count as useful when they are done, and as lost once they are rolled back. A checkpoint
// that is written asynchronously counts from the time when it is complete; until then the previous
// one counts.
//
//   Ledger ledger(play);
//   ledger.add_steps(10, 195.4);
//   ledger.checkpoint(now, write);      // state as of now, safe from now + write on
//   ledger.roll_back(later);
#pragma once

#include <limits>

#include "simulate/job/job_play.hpp"

namespace nereus::simulate {

class Ledger {
 public:
  explicit Ledger(JobPlay& play) : play_(play) {}

  void add(double seconds, Activity activity);
  void add_steps(double many, double seconds);

  void checkpoint(double now, double write);
  // A checkpoint that is incomplete when a machine is lost never becomes complete.
  void lose_unwritten(double now);
  void roll_back(double now);

  double unsafe_steps() const { return unsafe_steps_; }  // steps since the last safe checkpoint
  double steps_since_checkpoint() const { return steps_since_; }
  double seconds_since_checkpoint() const { return seconds_since_; }

 private:
  void keep_if_written(double now);
  void save_as_of(double steps, std::size_t segments);
  void begin_interval() { steps_since_ = seconds_since_ = 0; }

  JobPlay& play_;
  double recorded_ = 0;  // seconds that have a segment
  double unsafe_steps_ = 0;
  double steps_since_ = 0, seconds_since_ = 0;
  std::size_t safe_segments_ = 0;
  // When the last checkpoint will be complete.
  double written_ = std::numeric_limits<double>::infinity();
  double taken_steps_ = 0;
  std::size_t taken_segments_ = 0;
};

}  // namespace nereus::simulate
