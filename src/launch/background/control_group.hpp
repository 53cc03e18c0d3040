// A control group for a background job, where this process may make one: least weight against
// everybody else, and no more memory than its quota, held by the kernel. Version 2 beside or below
// this process's own group, where the controllers are delegated; else version 1.
//
//   const auto group = ControlGroup::make("nereus-background-17", bytes);   // nullptr: not allowed
//   group->add(pid);                                  // and what it starts from then on
//
// The folders go with it; processes in it must have ended.
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
