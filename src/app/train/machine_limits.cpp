#include "app/train/machine_limits.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.hpp"
#include "cluster/this_machine.hpp"

namespace nereus::app {

namespace {

constexpr double kLeastWorker = 100.0 * (1 << 20);
constexpr int kFewProcesses = 8;  // that any machine may try
constexpr int kThreadsPerCore = 32;

}  // namespace

int most_processes(double memory_bytes) {
  constexpr double kMost = 1 << 20;
  return static_cast<int>(
      std::clamp(memory_bytes / kLeastWorker, static_cast<double>(kFewProcesses), kMost));
}

int most_threads(int cores) { return kThreadsPerCore * std::max(1, cores); }

void check_processes(const std::string& what, int count, ErrorList& errors) {
  const double memory = cluster::memory_of_machine();
  const int most = most_processes(memory);
  if (count <= most) return;
  errors.add(
      "train.too-many-processes",
      fmt::format("{} {} are too many: each needs at least {}, but this machine has {}", count,
                  what, human(kLeastWorker, Unit::kBytes), human(memory, Unit::kBytes)),
      {}, fmt::format("{} or fewer on this machine, and the others on other machines", most));
}

void check_threads(const std::string& option, int count, ErrorList& errors) {
  const int cores = cluster::usable_cores();
  const int most = most_threads(cores);
  if (count <= most) return;
  errors.add("train.too-many-threads",
             fmt::format("{} {} are too many for a machine with {}", option, count,
                         counted(cores, "core")),
             {}, fmt::format("{} {} uses all of it; at most {}", option, cores, most));
}

}  // namespace nereus::app
