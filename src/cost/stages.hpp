// Pipeline stages as classes of equal stages, and the time of one micro-batch in each.
//
// Even rule (Megatron): blocks are spread evenly over the pp x interleave virtual stages, embedding
// on the first, head on the last. Balanced rule (nanotron): layers are cut where the running cost
// of blocks and head passes rank/pp of the total.
#pragma once

#include <vector>

#include "model/model.hpp"
#include "plan/degrees.hpp"

namespace nereus::cost {

enum class StageRule;

// Stages with the same layers. `first` is the earliest of them: it holds the most activations under
// 1F1B.
struct StageClass {
  std::vector<int> counts;  // layers of each kind
  int multiplicity = 1;
  int first = 0;
  bool holds_first_layer = false;
  bool holds_last_layer = false;
  int num_blocks = 0;
};

struct StageTable {
  int pp = 1;
  int interleave = 1;
  std::vector<StageClass> classes;
};

StageTable make_stage_table(const model::Model& model, int pp, int interleave, StageRule rule);
// First layer of each virtual stage, and the number of layers at the end.
std::vector<int> stage_starts(const model::Model& model, int num_stages, StageRule rule);

}  // namespace nereus::cost
