// Users' exported models (model/script_model.hpp): each layer is a TorchScript module that runs
// unchanged.
//
// Weights stay in the layer's flat buffer: before each call, the module's parameter slots are set
// to views of the buffer, which are leaves of autograd. So keeping, sharding and gathering the
// buffer works as for any layer. Autograd computes the gradients; schedules that split the backward
// pass get both halves at once, in the input half.
//
// The interpreter runs without optimization: its profiled graphs would be rebuilt with and without
// gradients, and use other differentiation rules.
//
// Modules are loaded when they are first needed, so a rank only loads those of its stages.
#include <fmt/format.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/script.h>

#include <map>
#include <optional>

#include "base/error.hpp"
#include "model/script_model.hpp"
#include "worker/models/models.hpp"

namespace nereus::worker {

namespace {

torch::jit::Module load_module(const std::string& folder, const std::string& name) {
  const std::string path = fmt::format("{}/{}.pt", folder, name);
  try {
    return torch::jit::load(path, at::kCPU);
  } catch (const c10::Error& error) {
    throw_input_error(
        "train.script-load",
        fmt::format("libtorch cannot load it: {:.300}", error.what_without_backtrace()), {path},
        "export the model again, with a torch no newer than the worker's");
  }
}

// The slot of a parameter: the submodule that owns it, and its name there.
struct Slot {
  torch::jit::Module owner;
  std::string name;
};

Slot find_slot(const torch::jit::Module& module, const std::string& path) {
  torch::jit::Module owner = module;
  std::size_t begin = 0;
  for (std::size_t dot; (dot = path.find('.', begin)) != std::string::npos; begin = dot + 1)
    owner = owner.attr(path.substr(begin, dot - begin)).toModule();
  return {owner, path.substr(begin)};
}

// Floating-point buffers compute in the width of the plan, wherever the weights are.
void move_buffers(torch::jit::Module& module, const at::TensorOptions& options) {
  for (at::Tensor buffer : module.buffers())
    buffer.set_data(buffer.is_floating_point() ? buffer.to(options) : buffer.to(options.device()));
}

class ModuleLayer : public Layer {
 public:
  ModuleLayer(std::string folder, model::ScriptLayer described, bool is_last)
      : folder_(std::move(folder)), described_(std::move(described)), is_last_(is_last) {
    inputs = described_.inputs.empty() ? std::vector<int>{-1} : described_.inputs;
    output_shape = described_.output;
  }

  std::vector<Parameter> parameters() const override {
    std::vector<Parameter> list;
    for (const model::ScriptParameter& p : described_.parameters)
      list.push_back({fmt::format("{}.{}", described_.name, p.name), p.shape});
    return list;
  }

  // As exported: training in Python starts from the same numbers.
  at::Tensor starting_value(std::size_t parameter, std::uint64_t) const override {
    Slot& slot = loaded().slots[parameter];
    return slot.owner.attr(slot.name).toTensor().detach();
  }

  at::Tensor forward(const std::vector<at::Tensor>& in, const Weights& weights,
                     PassContext& pass) const override {
    Loaded& own = loaded();
    const bool first = described_.inputs.empty();
    const at::Tensor& any = !weights.values.empty() ? weights.values[0]
                            : first                 ? pass.batch.inputs
                                                    : in[0];
    if (!own.moved && any.is_floating_point()) {
      move_buffers(own.module, any.options());
      if (is_last_) move_buffers(own.loss, any.options());
      own.moved = true;
    }
    for (std::size_t i = 0; i < own.slots.size(); ++i)
      own.slots[i].owner.setattr(own.slots[i].name, weights.values[i]);
    std::vector<c10::IValue> arguments(in.begin(), in.end());
    if (first) arguments.emplace_back(pass.batch.inputs);
    const torch::jit::GraphOptimizerEnabledGuard plain(false);
    at::Tensor output = own.module.forward(std::move(arguments)).toTensor();
    if (!is_last_) return output;
    if (output.scalar_type() == at::kBFloat16) output = output.to(at::kFloat);
    return own.loss.forward({output, pass.batch.targets}).toTensor().sum() * pass.loss_scale;
  }

 private:
  struct Loaded {
    torch::jit::Module module, loss;
    std::vector<Slot> slots;  // in the order of parameters()
    bool moved = false;
  };

  Loaded& loaded() const {
    if (loaded_) return *loaded_;
    Loaded fresh;
    fresh.module = load_module(folder_, described_.name);
    if (is_last_) fresh.loss = load_module(folder_, "loss");
    // By name, because TorchScript may list them in another order than Python.
    std::map<std::string, at::Tensor> stored;
    for (const auto& named : fresh.module.named_parameters()) stored[named.name] = named.value;
    bool same = stored.size() == described_.parameters.size();
    for (const model::ScriptParameter& p : described_.parameters) {
      const auto at = stored.find(p.name);
      same = same && at != stored.end() && at->second.sizes() == p.shape;
      if (same) fresh.slots.push_back(find_slot(fresh.module, p.name));
    }
    if (!same)
      throw_input_error(
          "model.script-changed",
          fmt::format("{}.pt has other parameters than model.json says", described_.name),
          {folder_}, "export the model again");
    return loaded_.emplace(std::move(fresh));
  }

  std::string folder_;
  model::ScriptLayer described_;
  bool is_last_;
  mutable std::optional<Loaded> loaded_;
};

}  // namespace

Layers build_script_layers(const model::ScriptFolder& folder) {
  const model::ScriptModel script = model::open_script(folder);
  Layers layers;
  for (const model::ScriptLayer& described : script.layers)
    layers.push_back(std::make_unique<ModuleLayer>(folder.path, described,
                                                   layers.size() + 1 == script.layers.size()));
  return layers;
}

}  // namespace nereus::worker
