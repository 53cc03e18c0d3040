// Plans into JSON.
#include "cluster/write_cluster.hpp"
#include "model/model_io.hpp"
#include "plan/degree_fields.hpp"
#include "plan/plan_json.hpp"

namespace nereus::plan {

namespace {

using spec::Array;
using spec::Table;
using spec::Value;

Value make(bool truth) { return {.data = truth}; }
Value make(int number) { return {.data = std::int64_t{number}}; }
Value make(std::int64_t number) { return {.data = number}; }
Value make(double number) { return {.data = number}; }
Value make(std::string_view text) { return {.data = std::string(text)}; }

// A table that leaves out what is at its default.
class SparseTable {
 public:
  template <class T>
  void add(std::string_view key, const T& value) {
    table_.emplace_back(std::string(key), make(value));
  }
  template <class T>
  void add_unless(const char* key, const T& value, const T& usual) {
    if (value != usual) add(key, value);
  }
  template <class E>
  void add_name_unless(const char* key, E value, E usual) {
    if (value != usual) add(key, to_string(value));
  }
  void add_value(std::string_view key, Value value) {
    table_.emplace_back(std::string(key), std::move(value));
  }
  Value take() { return {.data = std::move(table_)}; }

 private:
  Table table_;
};

Value write(const Offload& offload) {
  SparseTable table;
  table.add("weights", offload.weights);
  table.add("optimizer", offload.optimizer);
  table.add("activations", offload.activations);
  table.add_name_unless("tier", offload.tier, Offload{}.tier);
  return table.take();
}

Value write(const Replicas& r) {
  const Replicas usual;
  SparseTable table;
  table.add_unless("count", r.count, usual.count);
  table.add_unless("first", r.first, usual.first);
  table.add_unless("team_stride", r.team_stride, usual.team_stride);
  table.add_unless("tp", r.tp, usual.tp);
  table.add_unless("cp", r.cp, usual.cp);
  table.add_unless("tensor_stride", r.tensor_stride, usual.tensor_stride);
  table.add_unless("context_stride", r.context_stride, usual.context_stride);
  table.add("micro_batch", r.micro_batch);
  table.add("num_micro_batches", r.num_micro_batches);
  table.add_unless("last_micro_batch", r.last_micro_batch, usual.last_micro_batch);
  table.add_unless("first_sample", r.first_sample, usual.first_sample);
  table.add_unless("team_sample_stride", r.team_sample_stride, usual.team_sample_stride);
  table.add_unless("micro_batch_stride", r.micro_batch_stride, usual.micro_batch_stride);
  table.add_name_unless("recompute", r.recompute, usual.recompute);
  table.add_unless("recompute_layers", r.recompute_layers, usual.recompute_layers);
  table.add_unless("offload_activations", r.offload_activations, usual.offload_activations);
  table.add_name_unless("offload_tier", r.offload_tier, usual.offload_tier);
  return table.take();
}

Value write(const RankSet& ranks) {
  Array array;
  for (const RankRange& range : ranks)
    array.push_back({.data = Array{make(range.first), make(range.count), make(range.stride)}});
  return {.data = std::move(array)};
}

// `num_kinds` shares from this one on that only differ in their kind.
Value write(const StateShare& s, std::size_t num_kinds) {
  const StateShare usual;
  SparseTable table;
  Array kinds;
  for (const StateShare* share = &s; share != &s + num_kinds; ++share)
    kinds.push_back(make(to_string(share->kind)));
  table.add_value("kinds", {.data = std::move(kinds)});
  table.add_unless("experts", s.experts, usual.experts);
  table.add_unless("cut", s.cut, usual.cut);
  table.add_unless("first_slice", s.first_slice, usual.first_slice);
  table.add_unless("num_slices", s.num_slices, usual.num_slices);
  table.add_unless("slice_stride", s.slice_stride, usual.slice_stride);
  table.add_value("ranks", write(s.ranks));
  table.add_unless("pieces", s.pieces, usual.pieces);
  table.add_unless("begin", s.begin, usual.begin);
  table.add_unless("end", s.end, usual.end);
  table.add_name_unless("tier", s.tier, usual.tier);
  table.add_unless("peer_copy", s.peer_copy, usual.peer_copy);
  return table.take();
}

// Weights, gradients and optimizer often lie alike: such neighbours are written once.
Value write_state(const std::vector<StateShare>& state) {
  Array array;
  for (std::size_t i = 0; i < state.size();) {
    std::size_t end = i + 1;
    for (; end < state.size(); ++end) {
      StateShare alike = state[end];
      alike.kind = state[i].kind;
      if (alike != state[i]) break;
    }
    array.push_back(write(state[i], end - i));
    i = end;
  }
  return {.data = std::move(array)};
}

Value write(const LayerRun& run);

template <class T>
Value write_list(const std::vector<T>& list) {
  Array array;
  array.reserve(list.size());
  for (const T& item : list) array.push_back(write(item));
  return {.data = std::move(array)};
}

Value write(const LayerRun& run) {
  SparseTable table;
  table.add("first_layer", run.first_layer);
  table.add("num_layers", run.num_layers);
  table.add("stage", run.stage);
  table.add_unless("ep", run.ep, 1);
  table.add_unless("expert_tp", run.expert_tp, 1);
  table.add_name_unless("table_split", run.table_split, TableSplit::kTable);
  if (!run.table_slices.empty()) {
    Array slices;
    for (const int slice : run.table_slices) slices.push_back(make(slice));
    table.add_value("table_slices", {.data = std::move(slices)});
  }
  table.add_value("replicas", write_list(run.replicas));
  table.add_value("state", write_state(run.state));
  return table.take();
}

// The members of a table, one a line, those of `opened` (an array) too.
void write_lines(std::string& text, const Table& table, std::string_view opened) {
  for (const auto& member : table) {
    text += &member == table.data() ? "\n" : ",\n";
    text += spec::to_json(make(member.first)) + ": ";
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

}  // namespace

Value degrees_to_value(const Degrees& d) {
  SparseTable table;
  for_each_degree([&](const auto& field) {
    const auto& value = d.*field.degree;
    using T = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_same_v<T, Offload>)
      table.add_value(field.name, write(value));
    else if constexpr (std::is_enum_v<T>)
      table.add(field.name, to_string(value));
    else
      table.add(field.name, value);
  });
  return table.take();
}

Value placement_to_value(const Placement& p) {
  SparseTable table;
  table.add("global_batch", p.global_batch);
  table.add("precision", cluster::to_string(p.precision));
  table.add("sequence_parallel", p.sequence_parallel);
  table.add("tensor_overlap", p.tensor_overlap);
  table.add("data_overlap", p.data_overlap);
  table.add("split_vocabulary", p.split_vocabulary);
  table.add("schedule", to_string(p.schedule));
  table.add("context", to_string(p.context));
  table.add("gather", to_string(p.gather));
  table.add_value("runs", write_list(p.runs));
  return table.take();
}

std::string plan_to_json(const Plan& plan) {
  SparseTable head;
  head.add("schema_version", plan.schema_version);
  head.add_value("model", model::model_to_value(plan.model));
  head.add_value("cluster", cluster::cluster_to_value(plan.cluster, cluster::Form::kRaw));
  head.add("stack", std::string_view(plan.stack));
  if (plan.degrees) head.add_value("degrees", degrees_to_value(*plan.degrees));
  std::string text = "{";
  const Value head_value = head.take();
  write_lines(text, std::get<Table>(head_value.data), {});
  text += ",\n\"placement\": {";
  const Value placement = placement_to_value(plan.placement);
  write_lines(text, std::get<Table>(placement.data), "runs");
  return text + "}}\n";
}

}  // namespace nereus::plan
