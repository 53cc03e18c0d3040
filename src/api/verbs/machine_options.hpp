// Options of every verb that starts ranks: what a step does, the device, communication, threads,
// and how samples are loaded.
//
//   MachineOptions given;
//   add_machine_options(command, request, given);
//   take_machine_options(given, request, errors);       // after the command line is read
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "api/form/command.hpp"
#include "app/train/train.hpp"
#include "base/error.hpp"

namespace nereus::api {

struct StepOptions {
  std::optional<int> seed, norm_group;
  std::optional<double> clip, dropout;
};

struct MachineOptions {
  std::optional<int> threads, loaders, prefetch;
  std::optional<double> timeout;
  std::optional<bool> graphs, shuffle, pinned;
};

// The names of an enumeration's values, as job/ writes them.
template <class Enum>
std::vector<Choice> job_choices(Enum& target, std::initializer_list<Enum> values) {
  std::vector<Choice> choices;
  for (const Enum value : values)
    choices.push_back({std::string(job::to_string(value)), [&target, value] { target = value; }});
  return choices;
}

void add_step_options(Command& command, app::TrainRequest& request, StepOptions& given);
void take_step_options(const StepOptions& given, app::TrainRequest& request, ErrorList& errors);
void add_data_options(Command& command, app::TrainRequest& request, MachineOptions& given);
void add_machine_options(Command& command, app::TrainRequest& request, MachineOptions& given);
void take_machine_options(const MachineOptions& given, app::TrainRequest& request,
                          ErrorList& errors);

// Sets `target` if the number is within [least, most]; otherwise adds an error with the option's
// name.
void set_within(double& target, const std::optional<double>& given, const char* name, double least,
                double most, ErrorList& errors);

}  // namespace nereus::api
