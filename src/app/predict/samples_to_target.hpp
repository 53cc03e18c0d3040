// Samples that a target takes by the size of the batch (McCandlish et al. 2018, 1812.06162):
//
//   E(B) = E_min (1 + B / B_crit),     steps S(B) = E(B) / B
//
// so that a batch far below B_crit wastes nothing and one far above needs no fewer steps. E_min and
// B_crit are given, or fitted to MLPerf's reference convergence points (data/batch).
//
//   SamplesToTarget e = read_samples_to_target("resnet");      // or "resnet50", or "44e6:46900"
//   e.samples(8192);
//   for (int batch : batches_of(e)) ...                        // what is worth a look
#pragma once

#include <string>
#include <vector>

namespace nereus::app {

struct SamplesToTarget {
  std::string name;
  double least = 0;                  // samples, with small batches
  double critical = 0;               // batch that takes twice as many
  double smallest = 0, largest = 0;  // batch that was measured; both 0: not known
  std::string model;                 // that it was measured of; empty: not known
  int seq = 0;                       // tokens of its samples; 0: not known, or none
  double samples(double batch) const { return least * (1 + batch / critical); }
};

// What was chosen of several batches.
struct TargetChoice {
  SamplesToTarget target;
  double seconds = 0;       // to the target
  double rank_seconds = 0;  // to the target
};

// By the benchmark's name, or that of the model it trains. Throws Errors: a name that is not known
// (with those that are), numbers that are none.
SamplesToTarget read_samples_to_target(const std::string& text);

// Powers of two that were measured, or up to four times the critical batch.
std::vector<int> batches_of(const SamplesToTarget& target);

}  // namespace nereus::app
