// `nereus measure --stalls`: options and the call.
//
//   StallOptions given;
//   add_stall_options(command, given);
//   return run_stalls(session, train_request, given, output);
#pragma once

#include <optional>
#include <string>

#include "app/train/train.hpp"
#include "cli/text/command.hpp"
#include "cli/verbs/options.hpp"

namespace nereus::cli {

struct StallOptions {
  bool stalls = false;
  std::optional<double> seconds;
  std::optional<int> rounds;
  std::string svg_file, html_file;
};

void add_stall_options(Command& command, StallOptions& given);
// Before anything is done, and beside what else is wrong.
void check_stall_options(const StallOptions& given, ErrorList& errors);
int run_stalls(const Session& session, app::TrainRequest train, const StallOptions& given,
               const OutputOptions& output);

}  // namespace nereus::cli
