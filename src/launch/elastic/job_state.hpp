// What a coordinator leaves on disk, so that the same call goes on after it was killed.
//
//   save_state(folder, state);                              // whole or not at all
//   std::optional<JobState> state = load_state(folder);     // nothing: a new job. Throws Errors
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "launch/elastic/connection.hpp"

namespace nereus::launch {

struct JobState {
  std::int64_t generation = -1;
  std::map<std::string, int> ranks{};  // of its members, by name
  std::string job{};                   // job_to_json()
  double step_s = 0;                   // predicted
  std::int64_t steps = 0;              // of that job
  std::int64_t steps_done = 0;
  Address listen{};
  bool complete = false;
};

void save_state(const std::string& folder, const JobState& state);
std::optional<JobState> load_state(const std::string& folder);

// One coordinator a job: held while it lives, by the kernel; taken before any file of the folder is
// touched. Throws Errors where another holds it.
class JobLock {
 public:
  explicit JobLock(const std::string& folder);
  ~JobLock();
  JobLock(const JobLock&) = delete;
  JobLock& operator=(const JobLock&) = delete;

 private:
  int fd_ = -1;
};

}  // namespace nereus::launch
