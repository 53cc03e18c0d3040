// Helpers to read a tokenizer.json that two source files share (data/bpe.hpp is the public header).
#pragma once

#include <string>

#include "base/error.hpp"
#include "data/bpe.hpp"
#include "spec/value.hpp"

namespace nereus::data {

inline const std::string* text_in(const spec::Value* value) {
  return value == nullptr ? nullptr : std::get_if<std::string>(&value->data);
}

// Whether a flag is true; `absent` if it is missing.
inline bool is_true(const spec::Value* value, bool absent) {
  if (value == nullptr || value->is_null()) return absent;
  const bool* flag = std::get_if<bool>(&value->data);
  return flag != nullptr && *flag;
}

inline bool is_false(const spec::Value* value) {  // true if it is absent
  if (value == nullptr || value->is_null()) return true;
  const bool* flag = std::get_if<bool>(&value->data);
  return flag != nullptr && !*flag;
}

inline void refuse_field(const std::string& field, const spec::Value& place, const std::string& why,
                         ErrorList& errors) {
  errors.add("data.tokenizer", field + " " + why, place.where());
}

// Reads the fields that decide how text is split and how the model merges a piece: normalizer,
// pre_tokenizer and the options of `model`. Adds an error for every unsupported field.
void read_bpe_kind(const spec::Value& root, const spec::Value& model, BpeModel& into,
                   ErrorList& errors);

}  // namespace nereus::data
