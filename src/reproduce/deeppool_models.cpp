#include "reproduce/deeppool_models.hpp"

#include <fmt/format.h>

#include <memory>

#include "app/predict/layer_predictions.hpp"
#include "app/predict/predict_plan.hpp"
#include "base/embedded.hpp"
#include "base/error.hpp"
#include "model/cnn_recipe.hpp"
#include "profile/deeppool.hpp"

namespace nereus::app {

namespace {

using model::CnnLayer;

constexpr double kValueBytes = 4;  // of activations and gradients, as DeepPool counts

std::string_view text_of(const std::string& profile) {
  return embedded_text("deeppool/" + profile + ".prof");
}

burst::BlockCosts measured(const profile::DeepPoolBlock& own, const std::string& name) {
  burst::BlockCosts out;
  out.name = name;
  out.seconds = [curve = own.seconds()](int samples) { return curve.at(samples); };
  out.gradient_bytes = own.parameters * kValueBytes;
  return out;
}

// A graph with the prediction of what was not measured.
struct Predicted {
  Inputs inputs;
  std::unique_ptr<LayerPredictions> layers;
};

DeepPoolModel inception(const profile::DeepPoolProfile& profile, DeepPoolModel out) {
  auto predicted = std::make_shared<Predicted>();
  predicted->inputs =
      load_inputs({"inception-v3", {{"aux_head", "false"}}}, {}, {"1xdgx-a100-80", {}}, {});
  const Inputs& inputs = predicted->inputs;
  predicted->layers = std::make_unique<LayerPredictions>(inputs.model, inputs.cluster, inputs.basis,
                                                         cluster::Precision::kBf16);
  const std::vector<CnnLayer> recipe = model::cnn_recipe(*inputs.model.cnn);
  std::size_t next = 0;
  int missing = 0;
  for (std::size_t i = 0; i < recipe.size(); ++i) {
    const CnnLayer& own = recipe[i];
    const model::LayerKind& kind = inputs.model.layer(static_cast<int>(i));
    const bool has_row = own.kind == CnnLayer::Kind::kConv ||
                         own.kind == CnnLayer::Kind::kMaxPool ||
                         own.kind == CnnLayer::Kind::kAveragePool;
    const std::string name = own.name.empty() ? kind.name : own.name;
    if (has_row) {
      const double elements = own.in.channels * static_cast<double>(own.in.height) * own.in.width;
      if (next >= profile.blocks.size() || profile.blocks[next].elements != elements)
        throw_input_error(
            "profile.no-layer",
            fmt::format(
                "{} reads {:g} elements, and block {} of the profile {}", name, elements, next + 1,
                next < profile.blocks.size() ? fmt::format("{:g}", profile.blocks[next].elements)
                                             : "is not there"),
            {"data/deeppool/" + out.profile + ".prof"}, "the layers of the model, in its order");
      out.blocks.push_back(measured(profile.blocks[next++], name));
      continue;
    }
    ++missing;
    burst::BlockCosts block;
    block.name = name;
    block.seconds = [predicted, i](int samples) {
      return predicted->layers->seconds(static_cast<int>(i), samples);
    };
    block.gradient_bytes = kind.parameters() * kValueBytes;
    out.blocks.push_back(std::move(block));
  }
  for (const model::Edge& edge : model::all_edges(inputs.model))
    out.edges.push_back({edge.from, edge.to, edge.elements * kValueBytes});
  out.notes.push_back(fmt::format(
      "inception-v3: {} layers (concatenations, the last pool, the classifier) have no row in the "
      "released profile and take what our cost model predicts",
      missing));
  return out;
}

}  // namespace

std::vector<std::string> deeppool_profiles() { return {"A100_vgg", "A100_wrn", "A100_inception"}; }

DeepPoolModel deeppool_model(const std::string& name) {
  const profile::DeepPoolProfile profile =
      profile::read_deeppool(text_of(name), "data/deeppool/" + name + ".prof");
  DeepPoolModel out;
  out.profile = name;
  if (name == "A100_inception") {
    out.name = "inception-v3";
    return inception(profile, std::move(out));
  }
  out.name = name == "A100_vgg" ? "vgg16" : "wide-resnet101-2";
  for (std::size_t i = 0; i < profile.blocks.size(); ++i) {
    const profile::DeepPoolBlock& own = profile.blocks[i];
    out.blocks.push_back(measured(own, fmt::format("{} {}", i + 1, own.name)));
    if (i > 0)
      out.edges.push_back(
          {static_cast<int>(i) - 1, static_cast<int>(i), own.elements * kValueBytes});
  }
  return out;
}

}  // namespace nereus::app
