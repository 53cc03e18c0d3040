// Options of every verb that starts ranks: device, talk, threads, and how samples are loaded.
//
//   MachineOptions given;
//   add_machine_options(command, request, given);
//   take_machine_options(given, request, errors);       // once the command line is read
#pragma once

#include <optional>

#include "app/train.hpp"
#include "base/error.hpp"
#include "cli/command.hpp"

namespace nereus::cli {

struct MachineOptions {
  std::optional<int> threads, loaders, prefetch;
  std::optional<double> timeout;
  std::optional<bool> graphs, shuffle;
};

void add_data_options(Command& command, app::TrainRequest& request, MachineOptions& given);
void add_machine_options(Command& command, app::TrainRequest& request, MachineOptions& given);
void take_machine_options(const MachineOptions& given, app::TrainRequest& request,
                          ErrorList& errors);

// A number within [least, most], or an error with the option's name.
void set_within(double& target, const std::optional<double>& given, const char* name, double least,
                double most, ErrorList& errors);

}  // namespace nereus::cli
