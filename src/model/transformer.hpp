// Transformers: the shape that describes one, and its expansion into layers of operators.
//
// Parameters of one dense block (Vaswani 2017; Brown 2020; Touvron 2023):
//   attention  h (a + 2 g) d + a d_v h       a heads, g key-value heads of size d (value size d_v)
//   MLP        h f x (3 if gated else 2)     h hidden, f feed-forward
//   norms      2 h x (2 if bias)
// FLOPs of one token, forward: 2 x weights used + 4 s a d x (1/2 if causal and the kernel skips
// masked tiles; the model's FLOPs count the full square, as in Narayanan 2021).
#pragma once

#include <string>

namespace nereus::model {

struct Model;

enum class NormKind { kLayerNorm, kRmsNorm };
// Relative: one bias per head and bucket of distances, kept by the first block (T5).
enum class PositionKind { kLearned, kRotary, kAlibi, kNone, kRelative };

struct TransformerShape {
  std::string name;
  std::string family = "gpt";  // gpt, llama, mpt, bert, vit, dit, t5, ...
  int layers = 0;
  int hidden = 0;
  int heads = 0;
  int kv_heads = 0;  // equals heads for multi-head attention
  int head_dim = 0;  // hidden / heads unless given
  int ffn = 0;
  int vocab = 0;  // classes for vit
  int seq = 0;
  bool gated_mlp = false;
  bool tied_embeddings = false;
  bool causal = true;
  bool bias = true;
  bool qk_norm = false;
  bool post_norm = false;  // a norm after each mixer as well (Gemma 2 and 3)
  NormKind norm = NormKind::kLayerNorm;
  PositionKind position = PositionKind::kLearned;
  int max_positions = 0;  // learned table; 0 = seq

  // Mixture of experts: `experts` = 0 for dense.
  int experts = 0;
  int top_k = 0;
  int expert_ffn = 0;
  int shared_experts = 0;
  int shared_expert_ffn = 0;  // 0: expert_ffn
  int dense_layers = 0;       // leading blocks with a dense MLP of size `ffn`
  int expert_interval = 1;    // after those, every n-th block has experts, others a dense MLP
  int expert_latent = 0;  // experts receive tokens projected to this size (LatentMoE); 0: hidden
  int mtp_layers = 0;     // multi-token prediction: additional blocks in training

  // Multi-head latent attention (DeepSeek): 0 = off.
  int q_lora = 0;
  int kv_lora = 0;
  int rope_head_dim = 0;
  int value_head_dim = 0;  // 0: head_dim

  int window = 0;           // sliding-window attention; 0 = full
  int window_interval = 1;  // the first of every n blocks has the window (GPT-OSS: 2)
  int full_interval = 0;  // of windowed blocks, the last of every n sees all (Gemma 3: 6); 0: none

  // Encoder and decoder (T5): `layers` blocks of the encoder, which see all `seq` tokens, then
  // `decoder_layers` blocks that also attend to the encoder's output. 0 = one stack.
  int decoder_layers = 0;
  int target_seq = 0;  // tokens of the decoder; 0: seq

  // Compressed sparse attention (DeepSeek-V4). Besides its window, a query sees keys that represent
  // several tokens each. From the third block on, blocks alternate between one key per
  // `compress_near` tokens, of which an indexer selects `index_top_k`, and one key per
  // `compress_far` tokens. 0 = off.
  int compress_near = 0;
  int compress_far = 0;
  int index_heads = 0;
  int index_head_dim = 0;
  int index_top_k = 0;
  int output_groups = 0;  // number of groups of the output projection
  int output_lora = 0;    // rank of these groups
  int streams = 1;        // parallel residual streams (hyper-connections)

  // Hybrids with one mixer per layer: M = Mamba-2, * = attention, E = experts, - = MLP. Must have
  // length `layers`; empty = blocks with attention and MLP.
  std::string pattern;
  int ssm_heads = 0;
  int ssm_head_dim = 0;
  int ssm_state = 0;
  int ssm_groups = 0;
  int ssm_window = 4;  // taps of the convolution before the scan
  int ssm_rank = 0;    // of the step dt: Mamba-1, whose scan is per channel; 0: Mamba-2

  // Vision transformer. A diffusion transformer (DiT) has a latent of `channels` for an image, and
  // every block is modulated by the time step and the class.
  int patch = 0;
  int image = 0;
  int channels = 3;
  bool modulated = false;

  bool operator==(const TransformerShape&) const = default;
};

// Whether any block has a dense MLP of size `ffn`.
bool has_dense_mlp(const TransformerShape& shape);
// Whether any layer is a state-space layer.
bool has_scans(const TransformerShape& shape);

// Number of positions that a masked language model must predict per sequence: 15 % (Devlin 2019,
// 1810.04805), at least one.
int masked_positions(int seq);

// Fills in derived fields (kv_heads, head_dim, max_positions), and throws Errors for invalid
// shapes.
TransformerShape resolve(TransformerShape shape);
Model build_transformer(const TransformerShape& shape);

}  // namespace nereus::model
