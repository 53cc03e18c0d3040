// Diffusion transformers (DiT, Peebles and Xie 2023, 2212.09748): a vision transformer over patches
// of a noisy latent. The time step and the class give a vector c, from which every block computes
// shifts, scales and gates of its two mixers (adaLN-Zero):
//   modulation of a block  6 h (h + 1) parameters, of the last layer 2 h (h + 1)
//   time step              256 -> h -> h            class   (classes + 1) h, one for "no class"
//   head                   h -> 2 channels patch^2  (noise and its variance)
// The positions are sines, a table that is stored and not trained.
#include "model/transformer_parts.hpp"

namespace nereus::model {

namespace {

constexpr double kFrequencies = 256;  // of the time step (facebookresearch/DiT models.py)

Operator one_row(std::string name, double n, double k) {
  Operator op = gemm(std::move(name), Split::kReplicated, 1, n, k, true);
  op.full_width = true;
  return op;
}

}  // namespace

void add_modulation(LayerKind& layer, const SampleDims& x, int parts) {
  layer.operators.push_back(one_row("modulation", parts * x.h, x.h));
}

Operator modulate(std::string name, const SampleDims& x) {
  return on_own_rows(elementwise(std::move(name), Split::kReplicated, x.s, x.h, 1, 2));
}

LayerKind latent_embedding(const TransformerShape& shape, const SampleDims& x) {
  LayerKind layer;
  layer.name = "embedding";
  layer.role = LayerRole::kEmbedding;
  layer.input_elements = double(shape.channels) * shape.image * shape.image;
  layer.output_elements = x.s * x.h + x.h;
  auto& ops = layer.operators;
  const double patch = double(shape.channels) * shape.patch * shape.patch;
  ops.push_back(gemm("patches", Split::kReplicated, x.s, x.h, patch, true));
  ops.back().full_width = true;
  Operator positions = elementwise("position_embedding", Split::kReplicated, x.s, x.h, 2, 1);
  positions.rows_divide = true;
  positions.parameters = x.s * x.h;
  ops.push_back(positions);
  ops.push_back(one_row("time_in", x.h, kFrequencies));
  ops.push_back(elementwise("time_activation", Split::kReplicated, 1, x.h, 1, 1));
  ops.push_back(one_row("time_out", x.h, x.h));
  Operator classes = elementwise("class_embedding", Split::kReplicated, 1, x.h, 2, 2);
  classes.parameters = (x.v + 1) * x.h;
  ops.push_back(classes);
  return layer;
}

LayerKind noise_head(const TransformerShape& shape, const SampleDims& x) {
  LayerKind layer;
  layer.name = "head";
  layer.role = LayerRole::kHead;
  layer.input_elements = x.s * x.h + x.h;
  auto& ops = layer.operators;
  add_modulation(layer, x, 2);
  ops.push_back(norm("final_norm", x.s, x.h, shape));
  ops.back().parameters = 0;
  ops.push_back(modulate("final_modulate", x));
  const double out = 2.0 * shape.channels * shape.patch * shape.patch;
  ops.push_back(gemm("noise", Split::kReplicated, x.s, out, x.h, true));
  ops.back().full_width = true;
  ops.push_back(elementwise("loss", Split::kReplicated, x.s, out, 3, 8));
  return layer;
}

}  // namespace nereus::model
