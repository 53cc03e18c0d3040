// Which layers a pipeline stage of a regular plan holds, and which ranks it runs on.
//
// A model has leading layers (embeddings), blocks, and trailing layers (head, loss). With v = pp x
// interleave virtual stages and L blocks, every stage gets floor(L / v) blocks. The remaining L mod
// v blocks are added one by one to stages 1, 2, ... v - 2, and then 0. Stage 0 is last in this
// order because it also holds the embedding; the last stage, which holds head and loss, never gets
// one. With L = v - 2 there is one block on every inner stage and none on the outer two (LLaMA-3
// 405B: 126 blocks, 128 stages).
//
// Ranks: tensor fastest, then context, data, pipeline (Megatron-LM's default order):
//   rank = t + tp (c + cp (d + dp p))
// Virtual stage s runs on pipeline rank s mod pp. In ZB-V it runs on s if s < pp, else on 2 pp - 1
// - s. DualPipe keeps each stage twice: on s, and for the opposite stream on pp - 1 - s.
//
//   const LayerSpan span = layer_span(model);
//   const StageSplit last = stage_of(span, pp * interleave, pp * interleave - 1);
//
// stage_of does not allocate and takes constant time: the predictor calls it for every plan.
#pragma once

#include <algorithm>
#include <vector>

#include "model/model.hpp"
#include "plan/degrees.hpp"

namespace nereus::plan {

struct LayerSpan {
  int leading = 0;   // embeddings at the front
  int blocks = 0;    // everything between
  int trailing = 0;  // heads at the end

  int num_layers() const { return leading + blocks + trailing; }
  // The largest number of virtual stages that leaves none of them empty.
  int most_stages() const {
    if (trailing == 0) return blocks;
    return blocks + (leading > 0 ? 2 : 1);
  }
  bool operator==(const LayerSpan&) const = default;
};

LayerSpan layer_span(const model::Model& model);

struct StageSplit {
  int first_layer = 0;
  int num_layers = 0;
  int num_blocks = 0;
  bool operator==(const StageSplit&) const = default;
};

inline StageSplit stage_of(const LayerSpan& span, int num_stages, int stage) {
  const int last = num_stages - 1;
  const int base = span.blocks / num_stages;
  const int rest = span.blocks - base * num_stages;
  const int inner = std::min(rest, std::max(0, num_stages - 2));
  const int outer = rest - inner;  // 0 or 1, for stage 0
  const auto extra_before = [&](int s) {
    return std::clamp(s - 1, 0, inner) + (s > 0 ? outer : 0);
  };
  StageSplit split;
  const int first_block = base * stage + extra_before(stage);
  split.num_blocks = base * (stage + 1) + extra_before(stage + 1) - first_block;
  split.first_layer = stage == 0 ? 0 : span.leading + first_block;
  split.num_layers =
      split.num_blocks + (stage == 0 ? span.leading : 0) + (stage == last ? span.trailing : 0);
  return split;
}

// All virtual stages, in order.
std::vector<StageSplit> stage_layers(const model::Model& model, int pp, int interleave);

inline int rank_of(const Degrees& d, int tensor, int context, int data, int pipeline) {
  return tensor + d.tp * (context + d.cp * (data + d.dp * pipeline));
}

// The pipeline rank that runs a virtual stage.
inline int pipeline_rank_of(const Degrees& d, int stage) {
  if (d.schedule == Schedule::kZbV && stage >= d.pp) return 2 * d.pp - 1 - stage;
  return stage % d.pp;
}

}  // namespace nereus::plan
