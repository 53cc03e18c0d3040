// Prints an error on stderr for people. For verbs that continue after an error, or end with a
// special exit code; cli/cli.cpp prints thrown errors.
#pragma once

#include "api/text/terminal.hpp"
#include "base/error.hpp"

namespace nereus::cli {

void say_error(const Error& error, const api::Terminal& terminal);

}  // namespace nereus::cli
