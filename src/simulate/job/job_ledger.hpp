// Where a job's time went, and which of its steps are safe. Inside simulate/job only.
//
// Steps count as useful when they are done and as lost once they are rolled back. A checkpoint that
// is written beside training counts from when it is written; until then the one before it does.
//
//   Ledger ledger(play);
//   ledger.add_steps(10, 195.4);
//   ledger.checkpoint(now, write);      // as of now, safe from now + write on
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
  // A checkpoint that is not yet written when a machine goes never will be.
  void lose_unwritten(double now);
  void roll_back(double now);

  double unsafe_steps() const { return unsafe_steps_; }  // done since the last safe checkpoint
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
  double written_ = std::numeric_limits<double>::infinity();  // when what was taken will be
  double taken_steps_ = 0;
  std::size_t taken_segments_ = 0;
};

}  // namespace nereus::simulate
