// Checks keys of another program's configuration file against those that the program accepts.
//
//   note_unknown_keys(table, kKeys, "zero_optimization.", reading);
//
// An unknown key is listed with the nearest known one. A typo in a key that decides the plan (one
// of `read`) is an error ("import.unknown-key").
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "export/bundle.hpp"
#include "spec/value.hpp"

namespace nereus::exporting {

struct KeySet {
  std::string_view read;     // names separated by blanks
  std::string_view ignored;  // known, but without effect on a plan
  std::vector<std::string> all() const;
  bool reads(std::string_view key) const;
};

void note_unknown_keys(const spec::Value& table, const KeySet& keys, const std::string& prefix,
                       std::string_view program, Reading& reading, ErrorList& errors);

}  // namespace nereus::exporting
