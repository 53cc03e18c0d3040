// Measured steps beside predicted ones, for the claims of `reproduce`. Inside reproduce/ only.
//
//   StepComparison runs;
//   runs.add(17.1, 17.4);                          // seconds measured, seconds predicted
//   runs.median_error(); runs.rank_correlation();  // 0.0175; 0 of one run
#pragma once

#include <string>
#include <vector>

#include "reproduce/reproduce.hpp"

namespace nereus::app {

class StepComparison {
 public:
  void add(double measured, double predicted);
  std::size_t size() const { return measured_.size(); }
  // Shares of the measured time; 0 of no run.
  double median_error() const;
  double largest_error() const;
  double rank_correlation() const;  // Spearman's

 private:
  std::vector<double> errors() const;
  std::vector<double> measured_, predicted_;
};

// How a claim that sums up runs is named and found again.
struct SummaryPlace {
  std::string what{};     // "mixed machines"
  std::string inputs{};   // the file, and what was changed
  std::string command{};  // the call that gives the numbers
};

// Median and largest error in percent and the rank correlation of two runs and more; `published`,
// where it is not null, is how far their own authors' predictions lay off.
void add_summary(const SummaryPlace& place, const StepComparison& ours,
                 const StepComparison* published, ReproduceAnswer& answer);

}  // namespace nereus::app
