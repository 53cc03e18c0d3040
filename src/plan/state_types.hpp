// The number formats of a model's state and of its communication, as far as a plan sets them.
//
//   gradients   in which gradients are accumulated          (Megatron --main-grads-dtype)
//   reduced     in which they are reduced over ranks         (Megatron --grad-reduce-in-bf16,
//               torchtitan mixed_precision_reduce, DeepSpeed communication_data_type)
//   gathered    in which weights are gathered                (Megatron --fp8-param-gather)
//   moments     of the optimizer's two moments               (Megatron --exp-avg-dtype; 8-bit Adam,
//               Dettmers 2022)
//   master      the optimizer's copy of the weights; none = the 16-bit weights are updated
//               themselves                                   (Megatron --main-params-dtype)
//
// kStack means: as the training software does it (the bytes in cost::StackOptions, from which
// cost::options_for computes those of a plan). A part that is not named is kStack.
//
//   StateTypes types;
//   types.reduced = NumberType::kBf16;
//   for (const StateTypePart& part : kStateTypeParts) use(part.name, types.*part.type);
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace nereus::plan {

enum class NumberType { kStack, kFp32, kBf16, kFp16, kFp8, kInt8, kNone };
std::string_view to_string(NumberType type);
std::optional<NumberType> parse_number_type(std::string_view text);

struct StateTypes {
  NumberType gradients = NumberType::kStack;
  NumberType reduced = NumberType::kStack;
  NumberType gathered = NumberType::kStack;
  NumberType moments = NumberType::kStack;
  NumberType master = NumberType::kStack;
  bool operator==(const StateTypes&) const = default;
};

struct StateTypePart {
  std::string_view name;
  NumberType StateTypes::*type;
  std::span<const NumberType> allowed;  // besides kStack
};

namespace state_types {
inline constexpr NumberType kSums[] = {NumberType::kFp32, NumberType::kBf16, NumberType::kFp16};
inline constexpr NumberType kGathered[] = {NumberType::kFp32, NumberType::kBf16, NumberType::kFp16,
                                           NumberType::kFp8};
inline constexpr NumberType kMoments[] = {NumberType::kFp32, NumberType::kBf16, NumberType::kFp16,
                                          NumberType::kFp8, NumberType::kInt8};
inline constexpr NumberType kMasters[] = {NumberType::kFp32, NumberType::kBf16, NumberType::kFp16,
                                          NumberType::kNone};
}  // namespace state_types

inline constexpr StateTypePart kStateTypeParts[] = {
    {"gradients", &StateTypes::gradients, state_types::kSums},
    {"reduced", &StateTypes::reduced, state_types::kSums},
    {"gathered", &StateTypes::gathered, state_types::kGathered},
    {"moments", &StateTypes::moments, state_types::kMoments},
    {"master", &StateTypes::master, state_types::kMasters},
};

bool allows(const StateTypePart& part, NumberType type);
std::string allowed_words(const StateTypePart& part);  // "fp32, bf16, fp16"
// "gradients=bf16,moments=int8": the parts that are not kStack.
std::string to_string(const StateTypes& types);

}  // namespace nereus::plan
