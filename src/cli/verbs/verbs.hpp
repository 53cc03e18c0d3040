// Every verb's own file defines one of these: a command that knows its arguments and what to do.
// The order in cli.cpp is the order in help.
#pragma once

#include <memory>

#include "cli/text/command.hpp"
#include "cli/verbs/options.hpp"

namespace nereus::cli {

using Verb = std::unique_ptr<Command>;

Verb plan_verb(const Session& session);
Verb predict_verb(const Session& session);
Verb simulate_verb(const Session& session);
Verb explore_verb(const Session& session);
Verb recommend_verb(const Session& session);
Verb measure_verb(const Session& session);
Verb data_verb(const Session& session);
Verb train_verb(const Session& session);
Verb agent_verb(const Session& session);
Verb explain_verb(const Session& session);
Verb export_verb(const Session& session);
Verb import_verb(const Session& session);
Verb validate_verb(const Session& session);
Verb calibrate_verb(const Session& session);
Verb reproduce_verb(const Session& session);
Verb catalog_verb(const Session& session);
Verb doctor_verb(const Session& session);
Verb version_verb(const Session& session);

}  // namespace nereus::cli
