#include "model/shape_io.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/nearest.hpp"
#include "model/model.hpp"
#include "model/value_tools.hpp"
#include "spec/reader.hpp"

namespace nereus::model {

namespace {

// Sizes beyond these are typos. The limits also keep all products of the expansion far from
// overflow.
constexpr int kMostLayers = 100'000;
constexpr int kWidest = 1'000'000;
constexpr int kMostHeads = 100'000;
constexpr int kLargestFfn = 100'000'000;
constexpr int kLargestVocab = 100'000'000;
constexpr int kLongest = 1'000'000'000;
constexpr int kLargestImage = 16'384;

const spec::Choices<NormKind>& norms() {
  static const spec::Choices<NormKind> kList = {{"layer", NormKind::kLayerNorm},
                                                {"rms", NormKind::kRmsNorm}};
  return kList;
}

const spec::Choices<PositionKind>& positions() {
  static const spec::Choices<PositionKind> kList = {{"learned", PositionKind::kLearned},
                                                    {"rotary", PositionKind::kRotary},
                                                    {"alibi", PositionKind::kAlibi},
                                                    {"none", PositionKind::kNone}};
  return kList;
}

const spec::Choices<TableOptimizer>& table_optimizers() {
  static const spec::Choices<TableOptimizer> kList = {
      {"sgd", TableOptimizer::kSgd},
      {"rowwise-adagrad", TableOptimizer::kRowwiseAdagrad},
      {"adagrad", TableOptimizer::kAdagrad},
      {"adam", TableOptimizer::kAdam}};
  return kList;
}

const spec::Choices<Interaction>& interactions() {
  static const spec::Choices<Interaction> kList = {
      {"dot", Interaction::kDot}, {"cat", Interaction::kCat}, {"cross", Interaction::kCross}};
  return kList;
}

// Calls visit(key, member, largest) for whole numbers and visit(key, member) for the rest.
template <class Shape, class Visit>
void visit_transformer(Shape& s, Visit&& visit) {
  visit("layers", s.layers, kMostLayers);
  visit("hidden", s.hidden, kWidest);
  visit("heads", s.heads, kMostHeads);
  visit("kv_heads", s.kv_heads, kMostHeads);
  visit("head_dim", s.head_dim, kWidest);
  visit("ffn", s.ffn, kLargestFfn);
  visit(s.family == "vit" ? "classes" : "vocab", s.vocab, kLargestVocab);
  visit("seq", s.seq, kLongest);
  visit("gated_mlp", s.gated_mlp);
  visit("tied_embeddings", s.tied_embeddings);
  visit("causal", s.causal);
  visit("bias", s.bias);
  visit("qk_norm", s.qk_norm);
  visit("norm", s.norm);
  visit("position", s.position);
  visit("max_positions", s.max_positions, kLongest);
  visit("experts", s.experts, kWidest);
  visit("top_k", s.top_k, kWidest);
  visit("expert_ffn", s.expert_ffn, kLargestFfn);
  visit("shared_experts", s.shared_experts, kWidest);
  visit("shared_expert_ffn", s.shared_expert_ffn, kLargestFfn);
  visit("dense_layers", s.dense_layers, kMostLayers);
  visit("expert_interval", s.expert_interval, kMostLayers);
  visit("expert_latent", s.expert_latent, kWidest);
  visit("mtp_layers", s.mtp_layers, 100);
  visit("q_lora", s.q_lora, kWidest);
  visit("kv_lora", s.kv_lora, kWidest);
  visit("rope_head_dim", s.rope_head_dim, kWidest);
  visit("value_head_dim", s.value_head_dim, kWidest);
  visit("window", s.window, kLongest);
  visit("window_interval", s.window_interval, kMostLayers);
  visit("compress_near", s.compress_near, kLongest);
  visit("compress_far", s.compress_far, kLongest);
  visit("index_heads", s.index_heads, kMostHeads);
  visit("index_head_dim", s.index_head_dim, kWidest);
  visit("index_top_k", s.index_top_k, kLongest);
  visit("output_groups", s.output_groups, kMostHeads);
  visit("output_lora", s.output_lora, kWidest);
  visit("streams", s.streams, 100);
  visit("pattern", s.pattern);
  visit("ssm_heads", s.ssm_heads, kMostHeads);
  visit("ssm_head_dim", s.ssm_head_dim, kWidest);
  visit("ssm_state", s.ssm_state, kWidest);
  visit("ssm_groups", s.ssm_groups, kMostHeads);
  visit("ssm_window", s.ssm_window, kWidest);
  visit("patch", s.patch, kLargestImage);
  visit("image", s.image, kLargestImage);
}

template <class Shape, class Visit>
void visit_cnn(Shape& s, Visit&& visit) {
  visit("depth", s.depth, 10'000);
  visit("width", s.width, 10'000);
  visit("channels", s.channels, 10'000);
  visit("image", s.image, kLargestImage);
  visit("classes", s.classes, kLargestVocab);
  visit("batch_norm", s.batch_norm);
  visit("aux_head", s.aux_head);
}

template <class Shape, class Visit>
void visit_dlrm(Shape& s, Visit&& visit) {
  visit("rows", s.rows);
  visit("lookups", s.lookups);
  visit("dim", s.dim, kWidest);
  visit("dense_features", s.dense_features, kWidest);
  visit("bottom", s.bottom);
  visit("top", s.top);
  visit("interaction", s.interaction);
  visit("cross_layers", s.cross_layers, 1000);
  visit("cross_rank", s.cross_rank, kWidest);
  visit("table_bytes", s.table_bytes, 8);
  visit("table_optimizer", s.table_optimizer);
}

struct ReadField {
  spec::Reader& reader;

  void operator()(const char* key, int& member, int largest) {
    member = reader.optional_int(key, member, 0, largest);
  }
  void operator()(const char* key, bool& member) { member = reader.optional_bool(key, member); }
  void operator()(const char* key, std::string& member) { member = reader.optional_string(key); }
  void operator()(const char* key, NormKind& member) {
    member = reader.optional_enum(key, member, norms());
  }
  void operator()(const char* key, PositionKind& member) {
    member = reader.optional_enum(key, member, positions());
  }
  void operator()(const char* key, TableOptimizer& member) {
    member = reader.optional_enum(key, member, table_optimizers());
  }
  void operator()(const char* key, Interaction& member) {
    member = reader.optional_enum(key, member, interactions());
  }
  void operator()(const char* key, std::vector<int>& member) {
    member = reader.optional_ints(key, 0, kWidest);
  }
  void operator()(const char* key, std::vector<std::int64_t>& member) {
    member.clear();
    for (double value : reader.optional_doubles(key, 0, 1e12)) {
      if (value != std::floor(value))
        reader.fail(key, "spec.type",
                    fmt::format("{} holds {}, which is no whole number", key, value));
      member.push_back(static_cast<std::int64_t>(value));
    }
  }
};

struct WriteField {
  spec::Table& table;

  void operator()(const char* key, int member, int) { add(key, std::int64_t{member}); }
  void operator()(const char* key, bool member) { add(key, member); }
  void operator()(const char* key, const std::string& member) { add(key, member); }
  void operator()(const char* key, NormKind member) { add(key, name_of(norms(), member)); }
  void operator()(const char* key, PositionKind member) { add(key, name_of(positions(), member)); }
  void operator()(const char* key, TableOptimizer member) {
    add(key, name_of(table_optimizers(), member));
  }
  void operator()(const char* key, Interaction member) {
    add(key, name_of(interactions(), member));
  }
  template <class T>
  void operator()(const char* key, const std::vector<T>& member) {
    spec::Array array;
    for (T value : member) array.push_back(to_value(std::int64_t{value}));
    add(key, std::move(array));
  }

 private:
  template <class T>
  void add(const char* key, T value) {
    table.emplace_back(key, to_value(std::move(value)));
  }
};

bool is_cnn(std::string_view family) {
  static constexpr std::string_view kFamilies[] = {
      "resnet", "vgg", "inception", "alexnet", "squeezenet", "mobilenet", "shufflenet"};
  return std::find(std::begin(kFamilies), std::end(kFamilies), family) != std::end(kFamilies);
}

// A plain MLP is four times as wide as the model unless stated.
void default_ffn(TransformerShape& shape) {
  if (shape.ffn == 0 && !shape.gated_mlp && has_dense_mlp(shape)) shape.ffn = 4 * shape.hidden;
}

AnyShape read_any(const spec::Value& table, ErrorList& errors, bool checked) {
  spec::Reader reader(table, errors);
  if (!reader.present()) return {};
  const std::string family =
      checked ? reader.required_string("family") : reader.optional_string("family");
  const std::string name = reader.optional_string("name");
  reader.skip("source");
  AnyShape shape;
  auto transformer = family_defaults(family);
  const bool known = transformer || is_cnn(family) || family == "dlrm";
  if (!known && !checked) {  // a shape built in code may carry a family of its own
    transformer.emplace();
    transformer->family = family;
  }
  if (transformer) {
    transformer->name = name;
    visit_transformer(*transformer, ReadField{reader});
    if (checked) default_ffn(*transformer);
    shape = *transformer;
  } else if (is_cnn(family)) {
    CnnShape cnn;
    cnn.name = name;
    cnn.family = family;
    visit_cnn(cnn, ReadField{reader});
    shape = cnn;
  } else if (family == "dlrm") {
    DlrmShape dlrm;
    dlrm.name = name;
    visit_dlrm(dlrm, ReadField{reader});
    shape = dlrm;
  } else {
    if (!family.empty()) {
      const auto near = nearest(family, family_names());
      reader.fail("family", "model.family",
                  fmt::format("the model family \"{}\" is not known", family),
                  near ? fmt::format("did you mean \"{}\"?", *near)
                       : fmt::format("known: {}", fmt::join(family_names(), ", ")));
    }
    return {};
  }
  reader.finish();
  return shape;
}

spec::Table head(const std::string& name, const std::string& family) {
  spec::Table table;
  if (!name.empty()) table.emplace_back("name", to_value(name));
  table.emplace_back("family", to_value(family));
  return table;
}

// resolve() knows no file: its messages start with the key they are about, which gives the place.
std::string key_of(const Error& error) { return error.message.substr(0, error.message.find(' ')); }

// Whether an error of resolve() only follows from one of the reader's: the value could not be read,
// or the key is absent and another key was unknown.
bool follows(const Error& error, const spec::Value& table,
             const std::vector<Error>& reader_errors) {
  const spec::Value* value = table.find(key_of(error));
  if (value == nullptr) return !reader_errors.empty();
  const Where where = value->where();
  return std::any_of(reader_errors.begin(), reader_errors.end(),
                     [&](const Error& e) { return e.where == where; });
}

}  // namespace

AnyShape read_shape_unchecked(const spec::Value& table, ErrorList& errors) {
  return read_any(table, errors, false);
}

AnyShape read_shape(const spec::Value& table, ErrorList& errors) {
  ErrorList own;
  AnyShape shape = read_any(table, own, true);
  const std::vector<Error> reader_errors = own.list();
  try {
    if (auto* transformer = std::get_if<TransformerShape>(&shape))
      *transformer = resolve(*transformer);
    if (auto* cnn = std::get_if<CnnShape>(&shape)) *cnn = resolve(*cnn);
    if (auto* dlrm = std::get_if<DlrmShape>(&shape)) *dlrm = resolve(*dlrm);
  } catch (const Errors& failed) {
    for (Error error : failed.list()) {
      if (follows(error, table, reader_errors)) continue;
      const spec::Value* value = table.find(key_of(error));
      error.where = value != nullptr ? value->where() : table.where();
      own.add(std::move(error));
    }
  }
  for (const Error& error : own.list()) errors.add(error);
  return own.empty() ? shape : AnyShape{};
}

spec::Value write_shape(const AnyShape& shape) {
  spec::Table all;
  spec::Table defaults;
  spec::Table out;
  if (const auto* transformer = std::get_if<TransformerShape>(&shape)) {
    out = head(transformer->name, transformer->family);
    TransformerShape base = family_defaults(transformer->family).value_or(TransformerShape{});
    base.family = transformer->family;
    visit_transformer(*transformer, WriteField{all});
    visit_transformer(base, WriteField{defaults});
  } else if (const auto* cnn = std::get_if<CnnShape>(&shape)) {
    out = head(cnn->name, cnn->family);
    visit_cnn(*cnn, WriteField{all});
    const CnnShape base;
    visit_cnn(base, WriteField{defaults});
  } else if (const auto* dlrm = std::get_if<DlrmShape>(&shape)) {
    out = head(dlrm->name, "dlrm");
    visit_dlrm(*dlrm, WriteField{all});
    const DlrmShape base;
    visit_dlrm(base, WriteField{defaults});
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!(all[i].second == defaults[i].second)) out.push_back(std::move(all[i]));
  return to_value(std::move(out));
}

}  // namespace nereus::model
