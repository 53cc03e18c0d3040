// The state that a coordinator stores on disk, so that the same command can continue the job after
// the coordinator was killed.
//
//   save_state(folder, state);                              // atomic
//   std::optional<JobState> state = load_state(folder);     // empty: a new job. Throws Errors
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "launch/elastic/connection.hpp"

namespace nereus::launch {

struct JobState {
  std::int64_t generation = -1;
  std::map<std::string, int> ranks{};  // of the generation's members, by name
  std::string job{};                   // job_to_json()
  double step_s = 0;                   // predicted
  std::int64_t steps = 0;              // of the job
  std::int64_t steps_done = 0;
  Address listen{};
  bool complete = false;
};

void save_state(const std::string& folder, const JobState& state);
std::optional<JobState> load_state(const std::string& folder);

// Ensures one coordinator per job. The kernel holds the lock during the object's lifetime; it must
// be taken before any file of the folder is accessed. Throws Errors if another process holds it.
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
