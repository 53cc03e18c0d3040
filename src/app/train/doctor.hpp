// `nereus doctor`: reports what is installed, what works, and what is missing for which use. It
// changes nothing.
//
//   DoctorAnswer answer = doctor("build/release/nereus-worker");
//   if (!answer.healthy) ...             // something that every verb needs is broken
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "timeline/check_trace.hpp"

namespace nereus::app {

enum class CheckStatus {
  kWorks,
  kAbsent,  // optional and not installed; `needed_for` says what needs it
  kBroken,  // nothing works without it
};

struct Check {
  std::string group;  // "program", "training", "machine", "libraries", "data", "tools", ..
  std::string name;
  CheckStatus status = CheckStatus::kWorks;
  std::string detail;
  std::string needed_for;
};

struct DoctorAnswer {
  std::vector<Check> checks;
  bool healthy = true;  // no check is kBroken
};

// `worker` is the path of the program that runs ranks.
DoctorAnswer doctor(const std::string& worker);

// A library and an architecture on which the worker was tested, from data/proven.toml.
struct Proven {
  std::string library;
  std::string backends;
  std::string architecture;
  std::string date;
  std::string commit;
  std::string what;
};
std::vector<Proven> parse_proven(std::string_view toml);  // throws Errors

// Checks that Perfetto reads a trace as intended. Throws Errors with what is wrong ("trace.fault").
timeline::TraceCheck check_trace(const std::string& file);

}  // namespace nereus::app
