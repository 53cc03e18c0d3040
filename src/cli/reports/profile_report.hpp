// What `nereus import` found in files of measured layers.
#pragma once

#include "app/exchange/import_profile.hpp"
#include "cli/text/report.hpp"

namespace nereus::cli {

Report profile_report(const app::ImportedProfile& imported);

}  // namespace nereus::cli
