// `nereus doctor`: what is installed, what works, and what is missing for which use. Looks, and
// changes nothing.
//
//   DoctorAnswer answer = doctor();
//   if (!answer.healthy) ...             // something every verb needs is broken
#pragma once

#include <string>
#include <vector>

#include "timeline/check_trace.hpp"

namespace nereus::app {

enum class CheckStatus {
  kWorks,
  kAbsent,  // optional and not here; `needed_for` says who misses it
  kBroken,  // nothing works without it
};

struct Check {
  std::string group;  // "program", "machine", "libraries", "data", "tools", "permissions"
  std::string name;
  CheckStatus status = CheckStatus::kWorks;
  std::string detail;
  std::string needed_for;
};

struct DoctorAnswer {
  std::vector<Check> checks;
  bool healthy = true;  // no check is broken
};

DoctorAnswer doctor();

// Whether Perfetto takes a trace as it is meant. Throws Errors with what is wrong ("trace.fault").
timeline::TraceCheck check_trace(const std::string& file);

}  // namespace nereus::app
