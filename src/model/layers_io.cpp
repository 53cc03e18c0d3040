#include <fmt/format.h>

#include <cmath>

#include "base/format.hpp"
#include "model/model_io.hpp"
#include "model/shape_io.hpp"
#include "spec/fields.hpp"

namespace nereus::model {

using spec::put_value;

namespace {

constexpr std::pair<std::string_view, OpKind> kOpKinds[] = {
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

constexpr std::pair<std::string_view, Split> kSplits[] = {
    {"replicated", Split::kReplicated},
    {"column", Split::kColumn},
    {"row", Split::kRow},
    {"heads", Split::kHeads},
    {"features", Split::kFeatures},
    {"vocabulary", Split::kVocabulary},
    {"experts", Split::kExperts},
    {"tables", Split::kTables},
};

constexpr std::pair<std::string_view, LayerRole> kRoles[] = {{"embedding", LayerRole::kEmbedding},
                                                             {"block", LayerRole::kBlock},
                                                             {"head", LayerRole::kHead},
                                                             {"other", LayerRole::kOther}};

// Counts of anything real stay below this; sums of many of them stay finite.
constexpr double kMostOfAnything = 1e40;

}  // namespace

template <class V>
void visit_fields(V& v, spec::Like<Operator> auto& op) {
  v("name", op.name);
  v("kind", op.kind, kOpKinds);
  v("split", op.split, kSplits);
  v("inside", op.inside, kSplits);
  v("rows_divide", op.rows_divide);
  v("full_width", op.full_width);
  v("gated", op.gated);
  v("image", op.image);
  v("rows", op.rows, 0, kMostOfAnything);
  v("n", op.n, 0, kMostOfAnything);
  v("k", op.k, 0, kMostOfAnything);
  v("batch", op.batch, 0, kMostOfAnything);
  v("heads", op.heads);
  v("kv_heads", op.kv_heads);
  v("head_dim", op.head_dim, 0, kMostOfAnything);
  v("value_head_dim", op.value_head_dim, 0, kMostOfAnything);
  v("keys", op.keys, 0, kMostOfAnything);
  v("causal", op.causal);
  v("window", op.window);
  v("groups", op.groups);
  v("input_elements", op.input_elements, 0, kMostOfAnything);
  v("weight_bytes", op.weight_bytes, 0, kMostOfAnything);
  v("state_bytes", op.state_bytes, 0, kMostOfAnything);
  v("row_state_bytes", op.row_state_bytes, 0, kMostOfAnything);
  v("parameters", op.parameters, 0, kMostOfAnything);
  v("flops", op.flops, 0, kMostOfAnything);
  v("read_elements", op.read_elements, 0, kMostOfAnything);
  v("written_elements", op.written_elements, 0, kMostOfAnything);
  v("saved_elements", op.saved_elements, 0, kMostOfAnything);
  v("saved_bytes", op.saved_bytes, 0, kMostOfAnything);
  v("kernels", op.kernels);
}

namespace {

template <class Region>
spec::Value write_regions(const std::vector<Region>& regions) {
  spec::Array array;
  for (const Region& region : regions) array.push_back(put_value(region.elements));
  return put_value(std::move(array));
}

spec::Value write_kind(const LayerKind& kind) {
  spec::Table table = {{"name", put_value(kind.name)},
                       {"role", put_value(kind.role, kRoles)},
                       {"input_elements", put_value(kind.input_elements)},
                       {"output_elements", put_value(kind.output_elements)},
                       {"operators", put_value(kind.operators)}};
  if (!kind.tensor_regions.empty())
    table.emplace_back("tensor_regions", write_regions(kind.tensor_regions));
  if (!kind.expert_regions.empty()) {
    table.emplace_back("expert_regions", write_regions(kind.expert_regions));
    spec::Array copies;
    for (const ExpertRegion& region : kind.expert_regions)
      copies.push_back(put_value(region.copies));
    table.emplace_back("expert_copies", put_value(std::move(copies)));
  }
  if (kind.mixers != LayerKind{}.mixers) table.emplace_back("mixers", put_value(kind.mixers));
  return put_value(std::move(table));
}

LayerKind read_kind(spec::Reader& reader) {
  LayerKind kind;
  spec::TakeFields take(reader);
  kind.name = reader.optional_string("name");
  take("role", kind.role, kRoles);
  kind.input_elements = reader.optional_double("input_elements", 0, 0, kMostOfAnything);
  kind.output_elements = reader.optional_double("output_elements", 0, 0, kMostOfAnything);
  take("operators", kind.operators);
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
  return put_value(spec::Array{put_value(a), put_value(b), put_value(c)});
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
                fmt::format("{} must be a list of [layer, later layer, amount] over the {}", key,
                            counted(num_layers, "layer")));
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
    const LayerKind& layer = model.kinds[kind];
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
  for (int kind : model.layers) layers.push_back(put_value(kind));
  spec::Table table = {{"name", put_value(model.name)},
                       {"family", put_value(model.family)},
                       {"tokens_per_sample", put_value(model.tokens_per_sample)},
                       {"kinds", put_value(std::move(kinds))},
                       {"layers", put_value(std::move(layers))}};
  spec::Array edges;
  for (const Edge& edge : model.edges) edges.push_back(triple(edge.from, edge.to, edge.elements));
  if (!edges.empty()) table.emplace_back("edges", put_value(std::move(edges)));
  spec::Array tied;
  for (const TiedWeights& pair : model.tied)
    tied.push_back(triple(pair.first, pair.second, pair.parameters));
  if (!tied.empty()) table.emplace_back("tied", put_value(std::move(tied)));
  if (model.transformer) table.emplace_back("transformer", write_shape(*model.transformer));
  if (model.cnn) table.emplace_back("cnn", write_shape(*model.cnn));
  if (model.dlrm) table.emplace_back("dlrm", write_shape(*model.dlrm));
  if (model.script)
    table.emplace_back("script", put_value(spec::Table{{"folder", put_value(model.script->path)},
                                                       {"id", put_value(model.script->id)}}));
  return put_value(std::move(table));
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
