// The stack that a row's columns name. A stack may have variants for certain releases, and for rows
// with a certain column set.
//
//   stack_of(row, library, "generic")     // "nemo-24" for nemo of 2024
#pragma once

#include <string>

#include "calibrate/run_row.hpp"
#include "stack/stack.hpp"

namespace nereus::calibrate {

// The variant of the stack `name` for a row's columns.
std::string variant_of(std::string name, const Row& row, const cost::StackLibrary& library);
// `fallback` where the library does not have the stack that the row names.
std::string stack_of(const Row& row, const cost::StackLibrary& library,
                     const std::string& fallback);

}  // namespace nereus::calibrate
