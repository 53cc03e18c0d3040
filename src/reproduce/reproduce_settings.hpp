// The settings that --set may change, for systems whose claims share one list of settings, all
// under "all.". Only for use inside reproduce/.
//
//   ReproduceSettings s = read_settings(kFields, request);      // throws Errors
//   s.number("bandwidth_gbit_s"); s.wants("model", "GPT-2");
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "reproduce/reproduce.hpp"

namespace nereus::app {

struct ReproduceField {
  const char* name;
  const char* usual;
  double least = 0, most = 0;  // for numbers; both 0 for words
  bool chooses = false;        // selects claims, but does not change them
  bool whole = false;          // a number without a fraction
};

// The settings, and the command-line options that give these settings.
struct ReproduceSettings {
  std::map<std::string, std::string> text;
  std::set<std::string> given;
  std::string options;

  double number(const std::string& field) const;
  // Whether a claim about this model, trace or part was requested.
  bool wants(const std::string& field, const std::string& value) const;
  // Adds an error if the field's word is unknown. A field that was not given is empty, which means
  // all words.
  void require_one_of(const std::string& field, const std::vector<std::string>& known,
                      ErrorList& errors) const;
};

ReproduceSettings read_settings(std::span<const ReproduceField> fields,
                                const ReproduceRequest& request);

}  // namespace nereus::app
