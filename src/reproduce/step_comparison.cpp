#include "reproduce/step_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "base/median.hpp"
#include "calibrate/rank_correlation.hpp"
#include "calibrate/validation.hpp"

namespace nereus::app {

void StepComparison::add(double measured, double predicted) {
  measured_.push_back(measured);
  predicted_.push_back(predicted);
}

std::vector<double> StepComparison::errors() const {
  std::vector<double> out;
  for (std::size_t i = 0; i < measured_.size(); ++i)
    out.push_back(std::abs(predicted_[i] / measured_[i] - 1));
  return out;
}

double StepComparison::median_error() const { return median(errors()); }

double StepComparison::largest_error() const {
  const std::vector<double> all = errors();
  return all.empty() ? 0 : *std::max_element(all.begin(), all.end());
}

double StepComparison::rank_correlation() const {
  return calibrate::rank_correlation(measured_, predicted_);
}

void add_summary(const SummaryPlace& place, const StepComparison& ours,
                 const StepComparison* published, ReproduceAnswer& answer) {
  if (ours.size() < 2) return;
  const auto add = [&](const char* name, double (StepComparison::*number)() const, double unit,
                       const std::string& note) {
    Claim claim;
    claim.name = place.what + ": " + name;
    claim.ours = unit * (ours.*number)();
    if (published) claim.published = unit * (published->*number)();
    claim.kind = ClaimKind::kDerived;
    claim.note = note;
    claim.inputs = place.inputs;
    claim.command = place.command;
    answer.claims.push_back(std::move(claim));
  };
  const std::string over = fmt::format("over {}", counted(ours.size(), "run"));
  add("median error", &StepComparison::median_error, 100, "% " + over);
  add("largest error", &StepComparison::largest_error, 100, "% " + over);
  add("rank correlation", &StepComparison::rank_correlation, 1, "Spearman's, " + over);
}

}  // namespace nereus::app
