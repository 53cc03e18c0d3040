// Compares measured with predicted steps, for the claims of `reproduce`. Only for use inside
// reproduce/.
//
//   StepComparison runs;
//   runs.add(17.1, 17.4);                          // seconds measured, seconds predicted
//   runs.median_error(); runs.rank_correlation();  // 0.0175; 0 for one run
#pragma once

#include <string>
#include <vector>

#include "reproduce/reproduce.hpp"

namespace nereus::app {

class StepComparison {
 public:
  void add(double measured, double predicted);
  std::size_t size() const { return measured_.size(); }
  // Shares of the measured time; 0 without runs.
  double median_error() const;
  double largest_error() const;
  double rank_correlation() const;  // Spearman's

 private:
  std::vector<double> errors() const;
  std::vector<double> measured_, predicted_;
};

// Name and source of a claim that summarizes runs.
struct SummaryPlace {
  std::string what{};     // "mixed machines"
  std::string inputs{};   // the file, and its changes
  std::string command{};  // the call that computes the numbers
};

// Adds the median and largest error in percent, and the rank correlation if there are at least two
// runs. `published`, if not null, has the errors of the authors' predictions.
void add_summary(const SummaryPlace& place, const StepComparison& ours,
                 const StepComparison* published, ReproduceAnswer& answer);

}  // namespace nereus::app
