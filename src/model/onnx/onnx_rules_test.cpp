// Shapes and values of the operators, against what the ONNX specification says.
#include <gtest/gtest.h>

#include "model/onnx/tensor.hpp"

namespace nereus::model::onnx::onnx_rules_test {
namespace {

Tensor activation(Dims dims) {
  Tensor t;
  t.dims = std::move(dims);
  t.root = 0;
  return t;
}

Tensor weight(Dims dims) {
  Tensor t = activation(std::move(dims));
  t.constant = true;
  t.root = -1;
  return t;
}

Tensor ints(std::vector<double> values) {
  Tensor t = weight({static_cast<std::int64_t>(values.size())});
  t.floating = false;
  t.has_values = true;
  t.values = std::move(values);
  return t;
}

using Attributes = std::map<std::string, Dims>;

Result run(const std::string& op, const std::vector<Tensor>& inputs,
           const Attributes& attributes = {}, std::size_t outputs = 1) {
  Node node;
  node.op = op;
  node.outputs.assign(outputs, "y");
  for (const auto& [key, values] : attributes) {
    node.attributes[key].ints = values;
    node.attributes[key].i = values.empty() ? 0 : values[0];
  }
  Call call{node, 17, {}};
  for (const Tensor& input : inputs) call.inputs.push_back(&input);
  const Rule* rule = find_rule(node);
  if (rule == nullptr) throw ShapeError("no rule for " + op);
  return apply(*rule, call);
}

Dims shape(const std::string& op, const std::vector<Tensor>& inputs,
           const Attributes& attributes = {}) {
  return run(op, inputs, attributes).outputs[0].dims;
}

TEST(OnnxRules, ViewsKeepTheirElements) {
  const Tensor x = activation({2, 3, 4});
  EXPECT_EQ(shape("Reshape", {x, ints({0, -1})}), (Dims{2, 12}));
  EXPECT_EQ(shape("Reshape", {x, ints({-1})}), (Dims{24}));
  EXPECT_THROW(shape("Reshape", {x, ints({5, -1})}), ShapeError);
  EXPECT_THROW(shape("Reshape", {x, ints({-1, -1})}), ShapeError);
  EXPECT_EQ(shape("Flatten", {x}, {{"axis", {2}}}), (Dims{6, 4}));
  EXPECT_EQ(shape("Flatten", {x}, {{"axis", {-1}}}), (Dims{6, 4}));
  EXPECT_EQ(shape("Unsqueeze", {x, ints({0, -1})}), (Dims{1, 2, 3, 4, 1}));
  EXPECT_EQ(shape("Squeeze", {activation({1, 3, 1})}), (Dims{3}));
  EXPECT_EQ(shape("Squeeze", {activation({1, 3, 1})}, {{"axes", {-1}}}), (Dims{1, 3}));
  EXPECT_THROW(shape("Squeeze", {x, ints({1})}), ShapeError);
  EXPECT_TRUE(run("Flatten", {x}).view);
}

TEST(OnnxRules, SlicesCountAsNumpyDoes) {
  const Tensor x = activation({10});
  const auto length = [&](double start, double end, double step) {
    return shape("Slice", {x, ints({start}), ints({end}), ints({0}), ints({step})})[0];
  };
  EXPECT_EQ(length(0, 9223372036854775807.0, 1), 10);
  EXPECT_EQ(length(-3, 1000, 1), 3);
  EXPECT_EQ(length(2, -2, 3), 2);
  EXPECT_EQ(length(5, 2, 1), 0);
  EXPECT_EQ(length(-1, -9223372036854775807.0, -1), 10);
  EXPECT_EQ(length(8, 1, -3), 3);
  EXPECT_THROW(length(0, 1, 0), ShapeError);
  EXPECT_EQ(shape("Slice", {activation({0}), ints({-1}), ints({-9}), ints({0}), ints({-1})}),
            (Dims{0}));
}

TEST(OnnxRules, SplitsAddUp) {
  const Result r = run("Split", {activation({2, 7})}, {{"axis", {1}}}, 3);
  EXPECT_EQ(r.outputs[0].dims, (Dims{2, 3}));
  EXPECT_EQ(r.outputs[2].dims, (Dims{2, 1}));
  EXPECT_THROW(run("Split", {activation({2, 7}), ints({3, 3})}, {{"axis", {1}}}, 2), ShapeError);
}

TEST(OnnxRules, MovesHaveTheirShapes) {
  const Tensor x = activation({2, 3, 4});
  EXPECT_EQ(shape("Transpose", {x}), (Dims{4, 3, 2}));
  EXPECT_EQ(shape("Transpose", {x}, {{"perm", {1, 0, 2}}}), (Dims{3, 2, 4}));
  EXPECT_THROW(shape("Transpose", {x}, {{"perm", {1, 1, 2}}}), ShapeError);
  EXPECT_EQ(shape("Concat", {x, activation({2, 5, 4})}, {{"axis", {1}}}), (Dims{2, 8, 4}));
  EXPECT_THROW(shape("Concat", {x, activation({2, 5, 5})}, {{"axis", {1}}}), ShapeError);
  EXPECT_EQ(shape("Gather", {x, ints({0, 2})}, {{"axis", {2}}}), (Dims{2, 3, 2}));
  EXPECT_EQ(shape("GatherND", {x, activation({5, 2})}), (Dims{5, 4}));
  EXPECT_EQ(shape("Expand", {activation({3, 1}), ints({2, 1, 4})}), (Dims{2, 3, 4}));
  EXPECT_EQ(shape("Tile", {x, ints({1, 2, 3})}), (Dims{2, 6, 12}));
  EXPECT_EQ(shape("Pad", {x, ints({0, 1, 0, 0, 1, 2})}), (Dims{2, 5, 6}));
  EXPECT_EQ(shape("DepthToSpace", {activation({1, 8, 2, 3})}, {{"blocksize", {2}}}),
            (Dims{1, 2, 4, 6}));
  EXPECT_EQ(shape("SpaceToDepth", {activation({1, 2, 4, 6})}, {{"blocksize", {2}}}),
            (Dims{1, 8, 2, 3}));
  EXPECT_EQ(shape("ArgMax", {x}, {{"axis", {-1}}, {"keepdims", {0}}}), (Dims{2, 3}));
  EXPECT_EQ(shape("TopK", {x, ints({2})}), (Dims{2, 3, 2}));
  EXPECT_EQ(shape("OneHot", {x, ints({9}), weight({2})}), (Dims{2, 3, 4, 9}));
  EXPECT_EQ(shape("Resize", {activation({1, 3, 5, 5}), weight({0}), ints({1, 1, 2, 2})}),
            (Dims{1, 3, 10, 10}));
}

TEST(OnnxRules, WindowsSlide) {
  const Tensor x = activation({2, 8, 9, 9});
  EXPECT_EQ(shape("Conv", {x, weight({4, 8, 3, 3})}), (Dims{2, 4, 7, 7}));
  EXPECT_EQ(shape("Conv", {x, weight({4, 8, 3, 3})}, {{"dilations", {2, 2}}, {"strides", {2, 2}}}),
            (Dims{2, 4, 3, 3}));
  const Result depthwise =
      run("Conv", {x, weight({8, 1, 3, 3})}, {{"group", {8}}, {"pads", {1, 1, 1, 1}}});
  EXPECT_EQ(depthwise.work.flops, 2.0 * 2 * 81 * 8 * 9);
  EXPECT_THROW(shape("Conv", {x, weight({4, 8, 11, 11})}), ShapeError);
  EXPECT_THROW(shape("Conv", {x, weight({4, 7, 3, 3})}), ShapeError);
  EXPECT_EQ(shape("ConvTranspose", {activation({1, 8, 4, 4}), weight({8, 3, 2, 2})},
                  {{"strides", {2, 2}}}),
            (Dims{1, 3, 8, 8}));
  EXPECT_EQ(shape("MaxPool", {x}, {{"kernel_shape", {2, 2}}, {"strides", {2, 2}}}),
            (Dims{2, 8, 4, 4}));
  EXPECT_EQ(
      shape("MaxPool", {x}, {{"kernel_shape", {2, 2}}, {"strides", {2, 2}}, {"ceil_mode", {1}}}),
      (Dims{2, 8, 5, 5}));
  EXPECT_EQ(shape("GlobalAveragePool", {x}), (Dims{2, 8, 1, 1}));
}

TEST(OnnxRules, ProductsFollowNumpy) {
  EXPECT_EQ(shape("MatMul", {activation({5, 2, 3}), weight({3, 4})}), (Dims{5, 2, 4}));
  EXPECT_EQ(shape("MatMul", {activation({3}), weight({3, 4})}), (Dims{4}));
  EXPECT_EQ(shape("MatMul", {activation({2, 3}), activation({3})}), (Dims{2}));
  EXPECT_EQ(shape("MatMul", {activation({7, 1, 2, 3}), activation({6, 3, 4})}), (Dims{7, 6, 2, 4}));
  const Result scores = run("MatMul", {activation({2, 6, 5, 3}), activation({2, 6, 3, 5})});
  EXPECT_EQ(scores.work.batch, 12);
  EXPECT_EQ(scores.work.flops, 2.0 * 12 * 5 * 5 * 3);
  EXPECT_EQ(run("MatMul", {activation({2, 6, 5, 3}), weight({3, 4})}).work.batch, 1);
  EXPECT_EQ(shape("Gemm", {activation({3, 2}), weight({4, 3})}, {{"transA", {1}}, {"transB", {1}}}),
            (Dims{2, 4}));
}

TEST(OnnxRules, ReductionsAndBroadcasts) {
  const Tensor x = activation({2, 3, 4});
  EXPECT_EQ(shape("ReduceMean", {x}, {{"axes", {-1}}}), (Dims{2, 3, 1}));
  EXPECT_EQ(shape("ReduceSum", {x, ints({0, 2})}, {{"keepdims", {0}}}), (Dims{3}));
  EXPECT_EQ(shape("ReduceMax", {x}, {{"keepdims", {0}}}), (Dims{}));
  EXPECT_EQ(shape("Add", {x, weight({3, 1})}), (Dims{2, 3, 4}));
  EXPECT_THROW(shape("Add", {x, weight({3})}), ShapeError);
  EXPECT_FALSE(run("Mul", {x, weight({})}).keeps_inputs)
      << "a plain number needs no activation for its gradient";
  EXPECT_TRUE(run("Mul", {x, x}).keeps_inputs);
}

TEST(OnnxRules, ShapeArithmeticIsFolded) {
  const auto values = [](const Result& r) { return r.outputs[0].values; };
  const Tensor dims = run("Shape", {activation({2, 3, 4})}).outputs[0];
  EXPECT_EQ(dims.values, (std::vector<double>{2, 3, 4}));
  EXPECT_TRUE(dims.constant);
  EXPECT_EQ(values(run("Gather", {dims, ints({-1})})), (std::vector<double>{4}));
  EXPECT_EQ(values(run("Slice", {dims, ints({1}), ints({1e18})})), (std::vector<double>{3, 4}));
  EXPECT_EQ(values(run("Concat", {dims, ints({-1})})), (std::vector<double>{2, 3, 4, -1}));
  EXPECT_EQ(values(run("Mul", {dims, ints({2})})), (std::vector<double>{4, 6, 8}));
  EXPECT_EQ(values(run("Div", {dims, ints({2})})), (std::vector<double>{1, 1, 2}))
      << "integers truncate";
  EXPECT_EQ(values(run("ReduceProd", {dims}, {{"keepdims", {0}}})), (std::vector<double>{24}));
  EXPECT_EQ(values(run("Where", {run("Equal", {dims, ints({3})}).outputs[0], ints({9}), dims})),
            (std::vector<double>{2, 9, 4}));
  EXPECT_EQ(values(run("Range", {ints({0}), ints({5}), ints({2})})),
            (std::vector<double>{0, 2, 4}));
  EXPECT_EQ(values(run("ConstantOfShape", {ints({2})})), (std::vector<double>{0, 0}));
  EXPECT_THROW(run("Gather", {dims, ints({7})}), ShapeError);
  EXPECT_THROW(run("Range", {ints({0}), ints({5}), ints({0})}), ShapeError);
}

}  // namespace
}  // namespace nereus::model::onnx::onnx_rules_test
