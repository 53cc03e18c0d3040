// `nereus measure --what-if FILE...`: its options and the call.
#pragma once

#include <string>
#include <vector>

#include "api/form/caller.hpp"
#include "api/form/command.hpp"
#include "api/verbs/options.hpp"
#include "api/verbs/run_stalls.hpp"

namespace nereus::api {

struct WhatIfOptions {
  std::vector<std::string> files;
  std::vector<std::string> changes;
  bool named() const { return !files.empty() || !changes.empty(); }
};

void add_what_if_options(Command& command, WhatIfOptions& given);
int run_what_if(Caller& caller, const WhatIfOptions& given, const StallOptions& pictures,
                const OutputOptions& output);

}  // namespace nereus::api
