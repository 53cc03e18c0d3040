#include "calibrate/cross_validate.hpp"

#include <algorithm>

#include "calibrate/evaluate_runs.hpp"

namespace nereus::calibrate {

CrossValidation cross_validate(const cost::StackLibrary& library,
                               const std::vector<const Run*>& runs, int folds,
                               const FitOptions& options, const std::function<void(int)>& on_fold) {
  std::map<std::string, int> sizes;
  for (const Run* run : runs) ++sizes[run->suite];
  // Within a set, so that every fold holds out a part of each.
  std::vector<std::pair<std::string, int>> suites(sizes.begin(), sizes.end());
  std::stable_sort(suites.begin(), suites.end(), [](const auto& a, const auto& b) {
    const std::string set_a = a.first.substr(0, a.first.find('|'));
    const std::string set_b = b.first.substr(0, b.first.find('|'));
    return set_a != set_b ? set_a < set_b : a.second > b.second;
  });
  std::map<std::string, int> fold_of;
  for (std::size_t i = 0; i < suites.size(); ++i)
    fold_of[suites[i].first] = static_cast<int>(i) % folds;

  std::vector<RowResult> held_out;
  for (int fold = 0; fold < folds; ++fold) {
    std::vector<const Run*> seen;
    for (const Run* run : runs)
      if (fold_of[run->suite] != fold) seen.push_back(run);
    const FitResult fitted = fit_all(library, seen, options);
    for (const Run* run : runs) {
      if (fold_of[run->suite] != fold || run->failed || !run->suspect.empty()) continue;
      RowResult row{run, predict(*run, fitted.library)};
      row.predicted_memory =
          reported_memory(row.prediction, library.stacks.find(run->stack)->second.options);
      held_out.push_back(row);
    }
    if (on_fold) on_fold(fold + 1);
  }
  std::map<std::string, std::vector<const RowResult*>> by_set;
  std::map<std::pair<std::string, std::string>, std::vector<const RowResult*>> by_stack;
  for (const RowResult& row : held_out) {
    by_set[row.run->set].push_back(&row);
    const std::string& device = row.run->cluster.groups.front().node.device.short_name;
    by_stack[{row.run->stack, std::string(cost::family_of(device))}].push_back(&row);
  }
  CrossValidation out;
  out.folds = folds;
  for (const auto& [set, rows] : by_set) out.sets[set] = summarize(rows);
  for (const auto& [stack, rows] : by_stack) out.stacks[stack] = summarize(rows);
  out.held_out = std::move(held_out);
  return out;
}

}  // namespace nereus::calibrate
