// Plans as files: JSON that carries its model and its cluster, so that a worker needs nothing else.
//
//   {"schema_version": 1,
//    "model": {..}, "cluster": {..}, "stack": "megatron",
//    "degrees": {"tp": 8, ..},                       where the plan is regular
//    "placement": {
//     "global_batch": 2048, "precision": "bf16", "schedule": "1f1b", ..,
//     "runs": [
//      {"first_layer": 0, "num_layers": 8, "stage": 0,
//       "replicas": [{"count": 128, "team_stride": 8, "tp": 8, ..}],
//       "state": [{"kinds": ["weights", "gradients"], "cut": 8, "num_slices": 8,
//                  "ranks": [[0, 128, 8]]}, ..]},
//      ..]}}
//
// Keys are the fields of plan/placement.hpp and plan/degrees.hpp; in runs, replicas and state those
// at their defaults are left out. Ranks are [first, count, stride]; one table of state stands for a
// share of each of its kinds. One run a line, so that places in errors mean something. The general
// placement is always written, also beside degrees.
//
//   write_file(path, plan_to_json(plan));   // or save_plan(path, plan)
//   Plan plan = load_plan("best.plan");     // read, checked; throws Errors with all that is wrong
//
// What is written reads back equal (==). Another schema_version is an error of its own
// ("plan.schema-version"): such a file is not looked at further.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "plan/placement.hpp"
#include "spec/value.hpp"

namespace nereus::plan {

inline constexpr int kPlanSchemaVersion = 1;

std::string plan_to_json(const Plan& plan);
// Syntax, keys and types only; throws Errors.
Plan parse_plan(std::string_view text, const std::string& file);
// The same of a plan inside another file. After an error of the version nothing else is read.
Plan plan_from_value(const spec::Value& value, ErrorList& errors);

// What is wrong with a plan: its placement (plan/check.hpp), and degrees that say something else
// than the placement ("plan.degrees-disagree").
std::vector<Error> check_plan(const Plan& plan);

Plan load_plan(const std::string& path);
// The whole file or none: written beside the target, flushed, and renamed over it.
void save_plan(const std::string& path, const Plan& plan);

spec::Value degrees_to_value(const Degrees& degrees);  // every field
Degrees degrees_from_value(const spec::Value& value, ErrorList& errors);
spec::Value placement_to_value(const Placement& placement);

}  // namespace nereus::plan
