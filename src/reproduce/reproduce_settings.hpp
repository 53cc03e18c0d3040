// What --set may change of a system whose claims share one list of settings, all under "all.".
// Inside reproduce/ only.
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
  double least = 0, most = 0;  // of numbers; both 0 for words
  bool chooses = false;        // which claims are made, not what they say
  bool whole = false;          // a number without a fraction
};

// What was set, with the options that say so again.
struct ReproduceSettings {
  std::map<std::string, std::string> text;
  std::set<std::string> given;
  std::string options;

  double number(const std::string& field) const;
  // Whether a claim of this model, trace or part is wanted.
  bool wants(const std::string& field, const std::string& value) const;
  // Adds an error where the field's word is none of the known ones. Only one that was not given may
  // be empty: it stands for all of them.
  void require_one_of(const std::string& field, const std::vector<std::string>& known,
                      ErrorList& errors) const;
};

ReproduceSettings read_settings(std::span<const ReproduceField> fields,
                                const ReproduceRequest& request);

}  // namespace nereus::app
