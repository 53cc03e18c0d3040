// Plans into JSON and out of it: keys, types and simple ranges with their places. What spans
// several fields is for plan/check.hpp.
#include <fmt/format.h>

#include <limits>

#include "cluster/read.hpp"
#include "cluster/write_cluster.hpp"
#include "model/model_io.hpp"
#include "plan/degree_fields.hpp"
#include "plan/plan_json.hpp"
#include "spec/fields.hpp"

namespace nereus::plan {

namespace {

using spec::Array;
using spec::Like;
using spec::put_value;
using spec::Reader;
using spec::Table;
using spec::Value;

constexpr int kLeast = std::numeric_limits<int>::min();
constexpr std::int64_t kLeast64 = std::numeric_limits<std::int64_t>::min();

// [[first, count, stride], ..]
Value write_ranks(const RankSet& ranks) {
  Array array;
  for (const RankRange& range : ranks)
    array.push_back(put_value(std::vector<int>{range.first, range.count, range.stride}));
  return {.data = std::move(array)};
}

RankSet read_ranks(Reader& r) {
  RankSet ranks;
  const Value* value = r.raw("ranks");
  const auto refuse = [&](const std::string& what) {
    r.fail("ranks", "plan.ranks",
           fmt::format("ranks: expected [[first, count, stride], ...], found {}", what),
           "three integers each, count and stride at least 1");
    return RankSet{};
  };
  const auto fail = [&](const Value& at) { return refuse(std::string(at.type_name())); };
  const auto* array = value == nullptr ? nullptr : std::get_if<Array>(&value->data);
  if (array == nullptr) return fail(value == nullptr ? Value{} : *value);
  for (const Value& item : *array) {
    const auto* triple = std::get_if<Array>(&item.data);
    if (triple == nullptr || triple->size() != 3) return fail(item);
    std::int64_t numbers[3];
    for (std::size_t i = 0; i < 3; ++i) {
      const auto* number = std::get_if<std::int64_t>(&(*triple)[i].data);
      if (number == nullptr) return fail((*triple)[i]);
      const int least = i == 0 ? 0 : 1;
      if (*number < least || *number > Reader::kMaxInt)
        return refuse(fmt::format("{} = {}, outside {} .. {}",
                                  i == 0   ? "first"
                                  : i == 1 ? "count"
                                           : "stride",
                                  *number, least, Reader::kMaxInt));
      numbers[i] = *number;
    }
    ranks.push_back(
        {static_cast<int>(numbers[0]), static_cast<int>(numbers[1]), static_cast<int>(numbers[2])});
  }
  return ranks;
}

std::vector<StateKind> read_kinds(Reader& r) {
  std::vector<StateKind> kinds;
  for (const std::string& name : r.required_strings("kinds")) {
    const std::optional<StateKind> kind = parse_state_kind(name);
    if (kind)
      kinds.push_back(*kind);
    else
      r.fail("kinds", "spec.choice", fmt::format("kinds: \"{}\" is not a kind of state", name),
             "weights, gradients, optimizer");
  }
  const Value* value = r.raw("kinds");
  const auto* array = value == nullptr ? nullptr : std::get_if<Array>(&value->data);
  if (array != nullptr && array->empty())
    r.fail("kinds", "spec.range", "kinds: a share of nothing", "weights, gradients, optimizer");
  return kinds;
}

}  // namespace

template <class V>
void visit_fields(V& v, Like<Offload> auto& offload) {
  v.always("weights", offload.weights, 0, 1);
  v.always("optimizer", offload.optimizer, 0, 1);
  v.always("activations", offload.activations, 0, 1);
  v("tier", offload.tier);
}

template <class V>
void visit_fields(V& v, Like<StateTypes> auto& types) {
  for (const StateTypePart& part : kStateTypeParts) v(part.name, types.*part.type);
  v.check([&](Reader& r) {
    for (const StateTypePart& part : kStateTypeParts)
      if (!allows(part, types.*part.type))
        r.fail(part.name, "spec.choice",
               fmt::format("{}: {} is not possible", part.name, to_string(types.*part.type)),
               allowed_words(part));
  });
}

template <class V>
void visit_fields(V& v, Like<Degrees> auto& degrees) {
  for_each_degree([&](const auto& field) {
    auto& value = degrees.*field.degree;
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, StateTypes>) {
      v(field.name, value);  // only written if it is not the stack's
      return;
    }
    const auto visit = [&](const auto&... range) {
      if (field.needed)
        v.needed(field.name, value, range...);
      else
        v.always(field.name, value, range...);
    };
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, int>)
      visit(field.least, field.most);
    else
      visit();
  });
}

template <class V>
void visit_fields(V& v, Like<Replicas> auto& r) {
  v("count", r.count, 1);
  v("first", r.first);
  v("team_stride", r.team_stride, kLeast);
  v("tp", r.tp, 1);
  v("cp", r.cp, 1);
  v("tensor_stride", r.tensor_stride, kLeast);
  v("context_stride", r.context_stride, kLeast);
  v.needed("micro_batch", r.micro_batch, 1);
  v.needed("num_micro_batches", r.num_micro_batches, 1);
  v("last_micro_batch", r.last_micro_batch);
  v("first_sample", r.first_sample);
  v("team_sample_stride", r.team_sample_stride, kLeast64);
  v("micro_batch_stride", r.micro_batch_stride, kLeast64);
  v("recompute", r.recompute);
  v("recompute_layers", r.recompute_layers, -1);
  v("offload_activations", r.offload_activations, 0, 1);
  v("offload_tier", r.offload_tier);
}

// But for its kind.
template <class V>
void visit_fields(V& v, Like<StateShare> auto& s) {
  v("experts", s.experts);
  v("cut", s.cut, 1);
  v("first_slice", s.first_slice);
  v("num_slices", s.num_slices, 1);
  v("slice_stride", s.slice_stride, kLeast);
  v.by_hand("ranks", s.ranks, write_ranks, read_ranks);
  v("pieces", s.pieces, 1);
  v("begin", s.begin, 0, kStateUnits);
  v("end", s.end, 0, kStateUnits);
  v("tier", s.tier);
  v("peer_copy", s.peer_copy);
}

namespace {

// Weights, gradients and optimizer often lie alike: such neighbours are written once.
Value write_state(const std::vector<StateShare>& state) {
  Array array;
  for (std::size_t i = 0; i < state.size();) {
    Array kinds;
    const std::size_t first = i;
    for (; i < state.size(); ++i) {
      StateShare alike = state[i];
      alike.kind = state[first].kind;
      if (alike != state[first]) break;
      kinds.push_back(put_value(state[i].kind));
    }
    Table table;
    table.emplace_back("kinds", Value{.data = std::move(kinds)});
    for (auto& member : spec::put_fields(state[first])) table.push_back(std::move(member));
    array.push_back({.data = std::move(table)});
  }
  return {.data = std::move(array)};
}

std::vector<StateShare> read_state(Reader& r) {
  std::vector<StateShare> state;
  for (Reader& table : r.optional_tables("state")) {
    const std::vector<StateKind> kinds = read_kinds(table);
    StateShare share;
    spec::take_fields(table, share);
    for (const StateKind kind : kinds) {
      share.kind = kind;
      state.push_back(share);
    }
  }
  return state;
}

}  // namespace

template <class V>
void visit_fields(V& v, Like<LayerRun> auto& run) {
  v.needed("first_layer", run.first_layer);
  v.needed("num_layers", run.num_layers, 1);
  v.needed("stage", run.stage);
  v("ep", run.ep, 1);
  v("expert_tp", run.expert_tp, 1);
  v("table_split", run.table_split);
  v("table_slices", run.table_slices, 0);
  v.needed("replicas", run.replicas);
  v.by_hand("state", run.state, write_state, read_state);
}

template <class V>
void visit_fields(V& v, Like<Placement> auto& p) {
  v.needed("global_batch", p.global_batch, 1);
  v.needed("precision", p.precision);
  v.always("sequence_parallel", p.sequence_parallel);
  v.always("tensor_overlap", p.tensor_overlap);
  v.always("data_overlap", p.data_overlap);
  v.always("split_vocabulary", p.split_vocabulary);
  v.always("schedule", p.schedule);
  v.always("context", p.context);
  v.always("gather", p.gather);
  v("state_types", p.state_types);
  v.needed("runs", p.runs);
}

namespace {

// The members of a table, one a line, those of `opened` (an array) too.
void write_lines(std::string& text, const Table& table, std::string_view opened) {
  for (const auto& member : table) {
    text += &member == table.data() ? "\n" : ",\n";
    text += spec::to_json(put_value(member.first)) + ": ";
    const auto* array = std::get_if<Array>(&member.second.data);
    if (member.first != opened || array == nullptr) {
      text += spec::to_json(member.second);
      continue;
    }
    text += '[';
    for (const Value& item : *array) {
      text += &item == array->data() ? "\n" : ",\n";
      text += spec::to_json(item);
    }
    text += "\n]";
  }
}

// A file of another version is not read with this one's rules.
bool has_version(Reader& r, const ErrorList& errors) {
  const std::size_t before = errors.list().size();
  const int version = r.required_int("schema_version", 1);
  if (errors.list().size() > before) return false;
  if (version == kPlanSchemaVersion) return true;
  r.fail("schema_version", "plan.schema-version",
         fmt::format("this plan has schema_version {}, and this program reads version {}", version,
                     kPlanSchemaVersion),
         version > kPlanSchemaVersion ? "a newer Nereus wrote it: update this one"
                                      : "make the plan again with this Nereus");
  return false;
}

template <class T>
T from_value(Reader r) {
  T out;
  spec::take_fields(r, out);
  return out;
}

}  // namespace

Value degrees_to_value(const Degrees& degrees) { return spec::put_value(degrees); }

Value placement_to_value(const Placement& placement) { return spec::put_value(placement); }

Degrees degrees_from_value(const Value& value, ErrorList& errors) {
  return from_value<Degrees>(Reader(value, errors, spec::Units::kRawSi));
}

std::string plan_to_json(const Plan& plan) {
  Table head;
  head.emplace_back("schema_version", put_value(plan.schema_version));
  head.emplace_back("model", model::model_to_value(plan.model));
  head.emplace_back("cluster", cluster::cluster_to_value(plan.cluster, cluster::Form::kRaw));
  head.emplace_back("stack", put_value(plan.stack));
  if (plan.degrees) head.emplace_back("degrees", degrees_to_value(*plan.degrees));
  std::string text = "{";
  write_lines(text, head, {});
  text += ",\n\"placement\": {";
  const Value placement = placement_to_value(plan.placement);
  write_lines(text, std::get<Table>(placement.data), "runs");
  return text + "}}\n";
}

Plan plan_from_value(const Value& value, ErrorList& errors) {
  Reader r(value, errors, spec::Units::kRawSi);
  Plan plan;
  plan.schema_version = kPlanSchemaVersion;
  if (!has_version(r, errors)) return plan;
  const auto part = [&](const char* key) -> const Value* {
    const Value* found = r.raw(key);
    if (found == nullptr)
      r.fail(key, "spec.missing-key", fmt::format("the key \"{}\" is missing", key));
    return found;
  };
  if (const Value* model = part("model")) plan.model = model::model_from_value(*model, errors);
  // Against an empty catalogue: a plan carries its machines whole, so that it means the same
  // wherever and whenever it is read.
  if (const Value* cluster = part("cluster"))
    plan.cluster = cluster::cluster_from_value(*cluster, errors, cluster::Catalogue());
  plan.stack = r.optional_string("stack");
  if (r.has("degrees")) plan.degrees = from_value<Degrees>(r.required_table("degrees"));
  plan.placement = from_value<Placement>(r.required_table("placement"));
  r.finish();
  return plan;
}

Plan parse_plan(std::string_view text, const std::string& file) {
  const Value root = spec::parse_json(text, file);
  ErrorList errors;
  Plan plan = plan_from_value(root, errors);
  errors.throw_if_any();
  return plan;
}

}  // namespace nereus::plan
