// Shared by tests of several folders: checks of errors.
//
//   EXPECT_THAT(codes_of([&] { load(path); }), ElementsAre("spec.syntax"));
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace nereus::testing {

// The codes of the errors that the call throws; empty if it throws none.
inline std::vector<std::string> codes_of(const std::function<void()>& call) {
  std::vector<std::string> codes;
  try {
    call();
  } catch (const Errors& errors) {
    for (const Error& error : errors.list()) codes.push_back(error.code);
  }
  return codes;
}

}  // namespace nereus::testing
