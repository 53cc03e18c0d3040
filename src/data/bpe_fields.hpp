// Parts of the reading of a tokenizer.json that two files share (data/bpe.hpp is what others use).
#pragma once

#include <string>

#include "base/error.hpp"
#include "data/bpe.hpp"
#include "spec/value.hpp"

namespace nereus::data {

inline const std::string* text_in(const spec::Value* value) {
  return value == nullptr ? nullptr : std::get_if<std::string>(&value->data);
}

// A flag that says so; `absent` where there is none.
inline bool is_true(const spec::Value* value, bool absent) {
  if (value == nullptr || value->is_null()) return absent;
  const bool* flag = std::get_if<bool>(&value->data);
  return flag != nullptr && *flag;
}

inline bool is_false(const spec::Value* value) {  // or absent
  if (value == nullptr || value->is_null()) return true;
  const bool* flag = std::get_if<bool>(&value->data);
  return flag != nullptr && !*flag;
}

inline void refuse_field(const std::string& field, const spec::Value& place, const std::string& why,
                         ErrorList& errors) {
  errors.add("data.tokenizer", field + " " + why, place.where());
}

// The fields that say how text is split and what a model does with a piece: normalizer,
// pre_tokenizer and the options of model. Adds every field that is not read.
void read_bpe_kind(const spec::Value& root, const spec::Value& model, BpeModel& into,
                   ErrorList& errors);

}  // namespace nereus::data
