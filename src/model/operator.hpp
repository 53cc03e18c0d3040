// One operator of a layer: what it computes per sample, and the effect of splitting it.
//
// A sample is one sequence (language models), one image (vision) or one record (recommendation).
// All counts are per sample and unsplit; `Split` determines which of them a degree divides:
//
//   kReplicated  every tensor rank does all of it (sequence parallelism divides its rows if
//                `rows_divide` is set: normalization, dropout, residual)
//   kColumn      weight columns n / tp  (first GEMM of a tensor region; input gradient needs a sum)
//   kRow         weight rows    k / tp  (last GEMM of a tensor region; output needs a sum)
//   kHeads       attention heads / tp
//   kFeatures    element-wise work on features that an earlier column split has divided
//   kVocabulary  embedding, head and loss: vocabulary / tp
//   kExperts     expert weights / ep, rows stay (tokens come from the expert group),
//                inner dim / expert tp
//   kTables      embedding tables / ep: whole tables, or their rows, or their columns
//                (plan::TableSplit)
//
// FLOPs of the backward pass: GEMM, convolution and attention have twice their forward FLOPs (input
// and weight gradient). Fused attention kernels have 2.5x (dQ, dK, dV, dP and a recomputed P);
// cost/ decides which factor applies.
#pragma once

#include <string>

namespace nereus::model {

enum class OpKind {
  kGemm,          // rows x k times k x n, `batch` of them
  kAttention,     // softmax(Q K^T) V over heads
  kNorm,          // LayerNorm, RMSNorm, BatchNorm: memory-bound with a reduction
  kElementwise,   // activation, dropout, residual, bias, rotary
  kEmbedding,     // gather of rows
  kEmbeddingBag,  // gather and sum of rows (recommendation)
  kConvolution,
  kPool,
  kInteraction,  // pairwise dot products (DLRM)
  kRouter,       // expert choice: softmax and top-k
  kScan,         // state-space scan in chunks (Mamba-2): dense pieces and states
  kLoss,         // softmax cross entropy over the vocabulary
};

enum class Split { kReplicated, kColumn, kRow, kHeads, kFeatures, kVocabulary, kExperts, kTables };

struct Operator {
  std::string name;
  OpKind kind = OpKind::kElementwise;
  Split split = Split::kReplicated;
  Split inside = Split::kReplicated;  // of one expert, by expert_tp
  bool rows_divide = false;           // replicated work that sequence parallelism divides
  bool gated = false;       // of a gated MLP: may be fused with the activation between its products
  bool image = false;       // norm, activation, addition or pool of images (convolutional networks)
  bool full_width = false;  // a GEMM that 8- and 4-bit recipes keep in 16 bits (logits, router)

  // GEMM: `rows` x `k` times `k` x `n`. Others use rows = tokens (or positions) and n = features.
  double rows = 0;
  double n = 0;
  double k = 0;
  double batch = 1;  // independent GEMMs of this shape over the same rows (experts use num_experts)

  // Attention.
  int heads = 0;
  int kv_heads = 0;
  double head_dim = 0;        // of query and key
  double value_head_dim = 0;  // of value
  double keys = 0;            // keys that each query may see before masking (sequence, or window)
  bool causal = false;

  // Convolution: `rows` has the out_height x out_width positions, n = out channels, k = in channels
  // / groups times the window.
  int window = 1;  // kernel height x width
  int groups = 1;
  double input_elements = 0;  // per sample, for convolution and pooling

  // Embedding table with k rows and n columns; `rows` of its rows are summed per sample. The bytes
  // below are not the stack's, because a step only touches few rows of a table.
  double weight_bytes = 0;     // per weight, as stored
  double state_bytes = 0;      // of the optimizer, per weight
  double row_state_bytes = 0;  // of the optimizer, per row

  double parameters = 0;        // weights and biases, unsplit
  double flops = 0;             // forward, per sample
  double read_elements = 0;     // activations read in forward per sample (without weights)
  double written_elements = 0;  // activations written in forward per sample
  double saved_elements =
      0;  // activations kept for backward per sample, in the activation's precision
  double saved_bytes = 0;  // kept with a fixed width in any precision (masks, statistics)
  int kernels = 1;         // launches in forward when nothing is fused

  bool operator==(const Operator&) const = default;
};

}  // namespace nereus::model
