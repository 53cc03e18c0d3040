#include "model/read/import_onnx.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <set>
#include <unordered_map>

#include "base/error.hpp"
#include "base/format.hpp"
#include "model/graph.hpp"
#include "model/onnx/tensor.hpp"

namespace nereus::model {

namespace {

using onnx::Call;
using onnx::Dims;
using onnx::Node;
using onnx::Result;
using onnx::Tensor;

// An activation in memory. Views of it share its entry.
struct Stored {
  int layer = -1;  // -1: the sample
  std::size_t step = 0;
  double elements = 0;
  bool kept = false;
  bool leaves = false;  // read by another layer, or an output of the graph
};

struct Draft {  // of a layer
  std::vector<Operator> operators;
  std::map<int, double> reads;  // elements by stored activation of another layer, or of the sample
  std::map<int, std::size_t> weights;  // first operator that uses it
};

class Importer {
 public:
  Importer(onnx::File file, const OnnxOptions& options)
      : file_(std::move(file)), options_(options) {}

  Model run() {
    read_weights();
    read_inputs();
    errors_.throw_if_any();  // nothing after this would make sense
    for (const Node& node : file_.nodes) visit(node);
    report_unknown();
    errors_.throw_if_any();
    for (const std::string& output : file_.outputs) {
      const auto it = tensors_.find(output);
      if (it != tensors_.end() && it->second.root >= 0) stored_[it->second.root].leaves = true;
    }
    if (drafts_.empty())
      throw_input_error("onnx.empty", "no operator of the graph works on the sample", where());
    return build();
  }

 private:
  Where where() const { return {file_.path, 0, 0, ""}; }

  int add_weight(const Dims& dims) {
    weights_.push_back(onnx::elements(dims));
    return static_cast<int>(weights_.size()) - 1;
  }

  void read_weights() {
    for (const onnx::Constant& weight : file_.weights) {
      try {
        onnx::check(weight.dims);
      } catch (const onnx::ShapeError& e) {
        errors_.add("onnx.shape", fmt::format("weight '{}': {}", weight.name, e.what()), where());
      }
      Tensor tensor;
      tensor.dims = weight.dims;
      tensor.constant = true;
      tensor.floating = weight.floating;
      tensor.has_values = weight.has_values;
      tensor.values = weight.values;
      if (weight.floating && onnx::elements(weight.dims) > 1)
        tensor.weights = {add_weight(weight.dims)};
      tensors_[weight.name] = std::move(tensor);
    }
  }

  // 0 if it was not given.
  std::int64_t free_dim(const std::string& symbol) const {
    for (const auto& [name, value] : options_.dims)
      if (name == symbol) return value;
    std::string lower = symbol;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    return lower.find("seq") != std::string::npos ? options_.seq : 0;
  }

  void read_inputs() {
    for (const onnx::Input& input : file_.inputs) {
      if (!input.has_shape) {
        errors_.add("onnx.shape", fmt::format("input '{}' states no shape", input.name), where());
        continue;
      }
      Tensor tensor;
      tensor.floating = !input.integer;
      for (std::size_t i = 0; i < input.dims.size(); ++i) {
        const onnx::InputDim& dim = input.dims[i];
        std::int64_t value = dim.value;
        if (value <= 0) value = free_dim(dim.symbol);
        if (value <= 0 && i == 0) value = 1;
        if (value <= 0) {
          const std::string name =
              dim.symbol.empty() ? fmt::format("{}.{}", input.name, i) : dim.symbol;
          errors_.add("onnx.free-dim",
                      fmt::format("dim {} ('{}') of input '{}' is free", i, name, input.name),
                      where(),
                      dim.symbol.empty() ? "export the model with this dim fixed"
                                         : fmt::format("--set model.dims.{}=N", name));
          value = 1;
        }
        tensor.dims.push_back(value);
      }
      try {
        onnx::check(tensor.dims);
      } catch (const onnx::ShapeError& e) {
        errors_.add("onnx.shape", fmt::format("input '{}': {}", input.name, e.what()), where());
      }
      if (stored_.empty() && !tensor.dims.empty()) {
        batch_ = static_cast<double>(tensor.dims[0]);
        if (input.integer && tensor.dims.size() == 2) tokens_ = static_cast<double>(tensor.dims[1]);
      }
      tensor.root = static_cast<int>(stored_.size());
      stored_.push_back({-1, 0, onnx::elements(tensor.dims), false, false});
      tensors_[input.name] = std::move(tensor);
    }
  }

  void visit(const Node& node) {
    const onnx::Rule* rule = onnx::find_rule(node);
    if (rule == nullptr)
      unknown_[node.domain.empty() ? node.op : node.domain + "." + node.op].push_back(node.name);
    Call call{node, file_.opset, {}};
    bool usable = rule != nullptr;
    for (const std::string& name : node.inputs) {
      const auto it = tensors_.find(name);
      if (!name.empty() && it == tensors_.end()) {
        usable = false;
        // A missing output of an unusable node is not reported as a second error.
        if (lost_.count(name) == 0)
          errors_.add("onnx.graph",
                      fmt::format("{} '{}' reads '{}', which nothing before it makes", node.op,
                                  node.name, name),
                      where());
      }
      call.inputs.push_back(it == tensors_.end() ? nullptr : &it->second);
    }
    if (usable) {
      try {
        accept(call, onnx::apply(*rule, call));
        return;
      } catch (const onnx::ShapeError& e) {
        errors_.add("onnx.shape", fmt::format("{} '{}': {}", node.op, node.name, e.what()),
                    where());
      }
    }
    lost_.insert(node.outputs.begin(), node.outputs.end());
  }

  void accept(const Call& call, Result result) {
    if (result.outputs[0].constant) {
      // Some exporters write weights as Constant nodes.
      Tensor& made = result.outputs[0];
      if (call.node.op == "Constant" && made.floating && onnx::elements(made.dims) > 1)
        made.weights = {add_weight(made.dims)};
    } else if (result.view) {
      for (Tensor& output : result.outputs) output.root = call.in(0).root;
    } else {
      add_step(call, result);
    }
    for (std::size_t i = 0; i < call.node.outputs.size(); ++i)
      if (!call.node.outputs[i].empty())
        tensors_[call.node.outputs[i]] = std::move(result.outputs[i]);
  }

  void add_step(const Call& call, Result& result) {
    const int layer = layer_of(call, result.light);
    Draft& draft = drafts_[layer];
    const std::size_t step = draft.operators.size();
    draft.operators.push_back(result.work);
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      if (!call.has(i)) continue;
      const Tensor& input = call.in(i);
      if (input.constant) {
        if (i >= result.weight_inputs) continue;
        for (int weight : input.weights) draft.weights.emplace(weight, step);
        continue;
      }
      Stored& stored = stored_[input.root];
      stored.kept = stored.kept || result.keeps_inputs;
      if (stored.layer == layer) continue;
      stored.leaves = true;
      double& reads = draft.reads[input.root];
      reads = std::min(stored.elements, reads + onnx::elements(input.dims));
    }
    for (std::size_t i = 0; i < result.outputs.size(); ++i) {
      Tensor& output = result.outputs[i];
      output.root = static_cast<int>(stored_.size());
      stored_.push_back(
          {layer, step, onnx::elements(output.dims), i == 0 && result.keeps_output, false});
    }
  }

  // A light operator joins the layer that makes everything it reads. It depends on nothing else, so
  // there can be no cycle.
  int layer_of(const Call& call, bool light) {
    std::set<int> sources;
    for (const Tensor* input : call.inputs)
      if (input != nullptr && !input->constant) sources.insert(stored_[input->root].layer);
    if (light && sources.size() == 1 && *sources.begin() >= 0) return *sources.begin();
    drafts_.emplace_back();
    return static_cast<int>(drafts_.size()) - 1;
  }

  void report_unknown() {
    constexpr std::size_t kNamed = 5;
    for (const auto& [op, nodes] : unknown_) {
      const auto named = std::vector<std::string>(
          nodes.begin(),
          nodes.begin() + static_cast<std::ptrdiff_t>(std::min(kNamed, nodes.size())));
      errors_.add(
          "onnx.unknown-operator",
          fmt::format("operator {} is not known ({}: {}{})", op, counted(nodes.size(), "node"),
                      fmt::join(named, ", "), nodes.size() > kNamed ? ", ..." : ""),
          where(), "export the model without it, or describe the model in a Nereus file");
    }
  }

  Model build() {
    std::vector<double> outputs(drafts_.size(), 0);
    for (const Stored& stored : stored_) {
      if (stored.layer < 0) continue;
      const auto at = static_cast<std::size_t>(stored.layer);
      if (stored.kept) drafts_[at].operators[stored.step].saved_elements += stored.elements;
      if (stored.leaves) outputs[at] += stored.elements;
    }
    std::vector<bool> counted(stored_.size(), false);  // samples that a first reader already keeps
    GraphBuilder graph;
    std::map<int, int> first_user;
    std::vector<TiedWeights> tied;
    for (std::size_t i = 0; i < drafts_.size(); ++i) {
      Draft& draft = drafts_[i];
      LayerKind kind;
      std::map<int, double> from;
      for (const auto& [root, elements] : draft.reads) {
        const Stored& stored = stored_[root];
        if (stored.layer >= 0) {
          from[stored.layer] += elements / batch_;
          continue;
        }
        kind.input_elements += elements / batch_;
        if (stored.kept && !counted[root])
          draft.operators.front().saved_elements += stored.elements;
        counted[root] = true;
      }
      for (const auto& [weight, step] : draft.weights) {
        const double size = weights_[weight];
        draft.operators[step].parameters += size;
        const auto [user, fresh] = first_user.emplace(weight, static_cast<int>(i));
        if (!fresh) tied.push_back({user->second, static_cast<int>(i), size});
      }
      fill_kind(kind, draft, outputs[i] / batch_);
      std::vector<GraphInput> inputs;
      for (const auto& [layer, elements] : from) inputs.push_back({layer, elements});
      graph.add(std::move(kind), inputs);
    }
    Model model = graph.finish();
    model.name = std::filesystem::path(file_.path).stem().string();
    model.family = "onnx";
    model.tied = std::move(tied);
    model.tokens_per_sample = tokens_;
    return model;
  }

  void fill_kind(LayerKind& kind, Draft& draft, double output_elements) const {
    kind.role = LayerRole::kOther;
    for (Operator& op : draft.operators) {
      kind.name += (kind.name.empty() ? "" : " ") + op.name;
      for (double* total : {&op.rows, &op.input_elements, &op.flops, &op.read_elements,
                            &op.written_elements, &op.saved_elements, &op.saved_bytes})
        *total /= batch_;
      op.batch = std::max(1.0, op.batch / batch_);
      if (op.parameters > 0 && kind.role == LayerRole::kOther) kind.role = LayerRole::kBlock;
      if (op.kind == OpKind::kEmbedding) kind.role = LayerRole::kEmbedding;
    }
    kind.output_elements = output_elements;
    kind.operators = std::move(draft.operators);
  }

  onnx::File file_;
  OnnxOptions options_;
  ErrorList errors_;
  double batch_ = 1;
  double tokens_ = 0;
  std::unordered_map<std::string, Tensor> tensors_;
  std::set<std::string> lost_;
  std::map<std::string, std::vector<std::string>> unknown_;
  std::vector<Stored> stored_;
  std::vector<Draft> drafts_;
  std::vector<double> weights_;  // elements of each
};

}  // namespace

Model import_onnx(std::string_view bytes, const std::string& path, const OnnxOptions& options) {
  return Importer(onnx::parse(bytes, path), options).run();
}

}  // namespace nereus::model
