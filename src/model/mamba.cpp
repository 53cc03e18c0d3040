#include "model/transformer_parts.hpp"

namespace nereus::model {

namespace {

// Tokens that the scan works on as one dense piece (state-spaces/mamba: chunk_size 128 to 256).
constexpr double kChunk = 128;

// Mamba (2312.00752): a convolution over the inner channels, from which B, C and the step dt (by a
// product of rank r) are computed; the scan has a state of n numbers for every channel and is one
// fused kernel on vector units, 9 n FLOPs a channel and token, which keeps the states in registers
// and computes them again in the backward pass.
void add_selective_scan(LayerKind& layer, const TransformerShape& shape, const SampleDims& x) {
  auto& ops = layer.operators;
  const double inner = double(shape.ssm_heads) * shape.ssm_head_dim;
  const double n = shape.ssm_state;
  const double rank = shape.ssm_rank;
  ops.push_back(gemm("ssm_in", Split::kColumn, x.s, 2 * inner, x.h, false));
  Operator conv = elementwise("ssm_convolution", Split::kFeatures, x.s, inner, 1, 1);
  conv.parameters = inner * (shape.ssm_window + 1);
  conv.saved_elements = x.s * inner;
  ops.push_back(conv);
  ops.push_back(gemm("ssm_select", Split::kRow, x.s, rank + 2 * n, inner, false));
  ops.push_back(gemm("ssm_step", Split::kColumn, x.s, inner, rank, true));
  Operator scan = elementwise("ssm_scan", Split::kFeatures, x.s, inner, 3, 1);
  scan.parameters = inner * (n + 1);  // decay and skip
  scan.flops = 9 * x.s * inner * n;
  scan.read_elements += 2 * x.s * n;
  scan.saved_elements = x.s * (2 * inner + 2 * n);
  ops.push_back(scan);
  ops.push_back(gemm("ssm_out", Split::kRow, x.s, x.h, inner, false));
  layer.tensor_regions.push_back({x.s * (rank + 2 * n)});
  layer.tensor_regions.push_back({x.s * x.h});
}

}  // namespace

// Mamba-2 (2405.21060): one projection gives gate z, input x, B, C and the step dt; a short
// convolution runs over x, B and C; the scan over chunks of Q tokens has, per token,
//   C B^T  2 Q n g,   times X  2 Q p a,   chunk states and their use  2 x 2 p n a      FLOP
// with a heads of size p, g groups and state n; then follow a norm gated by z and the output
// projection.
void add_mamba(LayerKind& layer, const TransformerShape& shape, const SampleDims& x) {
  if (shape.ssm_rank > 0) return add_selective_scan(layer, shape, x);
  auto& ops = layer.operators;
  const double a = shape.ssm_heads;
  const double p = shape.ssm_head_dim;
  const double n = shape.ssm_state;
  const double g = shape.ssm_groups;
  const double inner = a * p;
  const double channels = inner + 2 * g * n;
  ops.push_back(gemm("ssm_in", Split::kColumn, x.s, inner + channels + a, x.h, false));
  Operator conv = elementwise("ssm_convolution", Split::kFeatures, x.s, channels, 1, 1);
  conv.parameters = channels * (shape.ssm_window + 1);
  conv.saved_elements = x.s * channels;
  ops.push_back(conv);
  Operator scan;
  scan.name = "ssm_scan";
  scan.kind = OpKind::kScan;
  scan.split = Split::kHeads;
  scan.rows = x.s;
  scan.n = inner;
  scan.heads = shape.ssm_heads;
  scan.kv_heads = shape.ssm_groups;
  scan.head_dim = p;
  scan.parameters = 3 * a;  // decay, skip and the bias of dt
  scan.flops = x.s * (2 * kChunk * (n * g + p * a) + 4 * p * n * a);
  // States of every chunk are written in 32 bit and read again.
  const double states = 2 * x.s / kChunk * inner * n;
  scan.read_elements = x.s * (channels + a) + states;
  scan.written_elements = x.s * inner + states;
  scan.saved_elements = x.s * (channels + a) + states;
  scan.kernels = 5;
  ops.push_back(scan);
  Operator gate = elementwise("ssm_norm", Split::kFeatures, x.s, inner, 2, 1);
  gate.parameters = inner;
  gate.saved_elements = 2 * x.s * inner;
  ops.push_back(gate);
  ops.push_back(gemm("ssm_out", Split::kRow, x.s, x.h, inner, false));
  layer.tensor_regions.push_back({x.s * x.h});
}

}  // namespace nereus::model
