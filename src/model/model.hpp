// A model to train, as layers of operators. Layers are what plans place: a transformer block, an
// embedding, a convolution with its norm. Identical layers share one `LayerKind`, so that 126 equal
// blocks are stored and costed once.
//
//   Model m = build_transformer(shape);
//   for (int kind : m.layers) total += m.kinds[kind].parameters();
//
// Invariants: `layers` indexes `kinds`; `edges` is empty for a chain, otherwise a DAG over `layers`
// in topological order; a tied pair names two layers that hold the same weight of `tied_parameters`
// elements; at most one layer has tables, and then nothing else.
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
// exit: forward sums at the exit, backward at the entry (all-gather and reduce-scatter under
// sequence parallelism).
struct TensorRegion {
  double elements = 0;  // per sample, of the tensor at the boundary
  bool operator==(const TensorRegion&) const = default;
};

// A part of a layer that expert parallelism divides: tokens leave for their experts and come back.
struct ExpertRegion {
  double elements = 0;  // per sample: tokens x top_k x hidden, one way
  double copies = 1;    // of each token among them: top_k
  bool operator==(const ExpertRegion&) const = default;
};

enum class LayerRole { kEmbedding, kBlock, kHead, kOther };

struct LayerKind {
  std::string name;
  LayerRole role = LayerRole::kBlock;
  std::vector<Operator> operators;
  std::vector<TensorRegion> tensor_regions;
  std::vector<ExpertRegion> expert_regions;
  int mixers = 2;              // of a block: attention and MLP; hybrids have one a layer
  double input_elements = 0;   // per sample, what the layer reads from the one before
  double output_elements = 0;  // per sample, what it hands to the next: the pipeline's message

  double parameters() const;         // all
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
  std::vector<int> layers;  // index into kinds, in execution order
  std::vector<Edge> edges;  // empty: a chain
  std::vector<TiedWeights> tied;
  double tokens_per_sample = 0;  // 0 where tokens make no sense (images): rates are then per sample
  // What it was built from; none of them for a graph from a file (ONNX).
  std::optional<TransformerShape> transformer;
  std::optional<CnnShape> cnn;
  std::optional<DlrmShape> dlrm;
  std::optional<ScriptFolder> script;

  int num_layers() const { return static_cast<int>(layers.size()); }
  const LayerKind& layer(int index) const { return kinds[layers[index]]; }
  double parameters() const;  // tied weights counted once
  // The layer that holds the embedding tables, all operators of it tables; -1 where there is none.
  int table_layer() const;
  // FLOPs of one sample that the model needs: forward plus twice that for backward; no recompute.
  // This is the numerator of model FLOPs utilization.
  double training_flops() const;
  bool operator==(const Model&) const = default;
};

// The chain's edges written out, or `edges` itself where the model has them.
std::vector<Edge> all_edges(const Model& model);

}  // namespace nereus::model
