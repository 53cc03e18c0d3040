#include "model/model_io.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "model/read/load_model.hpp"
#include "model/shape_io.hpp"

namespace nereus::model::model_io_test {
namespace {

Model again(const Model& model) {
  ErrorList errors;
  Model read = model_from_value(spec::parse_json(model_to_json(model), "model.json"), errors);
  errors.throw_if_any();
  return read;
}

TEST(ModelIo, EveryCatalogueModelComesBackEqualAndSmall) {
  ASSERT_GE(catalogue_model_names().size(), 50U);
  for (const std::string& name : catalogue_model_names()) {
    const Model m = load_model(name);
    EXPECT_EQ(again(m), m) << name;
    EXPECT_LT(model_to_json(m).size(), 700U) << model_to_json(m);
  }
}

TEST(ModelIo, AShapeWhoseLayersWereChangedIsWrittenByLayers) {
  Model m = load_model("gpt2", {{"layers", "3"}});
  m.kinds[1].operators[0].flops += 0.1;
  EXPECT_EQ(again(m), m);
  Model g = load_model("resnet18");
  g.edges[3].elements = 1e-7;
  EXPECT_EQ(again(g), g);
}

TEST(ModelIo, LayersThatCannotBeAreRefused) {
  const auto faults = [](const char* json) {
    ErrorList errors;
    model_from_value(spec::parse_json(json, "m.json"), errors);
    return errors.list().size();
  };
  EXPECT_EQ(
      faults(R"({"kinds": [{"operators": [{"kind": "gemm", "rows": 2}]}], "layers": [0, 0]})"), 0U);
  EXPECT_EQ(faults(R"({"kinds": [{}], "layers": []})"), 1U);
  EXPECT_EQ(faults(R"({"kinds": [{}], "layers": [1]})"), 1U);
  EXPECT_EQ(faults(R"({"kinds": [{}], "layers": [0, 0], "edges": [[1, 0, 5]]})"), 1U);
  EXPECT_EQ(faults(R"({"kinds": [{}], "layers": [0, 0], "edges": [[0, 2, 5]]})"), 1U);
  EXPECT_EQ(faults(R"({"kinds": [{}], "layers": [0, 0], "edges": [[0, 1]]})"), 1U);
  EXPECT_EQ(faults(R"({"kinds": [{"operators": [{"kind": "gem", "rows": -1}]}], "layers": [0]})"),
            2U);
}

double any_count() {
  return static_cast<double>(*rc::gen::inRange<std::int64_t>(0, 1LL << 52)) * 0.37;
}

Operator any_operator() {
  Operator op;
  op.name = *rc::gen::string<std::string>();
  // JSON text is UTF-8; names of operators come from such files.
  for (char& c : op.name) c = static_cast<char>(' ' + (static_cast<unsigned char>(c) % 90));
  op.kind = *rc::gen::element(OpKind::kGemm, OpKind::kAttention, OpKind::kConvolution,
                              OpKind::kLoss, OpKind::kPool);
  op.split = *rc::gen::element(Split::kReplicated, Split::kExperts, Split::kHeads);
  op.rows_divide = *rc::gen::arbitrary<bool>();
  op.causal = *rc::gen::arbitrary<bool>();
  op.heads = *rc::gen::inRange(0, 1000);
  op.kernels = *rc::gen::inRange(0, 9);
  for (double* member :
       {&op.rows, &op.n, &op.k, &op.batch, &op.keys, &op.parameters, &op.flops, &op.read_elements,
        &op.written_elements, &op.saved_elements, &op.saved_bytes})
    *member = any_count();
  return op;
}

RC_GTEST_PROP(ModelIo, AnyGraphComesBackEqual, ()) {
  Model m;
  m.name = "any";
  m.family = "onnx";
  m.tokens_per_sample = any_count();
  const int num_kinds = *rc::gen::inRange(1, 5);
  for (int i = 0; i < num_kinds; ++i) {
    LayerKind kind;
    kind.name = std::to_string(i);
    kind.role = *rc::gen::element(LayerRole::kEmbedding, LayerRole::kHead, LayerRole::kOther);
    const int num_operators = *rc::gen::inRange(0, 4);
    for (int j = 0; j < num_operators; ++j) kind.operators.push_back(any_operator());
    kind.input_elements = any_count();
    kind.output_elements = any_count();
    if (*rc::gen::arbitrary<bool>()) kind.tensor_regions.push_back({any_count()});
    if (*rc::gen::arbitrary<bool>()) kind.expert_regions.push_back({any_count()});
    m.kinds.push_back(kind);
  }
  const int num_layers = *rc::gen::inRange(1, 12);
  for (int i = 0; i < num_layers; ++i) m.layers.push_back(*rc::gen::inRange(0, num_kinds));
  for (int i = 1; i < num_layers; ++i) {
    m.edges.push_back({*rc::gen::inRange(0, i), i, any_count()});
    if (*rc::gen::inRange(0, 4) == 0) m.tied.push_back({*rc::gen::inRange(0, i), i, any_count()});
  }
  RC_ASSERT(again(m) == m);
}

RC_GTEST_PROP(ModelIo, AnyTransformerComesBackEqualFromItsShape, ()) {
  TransformerShape s = *family_defaults(
      *rc::gen::element<std::string>("gpt", "llama", "mpt", "bert", "deepseek", "qwen3"));
  s.name = "any";
  s.layers = *rc::gen::inRange(1, 200);
  s.heads = *rc::gen::inRange(1, 64);
  s.kv_heads = *rc::gen::element(0, 1, s.heads);
  s.head_dim = *rc::gen::inRange(1, 256);
  s.hidden = *rc::gen::inRange(1, 20000);
  s.ffn = *rc::gen::inRange(1, 80000);
  s.vocab = *rc::gen::inRange(1, 300000);
  s.seq = *rc::gen::inRange(1, 200000);
  s.norm = *rc::gen::element(NormKind::kLayerNorm, NormKind::kRmsNorm);
  s.position = *rc::gen::element(PositionKind::kLearned, PositionKind::kRotary,
                                 PositionKind::kAlibi, PositionKind::kNone);
  s.tied_embeddings = *rc::gen::arbitrary<bool>();
  s.bias = *rc::gen::arbitrary<bool>();
  s.gated_mlp = *rc::gen::arbitrary<bool>();
  if (*rc::gen::arbitrary<bool>()) {
    s.experts = *rc::gen::inRange(1, 256);
    s.top_k = *rc::gen::inRange(1, s.experts + 1);
    s.expert_ffn = *rc::gen::inRange(1, 20000);
    s.dense_layers = *rc::gen::inRange(0, s.layers + 1);
    s.shared_experts = *rc::gen::inRange(0, 3);
  }
  const Model m = build_transformer(s);
  RC_ASSERT(again(m) == m);
  RC_ASSERT(model_to_json(m).find("kinds") == std::string::npos);
}

}  // namespace
}  // namespace nereus::model::model_io_test
