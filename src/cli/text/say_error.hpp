// An error on stderr as people read it, for verbs that go on to say more or end with a code of
// their own. What is thrown is said by cli/cli.cpp.
#pragma once

#include "base/error.hpp"
#include "cli/text/terminal.hpp"

namespace nereus::cli {

void say_error(const Error& error, const Terminal& terminal);

}  // namespace nereus::cli
