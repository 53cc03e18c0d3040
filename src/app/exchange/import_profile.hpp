// `nereus import PROFILE...`: other people's measured layers as one profile of Nereus.
//
//   if (are_profiles(paths)) ImportedProfile p = import_profile(paths, "a100.json");
//   p.profile.notes;             // what was left out or repaired
#pragma once

#include <string>
#include <vector>

#include "profile/profile.hpp"

namespace nereus::app {

struct ImportedProfile {
  std::vector<std::string> files{};  // all that were read
  profile::Profile profile{};
};

// Whether the first file that is one of JSON has the form of a profile.
bool are_profiles(const std::vector<std::string>& paths);
// Throws Errors; writes the profile where a file is named.
ImportedProfile import_profile(const std::vector<std::string>& paths, const std::string& output);

}  // namespace nereus::app
