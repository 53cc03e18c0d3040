// `nereus measure --stalls`: its options and the call.
//
//   StallOptions given;
//   add_stall_options(command, given);
//   return run_stalls(caller, train_request, given, output);
#pragma once

#include <optional>
#include <string>

#include "api/form/caller.hpp"
#include "api/form/command.hpp"
#include "api/verbs/options.hpp"
#include "app/train/train.hpp"

namespace nereus::api {

struct StallOptions {
  bool stalls = false;
  std::optional<double> seconds;
  std::optional<int> rounds;
  std::string svg_file, html_file;
};

void add_stall_options(Command& command, StallOptions& given);
// Called before any work starts, so that its errors are reported together with others.
void check_stall_options(const StallOptions& given, ErrorList& errors);
int run_stalls(Caller& caller, app::TrainRequest train, const StallOptions& given,
               const OutputOptions& output);

}  // namespace nereus::api
