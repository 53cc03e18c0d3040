// Stacks, devices and sites from TOML. The files of data/stacks are part of the program; a user's
// file has the same form and is laid over them.
//
//   [stack.mine]
//   description = "our fork of Megatron"
//   inherits = "megatron"
//   attention = "flash"                       # options: what stack/stack.hpp lists
//   [stack.mine.defaults]                     # what a blank field of a table of runs means
//   recompute = "full"
//   [stack.mine.parameters]                   # numbers of stack/parameters.hpp, with their unit
//   host_layer = "1.4 ms"
//   network_efficiency = { value = 0.71, low = 0.62, high = 0.80, rows = 24 }
//   [stack.mine.fit]                          # what calibrate may move: prior and spread
//   host_layer = { prior = "1.5 ms", spread = 0.5 }
//
// [device.NAME] and [site.NAME] hold `parameters` and `fit` likewise; a site also has `sets`,
// `network`, `description` and `source`.
#pragma once

#include <string>
#include <string_view>

#include "cluster/cluster.hpp"
#include "model/model.hpp"
#include "stack/stack.hpp"

namespace nereus::cost {

const StackLibrary& builtin_stacks();  // read once, at the first call

// Lays the file's entries over `library`. Throws Errors with all that is wrong. Returns the names
// of the stacks that the file defines.
std::vector<std::string> overlay_stacks(StackLibrary& library, std::string_view text,
                                        const std::string& file);

// Lays a file over the library. Returns the one stack that no other of its stacks builds on; empty
// where there is none or more than one.
std::string overlay_file(StackLibrary& library, const std::string& path);

// A stack by name, or FILE or FILE:NAME of a user's own (a file that defines one stack needs no
// name).
Stack load_stack(std::string_view name_or_file, std::string_view site = {});

// The stack where nobody names one: Megatron Core as it is now where runs on such devices are
// behind it, else the older Megatron-LM; for models with embedding tables one of their own.
std::string default_stack(const model::Model& model, const cluster::Device& device);
// Of several kinds of node: that of the kinds which together compute most by their data sheets, so
// that the order in which they are written does not matter.
std::string default_stack(const model::Model& model, const cluster::Cluster& cluster);

// The text of a file that `overlay_stacks` reads back: the given scopes with their values and
// ranges.
std::string write_stacks(const StackLibrary& library, const std::vector<Scope>& scopes,
                         const std::string& comment);

}  // namespace nereus::cost
