// Plans as JSON files. A file includes the model and the cluster, so that a worker needs nothing
// else.
//
//   {"schema_version": 1,
//    "model": {..}, "cluster": {..}, "stack": "megatron",
//    "degrees": {"tp": 8, ..},                       if the plan is regular
//    "placement": {
//     "global_batch": 2048, "precision": "bf16", "schedule": "1f1b", ..,
//     "runs": [
//      {"first_layer": 0, "num_layers": 8, "stage": 0,
//       "replicas": [{"count": 128, "team_stride": 8, "tp": 8, ..}],
//       "state": [{"kinds": ["weights", "gradients"], "cut": 8, "num_slices": 8,
//                  "ranks": [[0, 128, 8]]}, ..]},
//      ..]}}
//
// Keys are the fields of plan/placement.hpp and plan/degrees.hpp. Runs, replicas and state leave
// out fields with their default value. Ranks are [first, count, stride]. One entry of `state`
// stands for one share per kind in its `kinds`. Each run is on one line, so that line numbers in
// errors are useful. The general placement is always written, even if there are degrees.
//
//   write_file(path, plan_to_json(plan));   // or save_plan(path, plan)
//   Plan plan = load_plan("best.plan");     // reads and checks; throws Errors with all errors
//
// A plan that was written reads back equal (==). A file with another schema_version gives the error
// "plan.schema-version", and nothing else in the file is read.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "plan/placement.hpp"
#include "spec/value.hpp"

namespace nereus::plan {

inline constexpr int kPlanSchemaVersion = 1;

std::string plan_to_json(const Plan& plan);
// Checks syntax, keys and types only; throws Errors.
Plan parse_plan(std::string_view text, const std::string& file);
// Like parse_plan(), for a plan inside another file. After a version error nothing else is read.
Plan plan_from_value(const spec::Value& value, ErrorList& errors);

// All errors of a plan: those of its placement (plan/check.hpp), and "plan.degrees-disagree" if its
// degrees do not expand to its placement.
std::vector<Error> check_plan(const Plan& plan);

Plan load_plan(const std::string& path);
// Writes the whole file or nothing: to a temporary file next to the target, flushed, then renamed.
void save_plan(const std::string& path, const Plan& plan);

spec::Value degrees_to_value(const Degrees& degrees);  // every field
Degrees degrees_from_value(const spec::Value& value, ErrorList& errors);
spec::Value placement_to_value(const Placement& placement);

}  // namespace nereus::plan
