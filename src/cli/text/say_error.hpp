// An error on stderr as people read it, for verbs that go on to say more or end with a code of
// their own. What is thrown is said by cli/cli.cpp.
#pragma once

#include "api/text/terminal.hpp"
#include "base/error.hpp"

namespace nereus::cli {

void say_error(const Error& error, const api::Terminal& terminal);

}  // namespace nereus::cli
