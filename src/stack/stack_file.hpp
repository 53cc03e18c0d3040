// Reads stacks, devices and sites from TOML. The files in data/stacks are built in; a user's file
// has the same form and overrides them.
//
//   [stack.mine]
//   description = "our fork of Megatron"
//   inherits = "megatron"
//   attention = "flash"                       # options, see stack/stack.hpp
//   [stack.mine.defaults]                     # meaning of blank fields in a table of runs
//   recompute = "full"
//   [stack.mine.parameters]                   # numbers of stack/parameters.hpp, with units
//   host_layer = "1.4 ms"
//   network_efficiency = { value = 0.71, low = 0.62, high = 0.80, rows = 24 }
//   [stack.mine.fit]                          # what calibrate may change: prior and spread
//   host_layer = { prior = "1.5 ms", spread = 0.5 }
//
// A text `left_out` before all tables has the errors of the file's stacks on runs that their fit
// had not seen, as CSV (stack/error_table.hpp).
//
// [device.NAME] and [site.NAME] have the same `parameters` and `fit`; a site also has `sets`,
// `network`, `description` and `source`.
#pragma once

#include <string>
#include <string_view>

#include "cluster/cluster.hpp"
#include "model/model.hpp"
#include "stack/stack.hpp"

namespace nereus::cost {

const StackLibrary& builtin_stacks();  // read once, at the first call

// Merges the file's entries into `library`. Throws Errors with all errors. Returns the names of the
// stacks that the file defines.
std::vector<std::string> overlay_stacks(StackLibrary& library, std::string_view text,
                                        const std::string& file);

// Adds an error table in its CSV form.
void add_errors(StackLibrary& library, std::string_view csv, const std::string& file);

// Merges a file into the library. Returns the only stack of the file from which no other stack of
// the file inherits; empty if there is none or more than one.
std::string overlay_file(StackLibrary& library, const std::string& path);

// Loads a stack by name, or a user's FILE or FILE:NAME (a file that defines one stack needs no
// name).
Stack load_stack(std::string_view name_or_file, std::string_view site = {});

// The default stack: the current Megatron Core if runs on such devices are known, else the older
// Megatron-LM; a separate one for models with embedding tables.
std::string default_stack(const model::Model& model, const cluster::Device& device);
// For several kinds of node: the default stack of the kinds which together have the highest peak.
// So the order in which they are written does not matter.
std::string default_stack(const model::Model& model, const cluster::Cluster& cluster);

// The text of a file for `overlay_stacks`: the given scopes, with their values and ranges.
std::string write_stacks(const StackLibrary& library, const std::vector<Scope>& scopes,
                         const std::string& comment);

}  // namespace nereus::cost
