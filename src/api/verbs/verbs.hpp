// Each verb has a file that defines one of these functions: it builds a command with its fields and
// its code.
//
//   for (const VerbMaker& make : all_verbs()) make.build(caller)->summary();
//
// Help lists verbs in the order of all_verbs().
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "api/form/caller.hpp"
#include "api/form/command.hpp"
#include "api/verbs/options.hpp"

namespace nereus::api {

using Verb = std::unique_ptr<Command>;

Verb plan_verb(Caller& caller);
Verb predict_verb(Caller& caller);
Verb simulate_verb(Caller& caller);
Verb explore_verb(Caller& caller);
Verb recommend_verb(Caller& caller);
Verb measure_verb(Caller& caller);
Verb data_verb(Caller& caller);
Verb train_verb(Caller& caller);
Verb agent_verb(Caller& caller);
Verb explain_verb(Caller& caller);
Verb export_verb(Caller& caller);
Verb import_verb(Caller& caller);
Verb validate_verb(Caller& caller);
Verb calibrate_verb(Caller& caller);
Verb reproduce_verb(Caller& caller);
Verb catalog_verb(Caller& caller);
Verb doctor_verb(Caller& caller);
Verb version_verb(Caller& caller);
Verb schema_verb(Caller& caller);

struct VerbMaker {
  std::string_view name;
  Verb (*build)(Caller& caller);  // each call builds a command with a new request
};
const std::vector<VerbMaker>& all_verbs();
// Null if there is no verb of that name.
Verb make_verb(std::string_view name, Caller& caller);
std::vector<std::string> verb_names();

}  // namespace nereus::api
