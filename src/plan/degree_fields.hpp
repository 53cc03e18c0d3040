// One list of the fields of Degrees and DegreesRequest: their names in JSON and on the command
// line, and their allowed values. Options, plans as JSON, completion, stored results and the check
// whether any field is given all use this list, so that none of them can forget a field.
//
//   for_each_degree([&](const auto& field) { visit(field.name, degrees.*field.degree); });
//   given_options(request);   // {"--tp", "--context"}: what a mode that reads no degrees rejects
//
// If a field is missing here, the static_asserts below fail to compile. The order is that of
// Degrees, and JSON has the same order. search/regular/choice_fields.hpp says which values of each
// field a search may try.
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "base/count_fields.hpp"
#include "plan/degrees.hpp"

namespace nereus::plan {

inline constexpr int kNoLimit = std::numeric_limits<int>::max();

// A field of a request.
template <class T>
struct RequestField {
  std::string_view name;                        // in JSON, and in the list of derived fields
  const char* option = nullptr;                 // nullptr: no option
  std::optional<T> DegreesRequest::*request{};  // where the request stores it
  int least = 1, most = kNoLimit;               // range of a number
};

// A field of a request and of the resulting degrees.
template <class T>
struct DegreeField : RequestField<T> {
  T Degrees::*degree{};
  bool needed = false;  // in JSON: a plan must have this field
};

namespace fields {

template <class T>
constexpr DegreeField<T> field(std::string_view name, const char* option, T Degrees::*degree,
                               std::optional<T> DegreesRequest::*request, int least = 1,
                               int most = kNoLimit) {
  return {{name, option, request, least, most}, degree};
}
template <class T>
constexpr DegreeField<T> needed(DegreeField<T> field) {
  field.needed = true;
  return field;
}

using D = Degrees;
using R = DegreesRequest;

inline constexpr std::tuple kDegrees{
    field("tp", "--tp", &D::tp, &R::tp),
    field("pp", "--pp", &D::pp, &R::pp),
    field("dp", "--dp", &D::dp, &R::dp),
    field("cp", "--cp", &D::cp, &R::cp),
    field("ep", "--ep", &D::ep, &R::ep),
    field("expert_tp", nullptr, &D::expert_tp, &R::expert_tp),
    field("interleave", "--interleave", &D::interleave, &R::interleave),
    field("micro_batch", "--micro-batch", &D::micro_batch, &R::micro_batch),
    needed(field("global_batch", "--global-batch", &D::global_batch, &R::global_batch)),
    field("recompute", "--recompute", &D::recompute, &R::recompute),
    field("recompute_blocks", "--recompute-blocks", &D::recompute_blocks, &R::recompute_blocks, 0),
    field("zero", "--zero", &D::zero, &R::zero, 0, 3),
    field("zero_group", "--zero-group", &D::zero_group, &R::zero_group, 0),
    field("sequence_parallel", "--sequence-parallel", &D::sequence_parallel, &R::sequence_parallel),
    field("tensor_overlap", "--tensor-overlap", &D::tensor_overlap, &R::tensor_overlap),
    field("data_overlap", "--data-overlap", &D::data_overlap, &R::data_overlap),
    needed(field("precision", "--precision", &D::precision, &R::precision)),
    field("schedule", "--schedule", &D::schedule, &R::schedule),
    field("context", "--context", &D::context, &R::context),
    field("table_split", "--table-split", &D::table_split, &R::table_split),
    field("offload", "--offload", &D::offload, &R::offload),
    field("state_types", "--state-types", &D::state_types, &R::state_types),
};
inline constexpr RequestField<int> kSeq{"seq", "--seq", &R::seq};

inline constexpr std::size_t kNumDegrees = std::tuple_size_v<decltype(kDegrees)>;
static_assert(kNumDegrees == count_fields<Degrees>(), "a field of Degrees is not listed");
static_assert(kNumDegrees + 1 == count_fields<DegreesRequest, AnyOptional>(),
              "a field of DegreesRequest is not listed");

}  // namespace fields

// Visits all fields of Degrees.
template <class Visit>
constexpr void for_each_degree(const Visit& visit) {
  std::apply([&](const auto&... field) { (visit(field), ...); }, fields::kDegrees);
}

// Visits all fields of a request: those of Degrees, and `seq` at its place.
template <class Visit>
constexpr void for_each_request(const Visit& visit) {
  for_each_degree([&](const auto& field) {
    visit(field);
    if (field.name == "global_batch") visit(fields::kSeq);
  });
}

// Number of values of an enumeration in the list; values count from 0.
template <class E>
int num_values() {
  if constexpr (std::is_same_v<E, cluster::Precision>) {
    return cluster::kNumPrecisions;
  } else {
    int count = 0;
    while (to_string(static_cast<E>(count)) != "?") ++count;
    return count;
  }
}

// The names of these values, as in options and files.
template <class E>
std::vector<std::string> words_of() {
  std::vector<std::string> words;
  for (int i = 0; i < num_values<E>(); ++i) words.emplace_back(to_string(static_cast<E>(i)));
  return words;
}

// The options of the fields that the request gives, except `allowed`.
std::vector<std::string> given_options(const DegreesRequest& request,
                                       const std::vector<std::string_view>& allowed = {});

}  // namespace nereus::plan
