// The lists in Choices, each with the command-line option that fills it. plan/degree_fields.hpp is
// the counterpart for one plan.
//
//   for_each_choice([&](const auto& field) { use(field.name, choices.*field.list); });
//   given_options(choices);   // {"--tp", "--max-tp"}: what a planner without degrees rejects
//
// If a list is missing here, the code does not compile. The order is that of Choices and of the
// options.
#pragma once

#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/count_fields.hpp"
#include "search/regular/space.hpp"

namespace nereus::search {

template <class T>
struct ChoiceField {
  std::string_view name;  // of the field of plan::Degrees
  const char* option;     // nullptr: no option
  std::vector<T> Choices::*list;
};
// Clang 14 does not deduce T from an aggregate's members.
template <class T>
ChoiceField(std::string_view, const char*, std::vector<T> Choices::*) -> ChoiceField<T>;

namespace fields {

using C = Choices;

inline constexpr std::tuple kChoices{
    ChoiceField{"tp", "--tp", &C::tp},
    ChoiceField{"pp", "--pp", &C::pp},
    ChoiceField{"dp", "--dp", &C::dp},
    ChoiceField{"cp", "--cp", &C::cp},
    ChoiceField{"ep", "--ep", &C::ep},
    ChoiceField{"expert_tp", nullptr, &C::expert_tp},
    ChoiceField{"interleave", "--interleave", &C::interleave},
    ChoiceField{"micro_batch", "--micro-batch", &C::micro_batch},
    ChoiceField{"zero", "--zero", &C::zero},
    ChoiceField{"zero_group", "--zero-group", &C::zero_group},
    ChoiceField{"recompute", "--recompute", &C::recompute},
    ChoiceField{"schedule", "--schedule", &C::schedules},
    ChoiceField{"context", "--context", &C::contexts},
    ChoiceField{"table_split", "--table-split", &C::table_splits},
    ChoiceField{"offload", "--offload", &C::offloads},
    ChoiceField{"sequence_parallel", "--sequence-parallel", &C::sequence_parallel},
    ChoiceField{"tensor_overlap", "--tensor-overlap", &C::tensor_overlap},
    ChoiceField{"data_overlap", "--data-overlap", &C::data_overlap},
};

// The fields that are not lists: offload_any and offload_tiers (--offload any), max_tp (--max-tp),
// global_batch and precision, which every planner reads, and state_types (--state-types).
inline constexpr std::size_t kNumOthers = 6;
static_assert(std::tuple_size_v<decltype(kChoices)> + kNumOthers == count_fields<Choices>(),
              "a field of Choices is not listed");

}  // namespace fields

template <class Visit>
constexpr void for_each_choice(const Visit& visit) {
  std::apply([&](const auto&... field) { (visit(field), ...); }, fields::kChoices);
}

// The options that narrow or widen the space, except `allowed`; --max-tp is last.
std::vector<std::string> given_options(const Choices& choices,
                                       const std::vector<std::string_view>& allowed = {});

}  // namespace nereus::search
