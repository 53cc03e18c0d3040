// A model to train, as layers of operators. Layers are the units that plans place: a transformer
// block, an embedding, a convolution with its norm. Equal layers share one `LayerKind`, so that 126
// equal blocks are stored and costed once.
//
//   Model m = build_transformer(shape);
//   for (int kind : m.layers) total += m.kinds[kind].parameters();
//
// Invariants: `layers` are indices in `kinds`; `edges` is empty for a chain, otherwise a DAG over
// `layers` in topological order; a tied pair is two layers that share a weight of `tied_parameters`
// elements; at most one layer has tables, and it has nothing else.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/cnn.hpp"
#include "model/dlrm.hpp"
#include "model/operator.hpp"
#include "model/script_folder.hpp"
#include "model/transformer.hpp"

namespace nereus::model {

// A part of a layer that tensor parallelism divides, with a collective at its entry and at its
// exit: an all-reduce at the exit in the forward pass, and at the entry in the backward pass
// (all-gather and reduce-scatter under sequence parallelism).
struct TensorRegion {
  double elements = 0;  // per sample, of the tensor at the boundary
  bool operator==(const TensorRegion&) const = default;
};

// A part of a layer that expert parallelism divides: tokens are sent to their experts and back.
struct ExpertRegion {
  double elements = 0;  // per sample: tokens x top_k x hidden, one way
  double copies = 1;    // per token: top_k
  bool operator==(const ExpertRegion&) const = default;
};

enum class LayerRole { kEmbedding, kBlock, kHead, kOther };

struct LayerKind {
  std::string name;
  LayerRole role = LayerRole::kBlock;
  std::vector<Operator> operators;
  std::vector<TensorRegion> tensor_regions;
  std::vector<ExpertRegion> expert_regions;
  int mixers = 2;              // per block: attention and MLP; hybrids have one per layer
  double input_elements = 0;   // per sample, what the layer reads from the previous one
  double output_elements = 0;  // per sample, what it passes to the next: the pipeline's message

  double parameters() const;         // all parameters
  double expert_parameters() const;  // those that expert parallelism divides
  double table_parameters() const;   // those of embedding tables, which ep divides as well
  double forward_flops() const;      // per sample
  bool operator==(const LayerKind&) const = default;
};

struct Edge {
  int from = 0;
  int to = 0;
  double elements = 0;  // per sample
  bool operator==(const Edge&) const = default;
};

struct TiedWeights {
  int first = 0;   // layer index
  int second = 0;  // layer index
  double parameters = 0;
  bool operator==(const TiedWeights&) const = default;
};

struct Model {
  std::string name;
  std::string family;  // "gpt", "llama", "resnet", ...
  std::vector<LayerKind> kinds;
  std::vector<int> layers;  // indices in `kinds`, in the order of execution
  std::vector<Edge> edges;  // empty: a chain
  std::vector<TiedWeights> tied;
  double tokens_per_sample = 0;  // 0 without tokens (images): rates are then per sample
  // The shape that it was built from; none for a graph from a file (ONNX).
  std::optional<TransformerShape> transformer;
  std::optional<CnnShape> cnn;
  std::optional<DlrmShape> dlrm;
  std::optional<ScriptFolder> script;

  int num_layers() const { return static_cast<int>(layers.size()); }
  const LayerKind& layer(int index) const {
    return kinds[static_cast<size_t>(layers[static_cast<size_t>(index)])];
  }
  double parameters() const;  // counts tied weights once
  // The layer with the embedding tables, whose operators are all tables; -1 if there is none.
  int table_layer() const;
  // FLOPs of the model per sample: forward plus twice that for backward, without recompute. The
  // numerator of model FLOPs utilization.
  double training_flops() const;
  bool operator==(const Model&) const = default;
};

// The edges of a chain written out, or `edges` if the model has them.
std::vector<Edge> all_edges(const Model& model);

}  // namespace nereus::model
