// A control group for a background job, if this process may create one: the kernel gives it the
// least CPU weight, and limits its memory to the quota. Uses version 2, next to or below this
// process's group, if the controllers are delegated; otherwise version 1.
//
//   const auto group = ControlGroup::make("nereus-background-17", bytes);   // nullptr: not allowed
//   group->add(pid);                                  // also applies to its later children
//
// The destructor removes the folders; processes in the group must have ended.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

namespace nereus::launch {

class ControlGroup {
 public:
  static std::unique_ptr<ControlGroup> make(const std::string& name, double memory_bytes);
  ~ControlGroup();
  ControlGroup(const ControlGroup&) = delete;
  ControlGroup& operator=(const ControlGroup&) = delete;

  void add(pid_t pid) const;
  bool limits_memory() const { return limits_memory_; }

 private:
  ControlGroup() = default;
  std::vector<std::string> folders_;
  bool limits_memory_ = false;
};

}  // namespace nereus::launch
