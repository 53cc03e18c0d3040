#include "model/shape_io.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/nearest.hpp"
#include "model/model.hpp"
#include "spec/fields.hpp"

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

constexpr std::pair<std::string_view, NormKind> kNorms[] = {{"layer", NormKind::kLayerNorm},
                                                            {"rms", NormKind::kRmsNorm}};

constexpr std::pair<std::string_view, PositionKind> kPositions[] = {
    {"learned", PositionKind::kLearned},
    {"rotary", PositionKind::kRotary},
    {"alibi", PositionKind::kAlibi},
    {"none", PositionKind::kNone},
    {"relative", PositionKind::kRelative}};

constexpr std::pair<std::string_view, TableOptimizer> kTableOptimizers[] = {
    {"sgd", TableOptimizer::kSgd},
    {"rowwise-adagrad", TableOptimizer::kRowwiseAdagrad},
    {"adagrad", TableOptimizer::kAdagrad},
    {"adam", TableOptimizer::kAdam}};

constexpr std::pair<std::string_view, Interaction> kInteractions[] = {
    {"dot", Interaction::kDot}, {"cat", Interaction::kCat}, {"cross", Interaction::kCross}};

std::vector<std::int64_t> read_rows(spec::Reader& reader) {
  std::vector<std::int64_t> rows;
  for (const double value : reader.optional_doubles("rows", 0, 1e12)) {
    if (value != std::floor(value))
      reader.fail("rows", "spec.type",
                  fmt::format("rows holds {}, which is no whole number", value));
    rows.push_back(static_cast<std::int64_t>(value));
  }
  return rows;
}

}  // namespace

template <class V>
void visit_fields(V& v, spec::Like<TransformerShape> auto& s) {
  v("layers", s.layers, 0, kMostLayers);
  v("hidden", s.hidden, 0, kWidest);
  v("heads", s.heads, 0, kMostHeads);
  v("kv_heads", s.kv_heads, 0, kMostHeads);
  v("head_dim", s.head_dim, 0, kWidest);
  v("ffn", s.ffn, 0, kLargestFfn);
  v(s.family == "vit" || s.family == "dit" ? "classes" : "vocab", s.vocab, 0, kLargestVocab);
  v("seq", s.seq, 0, kLongest);
  v("gated_mlp", s.gated_mlp);
  v("tied_embeddings", s.tied_embeddings);
  v("causal", s.causal);
  v("bias", s.bias);
  v("qk_norm", s.qk_norm);
  v("post_norm", s.post_norm);
  v("norm", s.norm, kNorms);
  v("position", s.position, kPositions);
  v("max_positions", s.max_positions, 0, kLongest);
  v("experts", s.experts, 0, kWidest);
  v("top_k", s.top_k, 0, kWidest);
  v("expert_ffn", s.expert_ffn, 0, kLargestFfn);
  v("shared_experts", s.shared_experts, 0, kWidest);
  v("shared_expert_ffn", s.shared_expert_ffn, 0, kLargestFfn);
  v("dense_layers", s.dense_layers, 0, kMostLayers);
  v("expert_interval", s.expert_interval, 0, kMostLayers);
  v("expert_latent", s.expert_latent, 0, kWidest);
  v("mtp_layers", s.mtp_layers, 0, 100);
  v("q_lora", s.q_lora, 0, kWidest);
  v("kv_lora", s.kv_lora, 0, kWidest);
  v("rope_head_dim", s.rope_head_dim, 0, kWidest);
  v("value_head_dim", s.value_head_dim, 0, kWidest);
  v("window", s.window, 0, kLongest);
  v("window_interval", s.window_interval, 0, kMostLayers);
  v("full_interval", s.full_interval, 0, kMostLayers);
  v("decoder_layers", s.decoder_layers, 0, kMostLayers);
  v("target_seq", s.target_seq, 0, kLongest);
  v("compress_near", s.compress_near, 0, kLongest);
  v("compress_far", s.compress_far, 0, kLongest);
  v("index_heads", s.index_heads, 0, kMostHeads);
  v("index_head_dim", s.index_head_dim, 0, kWidest);
  v("index_top_k", s.index_top_k, 0, kLongest);
  v("output_groups", s.output_groups, 0, kMostHeads);
  v("output_lora", s.output_lora, 0, kWidest);
  v("streams", s.streams, 0, 100);
  v("pattern", s.pattern);
  v("ssm_heads", s.ssm_heads, 0, kMostHeads);
  v("ssm_head_dim", s.ssm_head_dim, 0, kWidest);
  v("ssm_state", s.ssm_state, 0, kWidest);
  v("ssm_groups", s.ssm_groups, 0, kMostHeads);
  v("ssm_window", s.ssm_window, 0, kWidest);
  v("ssm_rank", s.ssm_rank, 0, kWidest);
  v("patch", s.patch, 0, kLargestImage);
  v("image", s.image, 0, kLargestImage);
  v("channels", s.channels, 0, kWidest);
  v("modulated", s.modulated);
}

template <class V>
void visit_fields(V& v, spec::Like<CnnShape> auto& s) {
  v("depth", s.depth, 0, 10'000);
  v("width", s.width, 0, 10'000);
  v("channels", s.channels, 0, 10'000);
  v("image", s.image, 0, kLargestImage);
  v("classes", s.classes, 0, kLargestVocab);
  v("batch_norm", s.batch_norm);
  v("aux_head", s.aux_head);
}

template <class V>
void visit_fields(V& v, spec::Like<DlrmShape> auto& s) {
  v.by_hand("rows", s.rows, spec::put_value<std::vector<std::int64_t>>, read_rows);
  v("lookups", s.lookups, 0, kWidest);
  v("dim", s.dim, 0, kWidest);
  v("dense_features", s.dense_features, 0, kWidest);
  v("bottom", s.bottom, 0, kWidest);
  v("top", s.top, 0, kWidest);
  v("interaction", s.interaction, kInteractions);
  v("cross_layers", s.cross_layers, 0, 1000);
  v("cross_rank", s.cross_rank, 0, kWidest);
  v("table_bytes", s.table_bytes, 0, 8);
  v("table_optimizer", s.table_optimizer, kTableOptimizers);
}

namespace {

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
  spec::TakeFields take(reader);
  auto transformer = family_defaults(family);
  const bool known = transformer || is_cnn(family) || family == "dlrm";
  if (!known && !checked) {  // a shape built in code may carry a family of its own
    transformer.emplace();
    transformer->family = family;
  }
  if (transformer) {
    transformer->name = name;
    visit_fields(take, *transformer);
    if (checked) default_ffn(*transformer);
    shape = *transformer;
  } else if (is_cnn(family)) {
    CnnShape cnn;
    cnn.name = name;
    cnn.family = family;
    visit_fields(take, cnn);
    shape = cnn;
  } else if (family == "dlrm") {
    DlrmShape dlrm;
    dlrm.name = name;
    visit_fields(take, dlrm);
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

template <class Shape>
spec::Value write(const Shape& shape, const std::string& family, const Shape& usual = {}) {
  spec::Table table;
  if (!shape.name.empty()) table.emplace_back("name", spec::put_value(shape.name));
  table.emplace_back("family", spec::put_value(family));
  for (auto& member : spec::put_fields(shape, usual)) table.push_back(std::move(member));
  return {.data = std::move(table)};
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
  if (const auto* transformer = std::get_if<TransformerShape>(&shape)) {
    TransformerShape base = family_defaults(transformer->family).value_or(TransformerShape{});
    base.family = transformer->family;
    return write(*transformer, transformer->family, base);
  }
  if (const auto* cnn = std::get_if<CnnShape>(&shape)) return write(*cnn, cnn->family);
  if (const auto* dlrm = std::get_if<DlrmShape>(&shape)) return write(*dlrm, "dlrm");
  return spec::put_value(spec::Table{});
}

}  // namespace nereus::model
