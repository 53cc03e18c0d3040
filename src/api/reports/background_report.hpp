// Reports what background jobs did, and how much they slowed the foreground: tables for people,
// JSON for scripts.
#pragma once

#include <string>
#include <vector>

#include "api/form/report.hpp"
#include "launch/background/outcome.hpp"

namespace nereus::api {

std::vector<Table> background_tables(const launch::BackgroundOutcome& outcome);
std::string background_json(const launch::BackgroundOutcome& outcome);

}  // namespace nereus::api
