// The facts that shape inference knows about a tensor, and the table of supported operators.
//
// Rules follow the ONNX operator specification, opsets 7 to 21. Each computes the dims of its
// outputs and the work. If all inputs are small constants, it also computes the values, because
// exporters compute shapes inside the graph. All counts are for the whole batch; the importer
// divides by the batch at the end.
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
  bool constant = false;  // does not depend on the sample: weights, and what is computed from them
  bool floating = true;
  bool has_values = false;
  std::vector<double> values;
  std::vector<int> weights;  // indices of the weights it was computed from
  int root = -1;             // the stored activation behind it, shared by views; -1 for constants
};

// An invalid node; the importer adds the node's name.
struct ShapeError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

double elements(const Dims& dims);
std::string to_text(const Dims& dims);
void check(const Dims& dims);  // throws for negative dims, and for tensors that exceed any memory
Dims broadcast(const Dims& a, const Dims& b);

// One node with its inputs resolved.
struct Call {
  const Node& node;
  std::int64_t opset = 0;
  std::vector<const Tensor*> inputs;  // nullptr if omitted

  bool has(std::size_t i) const { return i < inputs.size() && inputs[i] != nullptr; }
  const Tensor& in(std::size_t i) const;  // throws if omitted
  // Integers from a constant input, or from the attribute that older opsets used.
  bool has_ints(std::size_t i, const char* attribute) const;
  Dims ints(std::size_t i, const char* attribute) const;
  // Converts `value` in [-rank, rank) to an index; throws if it is outside.
  std::size_t axis(std::int64_t value, std::size_t rank) const;
};

struct Result {
  std::vector<Tensor> outputs;
  bool constant = false;      // even if the inputs are not (Shape)
  bool view = false;          // all outputs share input 0's memory: no work
  bool light = false;         // memory-bound: joins the layer before it
  bool keeps_inputs = false;  // for backward
  bool keeps_output = false;
  std::size_t weight_inputs =
      std::numeric_limits<std::size_t>::max();  // inputs that may be trained
  Operator work;
};

using Rule = void (*)(const Call&, Result&);
using RuleTable = std::map<std::string_view, Rule>;

// One source file each.
const RuleTable& compute_rules();      // convolutions, products, pools, norms, losses
const RuleTable& elementwise_rules();  // activations, arithmetic, reductions
const RuleTable& move_rules();         // concatenate, gather, pad, ...: no arithmetic
const RuleTable& view_rules();         // reshape, slice, ...: no work
const RuleTable& constant_rules();     // shapes, ranges, constants

const Rule* find_rule(const Node& node);
Result apply(const Rule& rule, const Call& call);

// Computes the values of the outputs if those of all inputs are known, for the operators that
// exporters use on shapes.
void fold_values(const Call& call, Result& result);

// The single output of a rule, with the type of `like`.
void one_output(Result& result, Dims dims, const Tensor& like);

// rows x features of `dims`, reading `read` elements: the work of any memory-bound operator.
Operator memory_bound(const Call& call, OpKind kind, const Dims& dims, double read,
                      double flops_each);

}  // namespace nereus::model::onnx
