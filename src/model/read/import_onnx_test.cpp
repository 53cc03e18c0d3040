#include "model/read/import_onnx.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.hpp"
#include "model/cnn.hpp"
#include "model/onnx/proto.hpp"

#ifdef NEREUS_HAS_ONNX

namespace nereus::model::import_onnx_test {
namespace {

namespace pb = ::onnx;
using Dims = std::vector<std::int64_t>;

// Writes ONNX graphs node by node. Weights carry dims only, as in files with external data.
class Writer {
 public:
  Writer() {
    model_.set_ir_version(8);
    model_.add_opset_import()->set_version(17);
    graph_ = model_.mutable_graph();
    graph_->set_name("test");
  }

  // A dim is a number, or a name.
  std::string input(const std::string& name, const std::vector<std::string>& dims,
                    int type = pb::TensorProto::FLOAT) {
    auto* value = graph_->add_input();
    value->set_name(name);
    auto* tensor = value->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    for (const std::string& dim : dims) {
      auto* d = tensor->mutable_shape()->add_dim();
      if (std::isdigit(static_cast<unsigned char>(dim[0])) != 0) {
        d->set_dim_value(std::stoll(dim));
      } else {
        d->set_dim_param(dim);
      }
    }
    return name;
  }

  std::string weight(const Dims& dims) {
    auto* tensor = graph_->add_initializer();
    tensor->set_name("w" + std::to_string(graph_->initializer_size()));
    tensor->set_data_type(pb::TensorProto::FLOAT);
    tensor->set_data_location(pb::TensorProto::EXTERNAL);
    for (std::int64_t d : dims) tensor->add_dims(d);
    return tensor->name();
  }

  std::string ints(const Dims& values, bool scalar = false) {
    auto* tensor = graph_->add_initializer();
    tensor->set_name("c" + std::to_string(graph_->initializer_size()));
    tensor->set_data_type(pb::TensorProto::INT64);
    if (!scalar) tensor->add_dims(static_cast<std::int64_t>(values.size()));
    for (std::int64_t v : values) tensor->add_int64_data(v);
    return tensor->name();
  }

  std::string node(const std::string& op, const std::vector<std::string>& inputs,
                   const std::vector<std::pair<std::string, Dims>>& attributes = {}) {
    auto* n = graph_->add_node();
    n->set_op_type(op);
    n->set_name(op + "_" + std::to_string(graph_->node_size()));
    for (const std::string& in : inputs) n->add_input(in);
    for (const auto& [key, value] : attributes) {
      auto* a = n->add_attribute();
      a->set_name(key);
      const bool list = key == "kernel_shape" || key == "strides" || key == "pads" ||
                        key == "axes" || key == "perm" || key == "split";
      if (list) {
        for (std::int64_t v : value) a->add_ints(v);
      } else {
        a->set_i(value.at(0));
      }
    }
    n->add_output(n->name() + ":0");
    return n->output(0);
  }

  std::string second_output() {
    auto* n = graph_->mutable_node(graph_->node_size() - 1);
    n->add_output(n->name() + ":1");
    return n->output(1);
  }

  std::string bytes(const std::string& output = "") {
    if (!output.empty()) graph_->add_output()->set_name(output);
    return model_.SerializeAsString();
  }

 private:
  pb::ModelProto model_;
  pb::GraphProto* graph_ = nullptr;
};

std::string conv(Writer& w, const std::string& x, std::int64_t in, std::int64_t out, std::int64_t k,
                 std::int64_t stride, bool relu) {
  const std::int64_t pad = k / 2;
  std::string y = w.node(
      "Conv", {x, w.weight({out, in, k, k})},
      {{"kernel_shape", {k, k}}, {"strides", {stride, stride}}, {"pads", {pad, pad, pad, pad}}});
  y = w.node("BatchNormalization",
             {y, w.weight({out}), w.weight({out}), w.weight({out}), w.weight({out})});
  return relu ? w.node("Relu", {y}) : y;
}

std::string resnet50_bytes(const std::string& batch) {
  Writer w;
  std::string x = conv(w, w.input("image", {batch, "3", "224", "224"}), 3, 64, 7, 2, true);
  x = w.node("MaxPool", {x},
             {{"kernel_shape", {3, 3}}, {"strides", {2, 2}}, {"pads", {1, 1, 1, 1}}});
  std::int64_t channels = 64;
  std::int64_t in = 64;
  const int blocks[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage, channels *= 2) {
    for (int i = 0; i < blocks[stage]; ++i) {
      const std::int64_t stride = stage > 0 && i == 0 ? 2 : 1;
      std::string y = conv(w, x, in, channels, 1, 1, true);
      y = conv(w, y, channels, channels, 3, stride, true);
      y = conv(w, y, channels, channels * 4, 1, 1, false);
      const std::string shortcut = i == 0 ? conv(w, x, in, channels * 4, 1, stride, false) : x;
      x = w.node("Relu", {w.node("Add", {y, shortcut})});
      in = channels * 4;
    }
  }
  x = w.node("Flatten", {w.node("GlobalAveragePool", {x})});
  return w.bytes(w.node("Gemm", {x, w.weight({1000, 2048}), w.weight({1000})}, {{"transB", {1}}}));
}

auto sorted(std::vector<Edge> edges) {
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
    return std::pair(a.from, a.to) < std::pair(b.from, b.to);
  });
  return edges;
}

TEST(ImportOnnx, ResNet50IsTheFamilysOwnGraph) {
  const Model ours = build_cnn({.family = "resnet", .depth = 50});
  for (const char* batch : {"N", "1", "8"}) {
    const Model m = import_onnx(resnet50_bytes(batch), "resnet50.onnx", {});
    EXPECT_EQ(m.parameters(), 25557032);
    EXPECT_EQ(m.training_flops(), ours.training_flops());
    EXPECT_EQ(m.num_layers(), ours.num_layers());
    EXPECT_EQ(sorted(m.edges), sorted(ours.edges));
    EXPECT_EQ(m.name, "resnet50");
    double saved = 0;
    double expected = 0;
    for (int i = 0; i < m.num_layers(); ++i) {
      for (const Operator& op : m.layer(i).operators) saved += op.saved_elements;
      for (const Operator& op : ours.layer(i).operators) expected += op.saved_elements;
    }
    EXPECT_EQ(saved, expected) << "both count what a single device keeps";
  }
}

// One block of GPT-2 as exporters write it: layer norm in pieces, shapes computed in the graph, a
// tied head.
std::string gpt_bytes() {
  Writer w;
  const std::int64_t h = 64;
  const std::int64_t heads = 4;
  const std::string ids = w.input("input_ids", {"batch", "sequence"}, pb::TensorProto::INT64);
  const std::string table = w.weight({1000, h});
  const std::string x = w.node("Gather", {table, ids});
  const std::string centred = w.node("Sub", {x, w.node("ReduceMean", {x}, {{"axes", {-1}}})});
  const std::string deviation = w.node(
      "Sqrt",
      {w.node("ReduceMean", {w.node("Pow", {centred, w.ints({2}, true)})}, {{"axes", {-1}}})});
  const std::string normal = w.node(
      "Add", {w.node("Mul", {w.node("Div", {centred, deviation}), w.weight({h})}), w.weight({h})});
  const std::string qkv =
      w.node("Add", {w.node("MatMul", {normal, w.weight({h, 3 * h})}), w.weight({3 * h})});
  const std::string shape = w.node("Shape", {qkv});
  const std::string batch = w.node("Gather", {shape, w.ints({0})});
  const std::string rows = w.node("Slice", {shape, w.ints({1}), w.ints({2})});
  const std::string target =
      w.node("Concat", {batch, rows, w.ints({heads, h / heads})}, {{"axis", {0}}});
  const auto head_dims = [&](const std::string& part) {
    return w.node("Transpose", {w.node("Reshape", {part, target})}, {{"perm", {0, 2, 1, 3}}});
  };
  const std::string q = w.node("Split", {qkv, w.ints({h, 2 * h})}, {{"axis", {2}}});
  const std::string kv = w.second_output();
  const std::string k = w.node("Split", {kv, w.ints({h, h})}, {{"axis", {-1}}});
  const std::string v = w.second_output();
  const std::string keys = w.node("Transpose", {head_dims(k)}, {{"perm", {0, 1, 3, 2}}});
  const std::string scores = w.node("Softmax", {w.node("MatMul", {head_dims(q), keys})});
  std::string y =
      w.node("Transpose", {w.node("MatMul", {scores, head_dims(v)})}, {{"perm", {0, 2, 1, 3}}});
  y = w.node("Reshape", {y, w.ints({0, -1, h})});
  const std::string out = w.node("Add", {w.node("MatMul", {y, w.weight({h, h})}), x});
  return w.bytes(w.node("MatMul", {out, w.node("Transpose", {table})}));
}

TEST(ImportOnnx, TransformerWithShapesComputedInTheGraph) {
  const Model m = import_onnx(gpt_bytes(), "gpt.onnx", {.seq = 32});
  const double s = 32;
  const double h = 64;
  EXPECT_EQ(m.tokens_per_sample, s);
  EXPECT_EQ(m.parameters(), 1000 * h + 2 * h + 3 * h * h + 3 * h + h * h);
  EXPECT_EQ(m.training_flops(), 3 * 2 * (s * h * 3 * h + 2 * s * s * h + s * h * h + s * h * 1000));
  ASSERT_EQ(m.tied.size(), 1U);
  EXPECT_EQ(m.tied[0], (TiedWeights{0, m.num_layers() - 1, 1000 * h}));
  EXPECT_EQ(m.layer(0).role, LayerRole::kEmbedding);
  // Embedding with its norm, qkv, scores, values, output product, residual sum, head.
  EXPECT_EQ(m.num_layers(), 7);
  const Operator& scores = m.layer(2).operators.front();
  EXPECT_EQ(scores.batch, 4);
  EXPECT_EQ(scores.rows, 4 * s);
}

TEST(ImportOnnx, FreeDimsAreNamedAndCanBeGiven) {
  try {
    import_onnx(gpt_bytes(), "gpt.onnx", {});
    FAIL();
  } catch (const Errors& e) {
    EXPECT_EQ(e.list().at(0).code, "onnx.free-dim");
    EXPECT_EQ(e.list().at(0).hint, "--set model.dims.sequence=N");
  }
  EXPECT_EQ(import_onnx(gpt_bytes(), "gpt.onnx", {.dims = {{"sequence", 16}}}).tokens_per_sample,
            16);
}

TEST(ImportOnnx, UnknownOperatorsAreNamedTogether) {
  Writer w;
  std::string x = w.node("Warp", {w.input("x", {"N", "8"})});
  x = w.node("Relu", {x});
  x = w.node("LSTM", {x});
  try {
    import_onnx(w.bytes(w.node("Warp", {x})), "odd.onnx", {});
    FAIL();
  } catch (const Errors& e) {
    ASSERT_EQ(e.list().size(), 2U) << e.what();
    EXPECT_EQ(e.list()[0].message, "operator LSTM is not known (1 node: LSTM_3)");
    EXPECT_EQ(e.list()[1].message, "operator Warp is not known (2 nodes: Warp_1, Warp_4)");
    EXPECT_EQ(e.list()[0].where.file, "odd.onnx");
  }
}

TEST(ImportOnnx, ShapesThatDoNotFitAreNamedWithTheirNode) {
  Writer w;
  const std::string x = w.input("x", {"N", "8"});
  w.node("MatMul", {x, w.weight({9, 4})});
  w.node("Reshape", {x, w.ints({3, 3})});
  w.node("Conv", {x, w.weight({1, 1, 1, 1})});
  try {
    import_onnx(w.bytes(), "odd.onnx", {});
    FAIL();
  } catch (const Errors& e) {
    ASSERT_EQ(e.list().size(), 3U) << e.what();
    EXPECT_EQ(e.list()[0].message,
              "MatMul 'MatMul_1': inner dims 8 and 9 of [1, 8] and [9, 4] differ");
  }
}

TEST(ImportOnnx, AbsurdSizesAreRefused) {
  Writer w;
  const std::string x = w.input("x", {"N", "9000000000000000000"});
  EXPECT_THROW(import_onnx(w.bytes(w.node("Relu", {x})), "x.onnx", {}), Errors);
  Writer tile;
  const std::string y = tile.input("x", {"N", "1000000000"});
  const std::string big = tile.node("Tile", {y, tile.ints({1'000'000'000'000, 1'000'000'000'000})});
  EXPECT_THROW(import_onnx(tile.bytes(big), "x.onnx", {}), Errors);
}

TEST(ImportOnnx, TruncatedFilesAreErrors) {
  const std::string bytes = gpt_bytes();
  for (std::size_t n = 0; n < bytes.size(); ++n)
    EXPECT_THROW(import_onnx(std::string_view(bytes).substr(0, n), "cut.onnx", {.seq = 8}), Errors)
        << n;
  EXPECT_THROW(import_onnx("not a model at all", "text.onnx", {}), Errors);
}

TEST(ImportOnnx, AGraphWithoutWorkIsRefused) {
  Writer w;
  EXPECT_THROW(import_onnx(w.bytes(w.node("Identity", {w.input("x", {"N", "4"})})), "x.onnx", {}),
               Errors);
}

}  // namespace
}  // namespace nereus::model::import_onnx_test

#endif
