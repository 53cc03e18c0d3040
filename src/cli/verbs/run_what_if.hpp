// `nereus measure --what-if FILE...`: options and the call.
#pragma once

#include <string>
#include <vector>

#include "cli/text/command.hpp"
#include "cli/verbs/options.hpp"
#include "cli/verbs/run_stalls.hpp"

namespace nereus::cli {

struct WhatIfOptions {
  std::vector<std::string> files;
  std::vector<std::string> changes;
  bool named() const { return !files.empty() || !changes.empty(); }
};

void add_what_if_options(Command& command, WhatIfOptions& given);
int run_what_if(const Session& session, const WhatIfOptions& given, const StallOptions& pictures,
                const OutputOptions& output);

}  // namespace nereus::cli
