// `nereus import PROFILE...`: converts other people's measured layers to one profile of Nereus.
//
//   if (are_profiles(paths)) ImportedProfile p = import_profile(paths, "a100.json");
//   p.profile.notes;             // what was skipped or repaired
#pragma once

#include <string>
#include <vector>

#include "profile/profile.hpp"

namespace nereus::app {

struct ImportedProfile {
  std::vector<std::string> files{};  // all files that were read
  profile::Profile profile{};
};

// Whether the first JSON file has the form of a profile.
bool are_profiles(const std::vector<std::string>& paths);
// Writes the profile if `output` names a file. Throws Errors.
ImportedProfile import_profile(const std::vector<std::string>& paths, const std::string& output);

}  // namespace nereus::app
