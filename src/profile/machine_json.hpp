// Reads and writes the keys of a profile for a measured machine (profile/machine_profile.hpp).
//
//   profile.machine = read_machine(reader);          // adds errors to the reader's list
//   text += machine_members(profile.machine);        // ",\n \"context\": {..}, .." or empty
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "profile/machine_profile.hpp"
#include "spec/reader.hpp"

namespace nereus::profile {

// Codes: profile.value, profile.quantiles, profile.processes, profile.twice, and the Reader's.
Machine read_machine(spec::Reader& r);
nlohmann::ordered_json to_json(const Quantiles& q);
// One line per entry; keys without measurements are left out.
std::string machine_members(const Machine& machine);

}  // namespace nereus::profile
