#include "plan/state_types.hpp"

#include <algorithm>

#include "plan/names.hpp"

namespace nereus::plan {

namespace {

constexpr Names<NumberType, 7> kNumberTypes{{{NumberType::kStack, "stack"},
                                             {NumberType::kFp32, "fp32"},
                                             {NumberType::kBf16, "bf16"},
                                             {NumberType::kFp16, "fp16"},
                                             {NumberType::kFp8, "fp8"},
                                             {NumberType::kInt8, "int8"},
                                             {NumberType::kNone, "none"}}};

}  // namespace

std::string_view to_string(NumberType type) { return name_of(kNumberTypes, type); }
std::optional<NumberType> parse_number_type(std::string_view text) {
  return value_of(kNumberTypes, text);
}

bool allows(const StateTypePart& part, NumberType type) {
  return type == NumberType::kStack ||
         std::find(part.allowed.begin(), part.allowed.end(), type) != part.allowed.end();
}

std::string allowed_words(const StateTypePart& part) {
  std::string words;
  for (const NumberType type : part.allowed) {
    words += words.empty() ? "" : ", ";
    words += to_string(type);
  }
  return words;
}

std::string to_string(const StateTypes& types) {
  std::string text;
  for (const StateTypePart& part : kStateTypeParts) {
    if (types.*part.type == NumberType::kStack) continue;
    text += text.empty() ? "" : ",";
    text += part.name;
    text += '=';
    text += to_string(types.*part.type);
  }
  return text;
}

}  // namespace nereus::plan
