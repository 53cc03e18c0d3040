// Time and memory of one layer for one micro-batch on one rank, kernel by kernel.
//
// GEMM of m x k times k x n (FLOP = 2 m n k): tensor cores work on whole tiles, and all
// multiprocessors wait for the last wave of tiles (NVIDIA, Matrix Multiplication Background User's
// Guide, "wave quantization"). The empty part of edge tiles counts with weight gemm_edge: 1 on
// GPUs, less on CPUs, whose tiles have a few elements. With waves w = tiles / multiprocessors,
//   paid waves = w + gemm_tail * (ceil(w) - w)
//   t = paid waves * multiprocessors * 2 * tile * (k / rate + gemm_depth / rate of 16 bits)
// where tile is the number of its elements, rate = peak * clock * efficiency, and clock is the rate
// of matrix units as a share of the data sheet's. The second term is the time to fill and to empty
// a tile's pipeline: it does not depend on how fast the products in between are. This holds for the
// best of four tile sizes, and at least bytes / bandwidth. If there are fewer tiles than
// multiprocessors, the inner dim may be split among p blocks, tiles p <= multiprocessors and k / p
// >= 1024, whose partial sums pass memory in 32 bits ("parallelized reductions", CUTLASS, Efficient
// GEMM): weight gradients of 256 x 512 over 65,536 samples reach the rate of the forward pass on an
// H200. The backward pass runs two GEMMs of the same FLOPs: m x n times n x k (input) and k x m
// times m x n (weight).
//
// Convolutions run as such GEMMs at convolution_efficiency of their rate (Chetlur 2014, implicit
// GEMM: the input is read about once, whatever the window): forward m = output positions, n =
// output channels, k = elements of the window, all channels; the input's gradient m = input
// positions, n = input channels. A grouped convolution runs as the faster of two forms: one GEMM
// per group, or a kernel without matrix units that reads and writes every value once:
//   t = max(FLOP / (fp32 peak clock efficiency), bytes / bandwidth)     forward; backward: 2 t
//
// Attention. Fused (Dao 2022): FLOP / (peak clock attention_efficiency), without masked tiles if
// causal; backward has 2.5x the FLOPs. Unfused: two batched GEMMs over the full square, plus 3
// passes over the score matrix forward and 5 backward (times score_passes) at memory bandwidth.
//
// Context slices: with contiguous slices under a causal mask, the last rank of a ring has nearly
// twice the mean work, (2 - 1 / cp). Zig-zag slices (Brandon 2023) and all-to-all are even.
//
// 8- and 4-bit GEMMs need quantized operands. Quantizing moves 3 bytes per element (5 for nvfp4,
// whose second level of scales needs a separate pass), times cast_passes, or times
// block_cast_passes for formats with a scale per block.
//
// Experts: one grouped GEMM over the experts of a rank, each with its share of the tokens, at
// grouped_gemm times the rate of a plain GEMM. The busiest rank decides; it has expert_imbalance
// times the mean. Some stacks have a kernel that runs both products of gated mxfp8 experts with the
// activation and the quantization in between (fused_experts). Then activation and quantization cost
// nothing, nor do launches: the host needs no token counts, so it launches a whole step ahead.
//
// Scan (Mamba-2): FLOP / (peak clock scan_efficiency), plus bytes / bandwidth since its kernels
// pass states through memory. Backward has 2.5x the FLOPs and twice the bytes.
//
// Images: a batch norm needs its input twice and writes its output, and needs input and output
// gradient twice in the backward pass (Ioffe 2015), 3 and 5 passes over the image. An activation
// after it only costs a look at its sign in the backward pass; an addition costs a read of the
// shortcut and a write of its gradient. All of them times image_passes, which tells how far a
// software is from such fused kernels, at image_efficiency of the bandwidth.
//
// Element-wise kernels, normalization, loss: bytes / (bandwidth * memory_efficiency) times the
// stack's passes.
#pragma once

#include "cluster/device.hpp"
#include "model/model.hpp"
#include "plan/degrees.hpp"
#include "stack/parameters.hpp"

namespace nereus::cost {

struct TableSlices;
struct MeasuredDevice;

// How a layer is cut for one rank.
struct LayerSplit {
  int tp = 1;
  int cp = 1;
  int ep = 1;
  int expert_tp = 1;
  bool sequence_parallel = false;
  double samples = 1;  // per micro-batch
  plan::ContextKind context = plan::ContextKind::kZigzag;
  // Embedding tables (cost/embedding.hpp): the slices that ep makes (null: whole tables, evenly
  // assigned), and the seconds per byte looked up in offload tiers.
  const TableSlices* tables = nullptr;
  double tier_seconds = 0;
  bool operator==(const LayerSplit&) const = default;
};

// Rates of one device under one stack at one precision, already resolved: plain numbers for the
// inner loops.
struct KernelModel {
  KernelModel(const cluster::Device& device, const Parameters& parameters,
              cluster::Precision precision, plan::Attention attention);

  double gemm_rate;       // FLOP/s of large block GEMMs
  double head_rate;       // FLOP/s of GEMMs that stay in 16 bit (logits, router)
  double attention_rate;  // FLOP/s of fused attention, forward
  double attention_backward;
  double scan_rate;     // FLOP/s of state-space scans, forward
  double vector_rate;   // FLOP/s of kernels without matrix units
  double grouped_gemm;  // rate of grouped GEMMs relative to plain ones
  double expert_passes;
  // Share of gated experts that run as one kernel, launched without token counts.
  double fused_experts;
  double imbalance;  // tokens of the busiest expert rank / mean
  double dispatch_once;
  double memory_rate;  // B/s of element-wise kernels
  double passes;
  double image_rate;  // B/s of kernels on images
  double image_passes;
  double score_passes;
  double loss_passes;
  double bottom_alone;
  double scatter;     // seconds to add one number to a table's row; 0: gradients are sorted
  double cast_bytes;  // traffic to quantize one element of an operand
  double gap;
  double units;  // number of multiprocessors
  double tail;
  double edge;
  double depth_seconds;  // to fill and empty a tile's pipeline, per FLOP of one inner element
  double tile_room;      // how much faster small tiles are read than tensor cores need
  double convolution;    // rate of convolutions relative to GEMMs
  double misaligned_gemm;
  double misaligned_head;
  double element;                            // bytes per activation
  double gemm_element;                       // bytes per GEMM operand (1 for 8-bit)
  const MeasuredDevice* measured = nullptr;  // layers with measured times (cost/measured.hpp)
  bool cast;  // operands are cast down to 8 or 4 bits before each GEMM
  bool fused_attention;
};

struct LayerCost {
  double forward = 0;            // device seconds per micro-batch
  double backward = 0;           // without recompute
  double weight_gradient = 0;    // part of `backward` that no other layer waits for
  double attention_forward = 0;  // part of `forward` that selective recompute repeats
  double parameters = 0;         // on this rank, dense part
  double expert_parameters = 0;  // on this rank, expert part
  double table_parameters = 0;   // embedding tables, on the rank that has the most
  double saved = 0;              // bytes kept for backward without recompute
  double saved_scores = 0;       // part of `saved` that selective recompute drops
  double gathered = 0;      // bytes of whole inputs of column-split GEMMs, beyond this rank's share
  double saved_input = 0;   // bytes kept if everything is recomputed
  double transient = 0;     // largest working set while the layer runs backward
  double logits = 0;        // bytes of logits and their gradient (head only)
  double tensor_bytes = 0;  // of one tensor collective (whole tensor), summed over regions
  double expert_bytes = 0;  // sent one way by this rank to experts; every copy of a token counts
  double expert_copies = 1;  // copies per token
  double launches = 1;       // host time relative to that of a transformer's block
  double local_experts = 0;  // number on this rank
  double fused_experts = 0;  // share of experts that the host need not launch one by one
  int num_tensor_regions = 0;
  int num_kernels = 0;
  int softmax_fallback = 0;  // 1 if the fused softmax kernel cannot be used
  double message = 0;        // bytes that this rank passes to the next layer
};

double element_bytes(cluster::Precision precision);  // per activation

// A product of matrices whose operands and result are `bytes`, which move at `byte_rate`; no
// launch.
double matrix_seconds(const KernelModel& model, double m, double n, double k, double batch,
                      double rate, double bytes, double byte_rate);
double gemm_seconds(const KernelModel& model, double m, double n, double k, double batch,
                    double rate);
LayerCost layer_cost(const model::LayerKind& layer, const KernelModel& model,
                     const LayerSplit& split);
// The host time of a layer's launches, relative to that of a transformer's block: by mixers for
// blocks (attention and MLP), by kernels for layers of convolutional networks.
double launches_of(const model::LayerKind& layer);

// The cost of one operator, for `explain`.
struct OperatorCost {
  double forward = 0;
  double backward = 0;
  double weight_gradient = 0;  // part of `backward`
  double flops = 0;            // forward, on this rank
  double skipped = 0;          // part of `flops`: masked tiles, which a fused kernel skips
  double bytes = 0;            // bytes moved in the forward pass, on this rank
  double saved = 0;
  double parameters = 0;
};
OperatorCost operator_cost(const model::Operator& op, const KernelModel& model,
                           const LayerSplit& split);

}  // namespace nereus::cost
