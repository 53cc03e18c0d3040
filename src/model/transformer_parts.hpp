// The parts from which transformer blocks are built. Only for use inside src/model.
//
// Each add_* appends the operators of one mixer to a layer, with the regions that tensor and expert
// parallelism divide. Sources: attention Vaswani 2017; latent attention 2405.04434; compressed
// sparse attention and hyper-connections: DeepSeek-V4 model card; experts Shazeer 2017, in a latent
// space 2512.20856; Mamba 2312.00752; Mamba-2 2405.21060.
#pragma once

#include <string>

#include "model/model.hpp"

namespace nereus::model {

// Dimensions of one sample as doubles, so that products of five of them cannot overflow.
struct SampleDims {
  double s, h, a, g, d, dv, f, v;
};

Operator gemm(std::string name, Split split, double rows, double n, double k, bool bias);
Operator norm(std::string name, double rows, double n, const TransformerShape& shape);
Operator elementwise(std::string name, Split split, double rows, double n, double reads,
                     int kernels);
// Replicated work on the rows that a rank has under sequence parallelism.
Operator on_own_rows(Operator op);
Operator residual(std::string name, const TransformerShape& shape, const SampleDims& x);

// The keys that a query of this block sees.
enum class Reach { kAll, kWindow, kNear, kFar };

void add_attention(LayerKind& layer, const TransformerShape& shape, const SampleDims& x,
                   Reach reach);
void add_mlp(LayerKind& layer, const TransformerShape& shape, const SampleDims& x, double ffn,
             const std::string& prefix);
void add_experts(LayerKind& layer, const TransformerShape& shape, const SampleDims& x);
void add_mamba(LayerKind& layer, const TransformerShape& shape, const SampleDims& x);

Operator token_embedding(const SampleDims& x);
// The blocks of an encoder and a decoder (encoder_decoder.cpp).
void add_stacks(Model& model, const TransformerShape& shape, const SampleDims& source,
                const SampleDims& target);

// Diffusion transformers (diffusion.cpp).
LayerKind latent_embedding(const TransformerShape& shape, const SampleDims& x);
LayerKind noise_head(const TransformerShape& shape, const SampleDims& x);
void add_modulation(LayerKind& layer, const SampleDims& x, int parts);
Operator modulate(std::string name, const SampleDims& x);

}  // namespace nereus::model
