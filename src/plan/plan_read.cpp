// Reads plans from JSON: keys, types and simple ranges, with their places. plan/check.hpp checks
// what involves several fields.
#include <fmt/format.h>

#include <limits>

#include "cluster/read.hpp"
#include "model/model_io.hpp"
#include "plan/degree_fields.hpp"
#include "plan/plan_json.hpp"
#include "spec/reader.hpp"

namespace nereus::plan {

namespace {

using spec::Array;
using spec::Reader;
using spec::Value;

constexpr int kLeast = std::numeric_limits<int>::min();

template <class E>
const spec::Choices<E>& choices_of() {
  static const spec::Choices<E> kChoices = [] {
    spec::Choices<E> list;
    for (int i = 0; i < num_values<E>(); ++i)
      list.emplace_back(to_string(static_cast<E>(i)), static_cast<E>(i));
    return list;
  }();
  return kChoices;
}

template <class E>
E read_name(Reader& r, std::string_view key, E usual) {
  return r.has(key) ? r.optional_enum(key, usual, choices_of<E>()) : usual;
}

Offload read_offload(Reader r) {
  Offload offload;
  offload.weights = r.optional_double("weights", 0, 0, 1);
  offload.optimizer = r.optional_double("optimizer", 0, 0, 1);
  offload.activations = r.optional_double("activations", 0, 0, 1);
  offload.tier = read_name(r, "tier", offload.tier);
  if (r.present()) r.finish();
  return offload;
}

Replicas read_replicas(Reader& r) {
  const Replicas usual;
  Replicas x;
  x.count = r.optional_int("count", usual.count, 1);
  x.first = r.optional_int("first", usual.first, 0);
  x.team_stride = r.optional_int("team_stride", usual.team_stride, kLeast);
  x.tp = r.optional_int("tp", usual.tp, 1);
  x.cp = r.optional_int("cp", usual.cp, 1);
  x.tensor_stride = r.optional_int("tensor_stride", usual.tensor_stride, kLeast);
  x.context_stride = r.optional_int("context_stride", usual.context_stride, kLeast);
  x.micro_batch = r.required_int("micro_batch", 1);
  x.num_micro_batches = r.required_int("num_micro_batches", 1);
  x.last_micro_batch = r.optional_int("last_micro_batch", usual.last_micro_batch, 0);
  x.first_sample = r.optional_int64("first_sample", usual.first_sample, 0);
  constexpr std::int64_t kLeast64 = std::numeric_limits<std::int64_t>::min();
  x.team_sample_stride = r.optional_int64("team_sample_stride", usual.team_sample_stride, kLeast64);
  x.micro_batch_stride = r.optional_int64("micro_batch_stride", usual.micro_batch_stride, kLeast64);
  x.recompute = read_name(r, "recompute", usual.recompute);
  x.recompute_layers = r.optional_int("recompute_layers", usual.recompute_layers, -1);
  x.offload_activations = r.optional_double("offload_activations", usual.offload_activations, 0, 1);
  x.offload_tier = read_name(r, "offload_tier", usual.offload_tier);
  r.finish();
  return x;
}

// [[first, count, stride], ..]
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

StateShare read_share(Reader& r) {
  const StateShare usual;
  StateShare s;
  s.experts = r.optional_bool("experts", usual.experts);
  s.cut = r.optional_int("cut", usual.cut, 1);
  s.first_slice = r.optional_int("first_slice", usual.first_slice, 0);
  s.num_slices = r.optional_int("num_slices", usual.num_slices, 1);
  s.slice_stride = r.optional_int("slice_stride", usual.slice_stride, kLeast);
  s.ranks = read_ranks(r);
  s.pieces = r.optional_int("pieces", usual.pieces, 1);
  s.begin = r.optional_int64("begin", usual.begin, 0, kStateUnits);
  s.end = r.optional_int64("end", usual.end, 0, kStateUnits);
  s.tier = read_name(r, "tier", usual.tier);
  s.peer_copy = r.optional_bool("peer_copy", usual.peer_copy);
  r.finish();
  return s;
}

LayerRun read_run(Reader& r) {
  LayerRun run;
  run.first_layer = r.required_int("first_layer", 0);
  run.num_layers = r.required_int("num_layers", 1);
  run.stage = r.required_int("stage", 0);
  run.ep = r.optional_int("ep", run.ep, 1);
  run.expert_tp = r.optional_int("expert_tp", run.expert_tp, 1);
  run.table_split = read_name(r, "table_split", run.table_split);
  run.table_slices = r.optional_ints("table_slices", 0, Reader::kMaxInt);
  for (Reader& replicas : r.required_tables("replicas"))
    run.replicas.push_back(read_replicas(replicas));
  for (Reader& table : r.optional_tables("state")) {
    const std::vector<StateKind> kinds = read_kinds(table);
    StateShare share = read_share(table);
    for (StateKind kind : kinds) {
      share.kind = kind;
      run.state.push_back(share);
    }
  }
  r.finish();
  return run;
}

Degrees read_degrees(Reader r) {
  Degrees d;
  for_each_degree([&](const auto& field) {
    auto& value = d.*field.degree;
    using T = std::remove_reference_t<decltype(value)>;
    if constexpr (std::is_same_v<T, Offload>)
      value = read_offload(r.optional_table(field.name));
    else if constexpr (std::is_same_v<T, bool>)
      value = r.optional_bool(field.name, value);
    else if constexpr (std::is_same_v<T, int>)
      value = field.needed ? r.required_int(field.name, field.least, field.most)
                           : r.optional_int(field.name, value, field.least, field.most);
    else
      value = field.needed ? r.required_enum(field.name, choices_of<T>())
                           : read_name(r, field.name, value);
  });
  r.finish();
  return d;
}

Placement read_placement(Reader r) {
  Placement p;
  p.global_batch = r.required_int64("global_batch", 1);
  p.precision = r.required_enum("precision", choices_of<cluster::Precision>());
  p.sequence_parallel = r.optional_bool("sequence_parallel", p.sequence_parallel);
  p.tensor_overlap = r.optional_bool("tensor_overlap", p.tensor_overlap);
  p.data_overlap = r.optional_bool("data_overlap", p.data_overlap);
  p.split_vocabulary = r.optional_bool("split_vocabulary", p.split_vocabulary);
  p.schedule = read_name(r, "schedule", p.schedule);
  p.context = read_name(r, "context", p.context);
  p.gather = read_name(r, "gather", p.gather);
  for (Reader& run : r.required_tables("runs")) p.runs.push_back(read_run(run));
  r.finish();
  return p;
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

}  // namespace

Degrees degrees_from_value(const Value& value, ErrorList& errors) {
  return read_degrees(Reader(value, errors, spec::Units::kRawSi));
}

Placement placement_from_value(const Value& value, ErrorList& errors) {
  return read_placement(Reader(value, errors, spec::Units::kRawSi));
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
  // Uses an empty catalog: a plan contains its machines completely, so that it means the same
  // wherever and whenever it is read.
  if (const Value* cluster = part("cluster"))
    plan.cluster = cluster::cluster_from_value(*cluster, errors, cluster::Catalogue());
  plan.stack = r.optional_string("stack");
  if (r.has("degrees")) plan.degrees = read_degrees(r.required_table("degrees"));
  plan.placement = read_placement(r.required_table("placement"));
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
