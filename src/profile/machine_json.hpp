// The keys of a profile that hold a measured machine (profile/machine_profile.hpp).
//
//   profile.machine = read_machine(reader);          // faults go to the reader's list
//   text += machine_members(profile.machine);        // ",\n \"context\": {..}, .." or nothing
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "profile/machine_profile.hpp"
#include "spec/reader.hpp"

namespace nereus::profile {

// Codes: profile.value, profile.quantiles, profile.processes, profile.twice, and the Reader's own.
Machine read_machine(spec::Reader& r);
nlohmann::ordered_json to_json(const Quantiles& q);
// A line an entry; keys of what was not measured are left out.
std::string machine_members(const Machine& machine);

}  // namespace nereus::profile
