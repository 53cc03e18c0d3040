// What shape inference knows of a tensor, and the table of operators the importer understands.
//
// Rules follow the ONNX operator specification, opsets 7 to 21: each computes the dims of its
// outputs and the work; values are computed too where all inputs are small constants, because
// exporters compute shapes inside the graph. All counts are of the whole batch; the importer
// divides by it at the end.
//
//   if (const Rule* rule = find_rule(node)) Result r = apply(*rule, call);   // throws ShapeError
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "model/onnx/file.hpp"
#include "model/operator.hpp"

namespace nereus::model::onnx {

struct Tensor {
  Dims dims;
  bool constant = false;  // known before the sample is: weights and what is computed from them
  bool floating = true;
  bool has_values = false;
  std::vector<double> values;
  std::vector<int> weights;  // that it is made of, by index
  int root = -1;             // the stored activation behind it: views share one; -1 for constants
};

// A node that cannot be; the importer adds the node's name.
struct ShapeError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

double elements(const Dims& dims);
std::string to_text(const Dims& dims);
void check(const Dims& dims);  // throws for negative dims and for tensors no memory could hold
Dims broadcast(const Dims& a, const Dims& b);

// One node with its inputs resolved.
struct Call {
  const Node& node;
  std::int64_t opset = 0;
  std::vector<const Tensor*> inputs;  // nullptr where left out

  bool has(std::size_t i) const { return i < inputs.size() && inputs[i] != nullptr; }
  const Tensor& in(std::size_t i) const;  // throws where left out
  // Integers of a constant input, or of the attribute that older opsets used instead.
  bool has_ints(std::size_t i, const char* attribute) const;
  Dims ints(std::size_t i, const char* attribute) const;
  // `value` in [-rank, rank) as an index; throws outside.
  std::size_t axis(std::int64_t value, std::size_t rank) const;
};

struct Result {
  std::vector<Tensor> outputs;
  bool constant = false;      // whatever the inputs are (Shape)
  bool view = false;          // all outputs share input 0's memory: no work
  bool light = false;         // memory-bound: joins the layer that feeds it
  bool keeps_inputs = false;  // for backward
  bool keeps_output = false;
  std::size_t weight_inputs =
      std::numeric_limits<std::size_t>::max();  // inputs that may be trained
  Operator work;
};

using Rule = void (*)(const Call&, Result&);
using RuleTable = std::map<std::string_view, Rule>;

// One file each.
const RuleTable& compute_rules();      // convolutions, products, pools, norms, losses
const RuleTable& elementwise_rules();  // activations, arithmetic, reductions
const RuleTable& move_rules();         // concatenate, gather, pad, ...: no arithmetic
const RuleTable& view_rules();         // reshape, slice, ...: no work
const RuleTable& constant_rules();     // shapes, ranges, constants

const Rule* find_rule(const Node& node);
Result apply(const Rule& rule, const Call& call);

// Values of the outputs where those of all inputs are known, for the operators exporters use on
// shapes.
void fold_values(const Call& call, Result& result);

// The single output of a rule, of the type of `like`.
void one_output(Result& result, Dims dims, const Tensor& like);

// rows x features of `dims`, reading `read` elements: the work of all memory-bound operators.
Operator memory_bound(const Call& call, OpKind kind, const Dims& dims, double read,
                      double flops_each);

}  // namespace nereus::model::onnx
