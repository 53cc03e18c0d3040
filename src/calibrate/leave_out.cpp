#include "calibrate/leave_out.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <mutex>
#include <tuple>

#include "base/parallel.hpp"

namespace nereus::calibrate {

namespace {

struct Group {
  std::string name;
  std::string set;  // of its first run
  int rows = 0;
};

// Within a set the largest first, so that every fold leaves out a part of each set.
std::map<std::string, int> deal(const std::vector<Run>& runs,
                                const std::vector<std::string>& group_of, int folds) {
  std::map<std::string, Group> groups;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Group& group = groups[group_of[i]];
    if (group.rows++ == 0) group = {group_of[i], runs[i].set, 1};
  }
  std::vector<Group> order;
  for (const auto& [name, group] : groups) order.push_back(group);
  std::stable_sort(order.begin(), order.end(), [](const Group& a, const Group& b) {
    return std::tie(a.set, b.rows) < std::tie(b.set, a.rows);
  });
  std::map<std::string, int> fold_of;
  for (std::size_t i = 0; i < order.size(); ++i)
    fold_of[order[i].name] = static_cast<int>(i) % folds;
  return fold_of;
}

}  // namespace

std::string left_out_group(const Run& run, LeftOutBy by) {
  if (by == LeftOutBy::kSources) return run.set;
  std::string model;
  for (const char c : run.model_name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      model += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return fmt::format("{}|{}|{}", model,
                     cost::family_of(run.cluster.groups.front().node.device.short_name),
                     to_string(run.degrees.precision));
}

std::vector<const cost::StackLibrary*> LeftOut::library_of_runs() const {
  std::vector<const cost::StackLibrary*> of;
  for (const int fold : fold_of) of.push_back(&libraries[static_cast<std::size_t>(fold)]);
  return of;
}

LeftOut leave_out(const cost::StackLibrary& library, const std::vector<Run>& runs,
                  const LeaveOutOptions& options) {
  LeftOut out;
  for (const Run& run : runs) out.group_of.push_back(left_out_group(run, options.by));
  std::vector<std::string> names = out.group_of;
  std::sort(names.begin(), names.end());
  out.groups = static_cast<int>(std::unique(names.begin(), names.end()) - names.begin());
  const int folds = std::max(1, std::min(options.folds, out.groups));
  const std::map<std::string, int> fold_of = deal(runs, out.group_of, folds);
  for (const std::string& group : out.group_of) out.fold_of.push_back(fold_of.at(group));

  std::mutex telling;
  int done = 0;
  const auto tell = [&] {
    const std::lock_guard<std::mutex> lock(telling);
    if (options.on_fit) options.on_fit(done, folds + 1);
    ++done;
  };
  tell();
  std::vector<const Run*> all;
  for (const Run& run : runs) all.push_back(&run);
  const cost::StackLibrary whole = fit_all(library, all, options.fit).library;
  tell();
  // A number that keeps its value where rows are too few must not keep one from the left-out rows.
  const cost::StackLibrary& start = options.fit.keep_uninformed ? library : whole;
  FitOptions warm = options.fit;
  warm.start_at_priors = false;
  out.libraries.resize(static_cast<std::size_t>(folds));
  parallel_for(out.libraries.size(), [&](std::size_t fold) {
    std::vector<const Run*> seen;
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (out.fold_of[i] != static_cast<int>(fold)) seen.push_back(&runs[i]);
    out.libraries[fold] = fit_all(start, seen, warm).library;
    tell();
  });
  return out;
}

}  // namespace nereus::calibrate
