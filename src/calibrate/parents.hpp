// Which known stack an unknown one is built on.
//
// By name: the known stack whose words stand in the new name ("simumax-megatron" -> megatron,
// "our_nemo-24.07" -> nemo-24), the longest if several do; or one of its variants and releases if
// that predicts the rows better. Otherwise the stack that predicts the rows best: the mean of
// |ln(predicted / measured)| of step time plus the mean error of memory, where it was reported.
// Either way only stacks that suit the family of the model and the device, and without penalties:
// numbers of one software's own bad modes (stalls, jitter), which say nothing about another one.
//
//   ParentChoice p = choose_parent(library, "simumax-megatron", rows);   // p.parent = "megatron"
//   add_stack(library, "simumax-megatron", p.parent);
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/runs.hpp"
#include "stack/stack.hpp"

namespace nereus::calibrate {

// The rows as runs of that stack of the library, because blank fields mean what the stack says.
using ReadRuns = std::function<std::vector<Run>(const cost::StackLibrary&, const std::string&)>;

struct ParentChoice {
  std::string parent;
  bool by_name = false;
  double error = 0;  // of time and memory, as above
};

// Whether software of this stack trains such a model on such a device. Stacks for embedding tables
// and stacks for CPUs are for nothing else, and `ideal` is no software.
bool suits(const cost::StackLibrary& library, const std::string& stack, const model::Model& model,
           const cluster::Device& device);

// The known stack that the words of a name point at; empty if there is none.
std::string named_parent(const cost::StackLibrary& library, std::string_view name);

// Throws Errors if no stack suits the rows.
ParentChoice choose_parent(const cost::StackLibrary& library, const std::string& name,
                           const ReadRuns& read);

// Adds a stack that inherits everything from the parent but its penalties.
void add_stack(cost::StackLibrary& library, const std::string& name, const std::string& parent);
bool is_penalty(std::string_view parameter);

// Mean errors of rows.
double mean_time_error(const std::vector<const Run*>& runs, const cost::StackLibrary& library);
double mean_memory_error(const std::vector<const Run*>& runs, const cost::StackLibrary& library);

}  // namespace nereus::calibrate
