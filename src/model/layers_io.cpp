#include <fmt/format.h>

#include <cmath>

#include "model/model_io.hpp"
#include "model/shape_io.hpp"
#include "model/value_tools.hpp"
#include "spec/reader.hpp"

namespace nereus::model {

namespace {

const spec::Choices<OpKind>& op_kinds() {
  static const spec::Choices<OpKind> kList = {
      {"gemm", OpKind::kGemm},
      {"attention", OpKind::kAttention},
      {"norm", OpKind::kNorm},
      {"elementwise", OpKind::kElementwise},
      {"embedding", OpKind::kEmbedding},
      {"embedding_bag", OpKind::kEmbeddingBag},
      {"convolution", OpKind::kConvolution},
      {"pool", OpKind::kPool},
      {"interaction", OpKind::kInteraction},
      {"router", OpKind::kRouter},
      {"scan", OpKind::kScan},
      {"loss", OpKind::kLoss},
  };
  return kList;
}

const spec::Choices<Split>& splits() {
  static const spec::Choices<Split> kList = {
      {"replicated", Split::kReplicated},
      {"column", Split::kColumn},
      {"row", Split::kRow},
      {"heads", Split::kHeads},
      {"features", Split::kFeatures},
      {"vocabulary", Split::kVocabulary},
      {"experts", Split::kExperts},
      {"tables", Split::kTables},
  };
  return kList;
}

const spec::Choices<LayerRole>& roles() {
  static const spec::Choices<LayerRole> kList = {{"embedding", LayerRole::kEmbedding},
                                                 {"block", LayerRole::kBlock},
                                                 {"head", LayerRole::kHead},
                                                 {"other", LayerRole::kOther}};
  return kList;
}

template <class Op, class Visit>
void visit_operator(Op& op, Visit&& visit) {
  visit("name", op.name);
  visit("kind", op.kind);
  visit("split", op.split);
  visit("inside", op.inside);
  visit("rows_divide", op.rows_divide);
  visit("full_width", op.full_width);
  visit("gated", op.gated);
  visit("rows", op.rows);
  visit("n", op.n);
  visit("k", op.k);
  visit("batch", op.batch);
  visit("heads", op.heads);
  visit("kv_heads", op.kv_heads);
  visit("head_dim", op.head_dim);
  visit("value_head_dim", op.value_head_dim);
  visit("keys", op.keys);
  visit("causal", op.causal);
  visit("window", op.window);
  visit("groups", op.groups);
  visit("input_elements", op.input_elements);
  visit("weight_bytes", op.weight_bytes);
  visit("state_bytes", op.state_bytes);
  visit("row_state_bytes", op.row_state_bytes);
  visit("parameters", op.parameters);
  visit("flops", op.flops);
  visit("read_elements", op.read_elements);
  visit("written_elements", op.written_elements);
  visit("saved_elements", op.saved_elements);
  visit("saved_bytes", op.saved_bytes);
  visit("kernels", op.kernels);
}

struct WriteMember {
  spec::Table& table;

  void operator()(const char* key, const std::string& v) { table.emplace_back(key, to_value(v)); }
  void operator()(const char* key, double v) { table.emplace_back(key, to_value(v)); }
  void operator()(const char* key, int v) { table.emplace_back(key, to_value(std::int64_t{v})); }
  void operator()(const char* key, bool v) { table.emplace_back(key, to_value(v)); }
  void operator()(const char* key, OpKind v) { (*this)(key, name_of(op_kinds(), v)); }
  void operator()(const char* key, Split v) { (*this)(key, name_of(splits(), v)); }
};

// Counts of anything real stay below this; sums of many of them stay finite.
constexpr double kMostOfAnything = 1e40;

struct ReadMember {
  spec::Reader& reader;

  void operator()(const char* key, std::string& v) { v = reader.optional_string(key, v); }
  void operator()(const char* key, double& v) {
    v = reader.optional_double(key, v, 0, kMostOfAnything);
  }
  void operator()(const char* key, int& v) { v = reader.optional_int(key, v, 0); }
  void operator()(const char* key, bool& v) { v = reader.optional_bool(key, v); }
  void operator()(const char* key, OpKind& v) { v = reader.optional_enum(key, v, op_kinds()); }
  void operator()(const char* key, Split& v) { v = reader.optional_enum(key, v, splits()); }
};

spec::Value write_operator(const Operator& op) {
  spec::Table all;
  spec::Table defaults;
  spec::Table out;
  const Operator plain;
  visit_operator(op, WriteMember{all});
  visit_operator(plain, WriteMember{defaults});
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!(all[i].second == defaults[i].second)) out.push_back(std::move(all[i]));
  return to_value(std::move(out));
}

template <class Region>
spec::Value write_regions(const std::vector<Region>& regions) {
  spec::Array array;
  for (const Region& region : regions) array.push_back(to_value(region.elements));
  return to_value(std::move(array));
}

spec::Value write_kind(const LayerKind& kind) {
  spec::Array operators;
  for (const Operator& op : kind.operators) operators.push_back(write_operator(op));
  spec::Table table = {{"name", to_value(kind.name)},
                       {"role", to_value(name_of(roles(), kind.role))},
                       {"input_elements", to_value(kind.input_elements)},
                       {"output_elements", to_value(kind.output_elements)},
                       {"operators", to_value(std::move(operators))}};
  if (!kind.tensor_regions.empty())
    table.emplace_back("tensor_regions", write_regions(kind.tensor_regions));
  if (!kind.expert_regions.empty()) {
    table.emplace_back("expert_regions", write_regions(kind.expert_regions));
    spec::Array copies;
    for (const ExpertRegion& region : kind.expert_regions)
      copies.push_back(to_value(region.copies));
    table.emplace_back("expert_copies", to_value(std::move(copies)));
  }
  if (kind.mixers != LayerKind{}.mixers)
    table.emplace_back("mixers", to_value(std::int64_t{kind.mixers}));
  return to_value(std::move(table));
}

LayerKind read_kind(spec::Reader& reader) {
  LayerKind kind;
  kind.name = reader.optional_string("name");
  kind.role = reader.optional_enum("role", kind.role, roles());
  kind.input_elements = reader.optional_double("input_elements", 0, 0, kMostOfAnything);
  kind.output_elements = reader.optional_double("output_elements", 0, 0, kMostOfAnything);
  for (spec::Reader& op_reader : reader.optional_tables("operators")) {
    visit_operator(kind.operators.emplace_back(), ReadMember{op_reader});
    op_reader.finish();
  }
  for (double v : reader.optional_doubles("tensor_regions", 0, kMostOfAnything))
    kind.tensor_regions.push_back({v});
  for (double v : reader.optional_doubles("expert_regions", 0, kMostOfAnything))
    kind.expert_regions.push_back({v});
  std::size_t region = 0;
  for (double v : reader.optional_doubles("expert_copies", 1, kMostOfAnything))
    if (region < kind.expert_regions.size()) kind.expert_regions[region++].copies = v;
  kind.mixers = reader.optional_int("mixers", kind.mixers, 1, 100);
  reader.finish();
  return kind;
}

spec::Value triple(int a, int b, double c) {
  return to_value(spec::Array{to_value(std::int64_t{a}), to_value(std::int64_t{b}), to_value(c)});
}

// [[layer, layer, amount], ...]: two layers of the model, the first before the second.
template <class Make>
void read_pairs(spec::Reader& reader, const char* key, int num_layers, Make make) {
  const spec::Value* value = reader.raw(key);
  if (value == nullptr) return;
  const auto* list = std::get_if<spec::Array>(&value->data);
  bool sound = list != nullptr;
  for (std::size_t i = 0; sound && i < list->size(); ++i) {
    const auto* row = std::get_if<spec::Array>(&(*list)[i].data);
    const auto number = [&](std::size_t at) {
      const spec::Value& cell = (*row)[at];
      if (const auto* whole = std::get_if<std::int64_t>(&cell.data))
        return static_cast<double>(*whole);
      const auto* real = std::get_if<double>(&cell.data);
      return real != nullptr ? *real : -1.0;
    };
    sound = row != nullptr && row->size() == 3;
    if (!sound) break;
    const double from = number(0);
    const double to = number(1);
    const double amount = number(2);
    sound = from >= 0 && from < to && to < num_layers && from == std::floor(from) &&
            to == std::floor(to) && amount >= 0 && amount <= kMostOfAnything;
    if (sound) make(static_cast<int>(from), static_cast<int>(to), amount);
  }
  if (!sound)
    reader.fail(key, "model.graph",
                fmt::format("{} must be a list of [layer, later layer, amount] over the {} layers",
                            key, num_layers));
}

// One layer has all tables and nothing else; each has rows, columns and look-ups.
void check_tables(spec::Reader& reader, const Model& model) {
  const auto fail = [&](const std::string& what) {
    reader.fail("kinds", "model.tables", what,
                "one layer holds all embedding tables and nothing else");
  };
  int layers = 0;
  for (const int kind : model.layers) {
    int tables = 0;
    const LayerKind& layer = model.kinds[static_cast<std::size_t>(kind)];
    for (const Operator& op : layer.operators) {
      if (op.split != Split::kTables) continue;
      ++tables;
      const bool whole = op.k >= 1 && op.k <= 1e12 && op.n >= 1 && op.n <= 1e6 && op.rows >= 1 &&
                         op.rows <= 1e6 && op.weight_bytes > 0 && op.k == std::floor(op.k) &&
                         op.n == std::floor(op.n) && op.parameters == op.k * op.n;
      if (!whole)
        fail(
            fmt::format("table {} of layer {}: {} rows x {} columns of {} bytes, {} look-ups, {} "
                        "parameters",
                        op.name, layer.name, op.k, op.n, op.weight_bytes, op.rows, op.parameters));
    }
    if (tables == 0) continue;
    if (++layers > 1) return fail("several layers have embedding tables");
    if (tables != static_cast<int>(layer.operators.size()))
      return fail(fmt::format("layer {} has embedding tables and other operators", layer.name));
  }
}

}  // namespace

spec::Value layers_to_value(const Model& model) {
  spec::Array kinds;
  for (const LayerKind& kind : model.kinds) kinds.push_back(write_kind(kind));
  spec::Array layers;
  for (int kind : model.layers) layers.push_back(to_value(std::int64_t{kind}));
  spec::Table table = {{"name", to_value(model.name)},
                       {"family", to_value(model.family)},
                       {"tokens_per_sample", to_value(model.tokens_per_sample)},
                       {"kinds", to_value(std::move(kinds))},
                       {"layers", to_value(std::move(layers))}};
  spec::Array edges;
  for (const Edge& edge : model.edges) edges.push_back(triple(edge.from, edge.to, edge.elements));
  if (!edges.empty()) table.emplace_back("edges", to_value(std::move(edges)));
  spec::Array tied;
  for (const TiedWeights& pair : model.tied)
    tied.push_back(triple(pair.first, pair.second, pair.parameters));
  if (!tied.empty()) table.emplace_back("tied", to_value(std::move(tied)));
  if (model.transformer) table.emplace_back("transformer", write_shape(*model.transformer));
  if (model.cnn) table.emplace_back("cnn", write_shape(*model.cnn));
  if (model.dlrm) table.emplace_back("dlrm", write_shape(*model.dlrm));
  if (model.script)
    table.emplace_back("script", to_value(spec::Table{{"folder", to_value(model.script->path)},
                                                      {"id", to_value(model.script->id)}}));
  return to_value(std::move(table));
}

Model layers_from_value(const spec::Value& value, ErrorList& errors) {
  spec::Reader reader(value, errors);
  Model model;
  model.name = reader.optional_string("name");
  model.family = reader.optional_string("family");
  model.tokens_per_sample = reader.optional_double("tokens_per_sample", 0, 0, kMostOfAnything);
  for (spec::Reader& kind : reader.required_tables("kinds")) model.kinds.push_back(read_kind(kind));
  const int num_kinds = static_cast<int>(model.kinds.size());
  model.layers = reader.required_ints("layers", 0, num_kinds > 0 ? num_kinds - 1 : 0);
  if (model.layers.empty())
    reader.fail("layers", "model.shape", "layers is empty: a model has at least one layer");
  read_pairs(reader, "edges", model.num_layers(), [&](int from, int to, double elements) {
    model.edges.push_back({from, to, elements});
  });
  read_pairs(reader, "tied", model.num_layers(), [&](int first, int second, double parameters) {
    model.tied.push_back({first, second, parameters});
  });
  if (!model.kinds.empty() && errors.empty()) check_tables(reader, model);
  const auto shape = [&](const char* key, auto& target) {
    const spec::Value* table = reader.raw(key);
    if (table == nullptr) return;
    const AnyShape read = read_shape_unchecked(*table, errors);
    using Shape = typename std::remove_reference_t<decltype(target)>::value_type;
    if (const auto* found = std::get_if<Shape>(&read)) target = *found;
  };
  shape("transformer", model.transformer);
  shape("cnn", model.cnn);
  shape("dlrm", model.dlrm);
  if (spec::Reader script = reader.optional_table("script"); script.present()) {
    model.script = {script.required_string("folder"), script.required_string("id")};
    script.finish();
  }
  reader.finish();
  return model;
}

}  // namespace nereus::model
