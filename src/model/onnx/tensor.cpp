#include "model/onnx/tensor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/format.hpp"

namespace nereus::model::onnx {

double elements(const Dims& dims) {
  double product = 1;
  for (std::int64_t dim : dims) product *= static_cast<double>(dim);
  return product;
}

std::string to_text(const Dims& dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); }

void check(const Dims& dims) {
  constexpr std::int64_t kLargestDim = 1'000'000'000'000;
  constexpr double kMostElements = 1e15;
  constexpr std::size_t kHighestRank = 32;
  if (dims.size() > kHighestRank)
    throw ShapeError(fmt::format("a tensor of {} dims, more than {}", dims.size(), kHighestRank));
  for (std::int64_t dim : dims)
    if (dim < 0 || dim > kLargestDim)
      throw ShapeError(
          fmt::format("dim {} of {} must lie in 0 .. {}", dim, to_text(dims), kLargestDim));
  if (elements(dims) > kMostElements)
    throw ShapeError(
        fmt::format("a tensor {} of more than {:.0e} elements", to_text(dims), kMostElements));
}

Dims broadcast(const Dims& a, const Dims& b) {
  Dims out(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto from_end = [&](const Dims& dims) {
      const std::size_t missing = out.size() - dims.size();
      return i < missing ? 1 : dims[i - missing];
    };
    const std::int64_t x = from_end(a);
    const std::int64_t y = from_end(b);
    if (x != y && x != 1 && y != 1)
      throw ShapeError(fmt::format("shapes {} and {} do not broadcast", to_text(a), to_text(b)));
    out[i] = x == 1 ? y : x;
  }
  return out;
}

const Tensor& Call::in(std::size_t i) const {
  if (!has(i)) throw ShapeError(fmt::format("input {} is missing", i));
  return *inputs[i];
}

bool Call::has_ints(std::size_t i, const char* attribute) const {
  return has(i) || node.has(attribute);
}

Dims Call::ints(std::size_t i, const char* attribute) const {
  if (!has(i)) return node.integers(attribute);
  if (!inputs[i]->has_values)
    throw ShapeError(fmt::format("input {} ({}) is only known while it runs", i, attribute));
  Dims out;
  // Exporters write "to the end" as the largest 64-bit integer, which a double rounds up beyond it.
  constexpr double kFar = 4e18;
  for (double value : inputs[i]->values)
    out.push_back(static_cast<std::int64_t>(value == value ? std::clamp(value, -kFar, kFar) : 0));
  return out;
}

std::size_t Call::axis(std::int64_t value, std::size_t rank) const {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (value < -signed_rank || value >= signed_rank)
    throw ShapeError(fmt::format("axis {} of a tensor with {}", value, counted(rank, "dim")));
  return static_cast<std::size_t>(value < 0 ? value + signed_rank : value);
}

const Rule* find_rule(const Node& node) {
  for (const auto& [key, attribute] : node.attributes)
    if (attribute.is_graph) return nullptr;
  const bool gelu = node.op == "Gelu" || node.op == "FastGelu" || node.op == "QuickGelu";
  if (!node.domain.empty() && !(node.domain == "com.microsoft" && gelu)) return nullptr;
  for (const RuleTable* table :
       {&compute_rules(), &elementwise_rules(), &move_rules(), &view_rules(), &constant_rules()}) {
    const auto it = table->find(node.op);
    if (it != table->end()) return &it->second;
  }
  return nullptr;
}

Result apply(const Rule& rule, const Call& call) {
  Result result;
  rule(call, result);
  if (result.outputs.empty()) throw ShapeError("it has no output");
  // Outputs a rule does not care about (masks, statistics) look like the first.
  while (result.outputs.size() < call.node.outputs.size())
    result.outputs.push_back(result.outputs.front());
  bool constant = true;
  std::vector<int> weights;
  for (const Tensor* input : call.inputs) {
    if (input == nullptr) continue;
    constant = constant && input->constant;
    weights.insert(weights.end(), input->weights.begin(), input->weights.end());
  }
  std::sort(weights.begin(), weights.end());
  weights.erase(std::unique(weights.begin(), weights.end()), weights.end());
  for (Tensor& output : result.outputs) {
    check(output.dims);
    output.constant = constant || result.constant;
    if (output.constant && !result.constant) output.weights = weights;
  }
  fold_values(call, result);
  return result;
}

void one_output(Result& result, Dims dims, const Tensor& like) {
  Tensor out;
  out.dims = std::move(dims);
  out.floating = like.floating;
  result.outputs = {std::move(out)};
}

Operator memory_bound(const Call& call, OpKind kind, const Dims& dims, double read,
                      double flops_each) {
  Operator op;
  op.name = call.node.op;
  op.kind = kind;
  const double total = elements(dims);
  op.n = dims.empty() || dims.back() == 0 ? 1 : static_cast<double>(dims.back());
  op.rows = total / op.n;
  op.flops = flops_each * std::max(read, total);
  op.read_elements = read;
  op.written_elements = total;
  return op;
}

}  // namespace nereus::model::onnx
