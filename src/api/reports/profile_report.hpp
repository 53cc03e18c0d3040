// Reports what `nereus import` found in files of measured layers.
#pragma once

#include "api/form/report.hpp"
#include "app/exchange/import_profile.hpp"

namespace nereus::api {

Report profile_report(const app::ImportedProfile& imported);

}  // namespace nereus::api
