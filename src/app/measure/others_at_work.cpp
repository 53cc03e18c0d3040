#include "app/measure/others_at_work.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace nereus::app {

namespace {

// CPU seconds except idle ones, including those that a hypervisor gave to other machines.
double seconds_of_all() {
  std::ifstream stat("/proc/stat");
  std::string cpu;
  double user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft = 0, steal = 0;
  stat >> cpu >> user >> nice >> system >> idle >> wait >> irq >> soft >> steal;
  return (user + nice + system + irq + soft + steal) /
         static_cast<double>(std::max(1L, sysconf(_SC_CLK_TCK)));
}

double seconds_of_ours() {
  double sum = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    getrusage(who, &used);
    for (const timeval& own : {used.ru_utime, used.ru_stime})
      sum += static_cast<double>(own.tv_sec) + 1e-6 * static_cast<double>(own.tv_usec);
  }
  return sum;
}

}  // namespace

OthersAtWork::OthersAtWork()
    : all_(seconds_of_all()), ours_(seconds_of_ours()), start_(std::chrono::steady_clock::now()) {}

double OthersAtWork::share() const {
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const double cores = static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
  return std::max(0.0, (seconds_of_all() - all_) - (seconds_of_ours() - ours_)) /
         (seconds * std::max(1.0, cores));
}

}  // namespace nereus::app
