// Number of samples needed to reach a target, by batch size (McCandlish et al. 2018, 1812.06162):
//
//   E(B) = E_min (1 + B / B_crit),     steps S(B) = E(B) / B
//
// A batch far below B_crit wastes no samples, and one far above B_crit needs no fewer steps. E_min
// and B_crit are given, or fitted to MLPerf's reference convergence points (data/batch).
//
//   SamplesToTarget e = read_samples_to_target("resnet");      // or "resnet50", or "44e6:46900"
//   e.samples(8192);
//   for (int batch : batches_of(e)) ...                        // batches worth trying
#pragma once

#include <string>
#include <vector>

namespace nereus::app {

struct SamplesToTarget {
  std::string name;
  double least = 0;                  // samples needed with small batches
  double critical = 0;               // batch that needs twice as many samples
  double smallest = 0, largest = 0;  // range of measured batches; both 0: unknown
  std::string model;                 // measured model; empty: unknown
  int seq = 0;                       // tokens per sample; 0: unknown, or none
  double samples(double batch) const { return least * (1 + batch / critical); }
};

// The choice among several batches.
struct TargetChoice {
  SamplesToTarget target;
  double seconds = 0;       // to the target
  double rank_seconds = 0;  // to the target
};

// `text` is the name of a benchmark or of its model, or numbers. Throws Errors: an unknown name
// (lists the known ones), invalid numbers.
SamplesToTarget read_samples_to_target(const std::string& text);

// Powers of two that were measured, or up to four times the critical batch.
std::vector<int> batches_of(const SamplesToTarget& target);

}  // namespace nereus::app
