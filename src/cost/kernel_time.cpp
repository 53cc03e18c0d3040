#include "cost/kernel_time.hpp"

#include <algorithm>
#include <cmath>

#include "cost/embedding.hpp"
#include "cost/image_kernels.hpp"

namespace nereus::cost {

using cluster::Precision;
using model::Operator;
using model::OpKind;
using model::Split;

double element_bytes(Precision precision) {
  switch (precision) {
    case Precision::kFp64:
      return 8;
    case Precision::kFp32:
    case Precision::kTf32:
      return 4;
    default:
      return 2;
  }
}

namespace {

// Tiles that GEMM libraries choose from, with the rate of each relative to the best.
struct Tile {
  double m, n, rate;
};
constexpr Tile kTiles[] = {{256, 128, 1.0}, {128, 128, 0.95}, {128, 64, 0.80}, {64, 64, 0.60}};
// The least part of the inner dim that is worth a block of its own.
constexpr double kLeastK = 1024;

double operand_bytes(Precision precision) {
  switch (precision) {
    case Precision::kFp8:
    case Precision::kMxfp8:
    case Precision::kInt8:
      return 1;
    case Precision::kNvfp4:
      return 0.5;
    default:
      return element_bytes(precision);
  }
}

bool divides(double value, double by) { return std::fmod(value, by) == 0; }

// The part of an operator on one rank: GEMM dims after the split, or rows and features.
struct Piece {
  double rows;  // tokens or positions, all samples of the micro-batch
  double n;
  double k;
  double batch;
  double share;  // of the operator's per-sample elements that this rank handles, before samples
  double weight_share;
};

Piece piece_of(const Operator& op, const LayerSplit& split, double imbalance) {
  Piece piece{op.rows * split.samples / split.cp, op.n, op.k, 1, 1.0 / split.cp, 1};
  const double tp = split.tp;
  switch (op.split) {
    case Split::kReplicated:
      if (op.rows_divide && split.sequence_parallel) {
        piece.rows /= tp;
        piece.share /= tp;
      }
      break;
    case Split::kColumn:
      piece.n /= tp;
      piece.weight_share = 1 / tp;
      break;
    case Split::kRow:
      piece.k /= tp;
      piece.weight_share = 1 / tp;
      break;
    case Split::kHeads:
    case Split::kFeatures:
      piece.n /= tp;
      piece.share /= tp;
      piece.weight_share = op.parameters > 0 && op.kind == OpKind::kNorm ? 1 : 1 / tp;
      break;
    case Split::kVocabulary:
      if (op.kind != OpKind::kEmbedding) piece.n /= tp;
      if (op.kind == OpKind::kLoss) piece.share /= tp;
      piece.weight_share = 1 / tp;
      break;
    case Split::kExperts: {
      // Tokens are spread over the ep x expert_tp ranks; sequence parallelism has already divided
      // them by tp.
      const double local = split.sequence_parallel || split.tp > 1 ? 1.0 / tp : 1.0;
      piece.rows *= local * split.expert_tp * imbalance;
      piece.share *= local * split.expert_tp * imbalance;
      piece.batch = std::max(1.0, op.batch / split.ep);
      if (op.inside == Split::kRow) piece.k /= split.expert_tp;
      if (op.inside == Split::kColumn) piece.n /= split.expert_tp;
      if (op.inside == Split::kFeatures) piece.share /= split.expert_tp;
      piece.weight_share = 1.0 / (static_cast<double>(split.ep) * split.expert_tp);
      break;
    }
    case Split::kTables:  // cost/embedding.hpp
      break;
  }
  return piece;
}

// The share of rows x keys scores under a causal mask, counting a window's tiles of 128 keys whole.
double visible_share(const Operator& op) {
  if (op.keys >= op.rows) return 0.5;
  const double tiles = std::min(op.rows, op.keys + 128) / op.keys;
  return tiles * (1 - op.keys / (2 * op.rows));
}

}  // namespace

KernelModel::KernelModel(const cluster::Device& device, const Parameters& p, Precision precision,
                         plan::Attention attention) {
  const double peak_16 = p.clock * std::max(device.peak_of(Precision::kBf16).value,
                                            device.peak_of(Precision::kFp16).value);
  const auto rate_of = [&](Precision q) {
    const double peak = device.peak_of(q).value * p.clock;
    switch (q) {
      case Precision::kFp8:
      case Precision::kMxfp8:
      case Precision::kInt8:
        return peak * p.gemm_efficiency_8bit;
      case Precision::kNvfp4:
        return peak * p.gemm_efficiency_4bit;
      case Precision::kFp64:
      case Precision::kFp32:
        return peak * p.gemm_efficiency_32bit;
      default:
        return peak * p.gemm_efficiency;
    }
  };
  cast = operand_bytes(precision) < 2;
  gemm_rate = rate_of(precision);
  const double rate_16 = peak_16 * p.gemm_efficiency;
  // Units without a 16-bit mode of their own have one rate.
  depth_seconds = p.gemm_depth / (rate_16 > 0 && device.num_units > 0 ? rate_16 : gemm_rate);
  // Units four times slower than tensor cores read small tiles as fast as they multiply them.
  tile_room = std::max(1.0, rate_16 / gemm_rate / 2);
  convolution = p.convolution_efficiency;
  const double plain = cast ? peak_16 : device.peak_of(precision).value * p.clock;
  head_rate = cast ? peak_16 * p.gemm_efficiency : gemm_rate;
  attention_rate = plain * p.attention_efficiency;
  attention_backward = p.attention_backward;
  scan_rate = plain * p.scan_efficiency;
  const double vector_peak = device.peak_of(Precision::kFp32).value;
  vector_rate = vector_peak > 0 ? vector_peak * p.clock * p.gemm_efficiency_32bit : gemm_rate;
  grouped_gemm = p.grouped_gemm;
  expert_passes = p.expert_passes;
  fused_experts = precision == Precision::kMxfp8 ? p.fused_experts : 0;
  imbalance = p.expert_imbalance;
  dispatch_once = p.dispatch_once;
  memory_rate = device.memory_bandwidth.value * p.memory_efficiency;
  passes = p.elementwise_passes;
  image_rate = device.memory_bandwidth.value * p.image_efficiency;
  image_passes = p.image_passes * (element_bytes(precision) > 2 ? p.image_passes_32bit : 1);
  score_passes = p.score_passes;
  loss_passes = p.loss_passes;
  const bool blocks = precision == Precision::kMxfp8 || precision == Precision::kNvfp4;
  // Two levels of scales need the largest value of the whole tensor first: one more read.
  cast_bytes =
      blocks ? (precision == Precision::kNvfp4 ? 5 : 3) * p.block_cast_passes : 3 * p.cast_passes;
  gap = p.kernel_gap;
  tail = p.gemm_tail;
  edge = p.gemm_edge;
  units = device.num_units > 0 ? device.num_units : 100;
  bottom_alone = p.bottom_alone;
  scatter = p.scatter_rate > 0 ? 1 / (p.scatter_rate * 1e9 * units) : 0;
  misaligned_gemm = p.misaligned_gemm;
  misaligned_head = p.misaligned_head;
  element = element_bytes(precision);
  gemm_element = operand_bytes(precision);
  fused_attention = attention == plan::Attention::kFlash;
}

double matrix_seconds(const KernelModel& model, double m, double n, double k, double batch,
                      double rate, double bytes, double byte_rate) {
  const double slowdown = divides(n, 64) && divides(k, 64) ? 1 : model.misaligned_gemm;
  double best = 1e300;
  for (const Tile& tile : kTiles) {
    // Tensor cores work on whole tiles, and all multiprocessors wait for the last wave of them.
    const double whole = std::ceil(m / tile.m) * std::ceil(n / tile.n);
    const double filled = m * n / (tile.m * tile.n);
    const double tiles = (model.edge * whole + (1 - model.edge) * filled) * batch;
    const double tile_rate = std::min(1.0, tile.rate * model.tile_room);
    const double most = std::min(std::floor(model.units / tiles), std::floor(k / kLeastK));
    for (const double parts : {1.0, most}) {
      if (parts < 1) break;
      const double waves = tiles * parts / model.units;
      const double paid = waves + model.tail * (std::ceil(waves) - waves);
      const double compute = paid * model.units * 2 * tile.m * tile.n *
                             (k / (parts * rate) + model.depth_seconds) * slowdown / tile_rate;
      // Partial sums are written and read in 32 bits.
      const double moved = bytes + (parts > 1 ? 8 * parts * batch * m * n : 0);
      best = std::min(best, std::max(compute, moved / byte_rate));
    }
  }
  return best;
}

double gemm_seconds(const KernelModel& model, double m, double n, double k, double batch,
                    double rate) {
  const double bytes = batch * (model.gemm_element * (m * k + k * n) + model.element * m * n);
  return matrix_seconds(model, m, n, k, batch, rate, bytes, model.memory_rate) + model.gap;
}

OperatorCost operator_cost(const Operator& op, const KernelModel& model, const LayerSplit& split) {
  if (op.kind == OpKind::kConvolution && op.groups > 1)
    return grouped_convolution_cost(op, model, split);
  if (op.kind == OpKind::kConvolution) return convolution_cost(op, model, split);
  if (op.image) return image_cost(op, model, split);
  if (op.split == Split::kTables) return table_operator_cost(op, model, split);
  const Piece piece = piece_of(op, split, model.imbalance);
  OperatorCost cost;
  cost.parameters = op.parameters * piece.weight_share;
  const double moved =
      (op.read_elements + op.written_elements) * split.samples * piece.share * model.element;
  cost.bytes = moved;
  double saved_share = piece.share;
  switch (op.kind) {
    case OpKind::kGemm: {
      // Logits and routers stay in 16 bit; blocks run in the plan's precision.
      const bool block = !op.full_width;
      const double rate = (block ? model.gemm_rate : model.head_rate) *
                          (op.split == Split::kExperts ? model.grouped_gemm : 1);
      const double m = piece.rows / piece.batch;
      cost.forward = gemm_seconds(model, m, piece.n, piece.k, piece.batch, rate);
      cost.weight_gradient = gemm_seconds(model, piece.k, piece.n, m, piece.batch, rate);
      cost.backward =
          gemm_seconds(model, m, piece.k, piece.n, piece.batch, rate) + cost.weight_gradient;
      if (block && model.cast) {
        // Quantization reads 16-bit and writes 8-bit values of the input (and of the output
        // gradient, in both layouts).
        const double elements = piece.rows * (piece.k + piece.n);
        const double own = op.gated && op.split == Split::kExperts ? 1 - model.fused_experts : 1;
        cost.forward += own * piece.rows * piece.k * model.cast_bytes / model.memory_rate;
        cost.backward += own * elements * model.cast_bytes / model.memory_rate;
      }
      cost.flops = 2 * piece.rows * piece.n * piece.k;
      cost.bytes =
          (piece.rows * (piece.k + piece.n) + piece.batch * piece.k * piece.n) * model.element;
      // The saved input of a row-split GEMM is itself split. That of a column-split GEMM is whole,
      // unless sequence parallelism keeps only this rank's rows.
      if (op.split == Split::kRow) saved_share = piece.share / split.tp;
      if ((op.split == Split::kColumn || op.split == Split::kVocabulary) && split.sequence_parallel)
        saved_share = piece.share / split.tp;
      if (op.split == Split::kExperts) saved_share = piece.share / split.expert_tp;
      break;
    }
    case OpKind::kAttention: {
      const bool uneven = split.cp > 1 && split.context == plan::ContextKind::kRing && op.causal;
      const double flops =
          op.flops * split.samples * piece.share * (uneven ? 2 - 1.0 / split.cp : 1);
      cost.flops = flops;
      double slow = divides(op.head_dim, 8) ? 1 : model.misaligned_head;
      if (model.fused_attention) {
        const double done = flops * (op.causal ? visible_share(op) : 1);
        cost.skipped = flops - done;
        cost.forward = done * slow / model.attention_rate + model.gap;
        cost.backward =
            2.5 * done * slow / (model.attention_rate * model.attention_backward) + model.gap;
      } else {
        const double heads = static_cast<double>(op.heads) / split.tp * split.samples;
        const double rows = op.rows / split.cp;
        const double qk = gemm_seconds(model, rows, op.keys, op.head_dim, heads, model.head_rate);
        const double pv =
            gemm_seconds(model, rows, op.value_head_dim, op.keys, heads, model.head_rate);
        const double scores =
            heads * rows * op.keys * model.element / model.memory_rate * model.score_passes;
        cost.forward = (qk + pv) * slow + 3 * scores + 3 * model.gap;
        cost.backward = 2 * (qk + pv) * slow + 5 * scores + 4 * model.gap;
      }
      break;
    }
    case OpKind::kScan: {
      cost.flops = op.flops * split.samples * piece.share;
      const double scan = cost.flops / model.scan_rate;
      cost.forward = scan + moved / model.memory_rate + op.kernels * model.gap;
      cost.backward = 2.5 * scan + 2 * moved / model.memory_rate + 2 * op.kernels * model.gap;
      break;
    }
    case OpKind::kLoss:
      cost.forward = moved * 2 * model.loss_passes / model.memory_rate + op.kernels * model.gap;
      cost.backward = 0.5 * moved * 2 * model.loss_passes / model.memory_rate + 2 * model.gap;
      break;
    case OpKind::kEmbedding:
      cost.forward = moved / model.memory_rate + model.gap;
      cost.backward = 2 * moved / model.memory_rate + 2 * model.gap;
      break;
    default: {
      const bool routing = op.kind == OpKind::kRouter || op.split == Split::kExperts;
      const double fused = op.gated && op.split == Split::kExperts ? model.fused_experts : 0;
      const double seconds =
          (1 - fused) * moved * (routing ? model.expert_passes : model.passes) / model.memory_rate;
      cost.forward = seconds + op.kernels * model.gap;
      cost.backward = 1.5 * seconds + op.kernels * model.gap;
      break;
    }
  }
  cost.saved = op.saved_elements * split.samples * saved_share * model.element +
               op.saved_bytes * split.samples * piece.share;
  return cost;
}

double launches_of(const model::LayerKind& layer) {
  // A block of a transformer has 12 launches in forward when nothing is fused.
  constexpr double kOfBlock = 12;
  if (std::any_of(layer.operators.begin(), layer.operators.end(), on_images)) {
    double kernels = 0;
    for (const Operator& op : layer.operators) kernels += op.kernels;
    return kernels / kOfBlock;
  }
  return layer.role == model::LayerRole::kBlock ? layer.mixers / 2.0 : 0.3;
}

LayerCost layer_cost(const model::LayerKind& layer, const KernelModel& model,
                     const LayerSplit& split) {
  if (!layer.operators.empty() && layer.operators.front().split == Split::kTables)
    return table_layer_cost(layer, model, split);
  LayerCost total;
  total.launches = launches_of(layer);
  for (const Operator& op : layer.operators) {
    const OperatorCost cost = operator_cost(op, model, split);
    total.forward += cost.forward;
    total.backward += cost.backward;
    total.weight_gradient += cost.weight_gradient;
    (op.split == Split::kExperts ? total.expert_parameters : total.parameters) += cost.parameters;
    total.num_kernels += op.kernels;
    if (op.gated && op.split == Split::kExperts) total.fused_experts = model.fused_experts;
    if (op.split == Split::kExperts)
      total.local_experts = std::max(total.local_experts, std::max(1.0, op.batch / split.ep));
    total.saved += cost.saved;
    if (op.kind == OpKind::kAttention) {
      total.attention_forward += cost.forward;
      if (!model.fused_attention) {
        // Softmax output and its (possibly dropped-out) copy, kept for backward.
        const double scores = split.samples * op.heads / split.tp * op.rows / split.cp * op.keys;
        total.saved_scores += 2 * scores * model.element;
        total.saved += 2 * scores * model.element;
        // Megatron's fused scale-mask-softmax works on blocks of four score matrices. If batch x
        // heads of a rank is not a multiple of four, it falls back to separate kernels.
        if (!divides(split.samples * op.heads / split.tp, 4)) total.softmax_fallback = 1;
      }
    }
    if (op.kind == OpKind::kLoss) total.logits += cost.saved;
    if (op.split == Split::kColumn && split.sequence_parallel)
      total.gathered +=
          op.saved_elements * split.samples / split.cp * (1 - 1.0 / split.tp) * model.element;
  }
  const double rows_share = split.samples / split.cp;
  const double input_share = split.sequence_parallel ? 1.0 / split.tp : 1.0;
  total.saved_input = layer.input_elements * rows_share * input_share * model.element;
  total.transient = layer.output_elements * rows_share * model.element * 2;
  total.message = layer.output_elements * rows_share * input_share * model.element;
  for (const model::TensorRegion& region : layer.tensor_regions)
    total.tensor_bytes += region.elements * rows_share * model.element;
  total.num_tensor_regions = static_cast<int>(layer.tensor_regions.size());
  for (const model::ExpertRegion& region : layer.expert_regions) {
    total.expert_bytes += region.elements * rows_share * model.element * model.imbalance /
                          (split.tp > 1 ? split.tp : 1);
    total.expert_copies = std::max(total.expert_copies, region.copies);
  }
  return total;
}

}  // namespace nereus::cost
