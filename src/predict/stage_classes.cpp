#include "predict/stage_classes.hpp"

#include <algorithm>

#include "cost/row_table.hpp"
#include "plan/stages.hpp"
#include "stack/stack.hpp"

namespace nereus::cost {

namespace {

std::vector<int> even_starts(const model::Model& model, int num_stages) {
  const plan::LayerSpan span = plan::layer_span(model);
  std::vector<int> starts;
  for (int i = 0; i < num_stages; ++i)
    starts.push_back(plan::stage_of(span, num_stages, i).first_layer);
  starts.push_back(model.num_layers());
  return starts;
}

std::vector<int> balanced_starts(const model::Model& model, int num_stages) {
  const int layers = model.num_layers();
  std::vector<double> cumulative(static_cast<size_t>(layers));
  double total = 0;
  for (int i = 0; i < layers; ++i) {
    const model::LayerKind& layer = model.layer(i);
    if (layer.role != model::LayerRole::kEmbedding)
      for (const model::Operator& op : layer.operators)
        if (op.kind == model::OpKind::kGemm) total += op.n * op.k;
    cumulative[static_cast<size_t>(i)] = total;
  }
  std::vector<int> starts(static_cast<size_t>(num_stages) + 1, layers);
  starts[0] = 0;
  int stage = 0;
  for (int i = 0; i < layers; ++i) {
    if (stage + 1 < num_stages &&
        cumulative[static_cast<size_t>(i)] > total * (stage + 1) / num_stages)
      starts[static_cast<size_t>(++stage)] = i;
  }
  return starts;
}

// Blocks that the head counts for: one, and one for every further token that it predicts.
int head_units(const model::Model& model) {
  int losses = 0;
  for (const model::Operator& op : model.layer(model.num_layers() - 1).operators)
    losses += op.kind == model::OpKind::kLoss ? 1 : 0;
  return losses;
}

std::vector<int> ends_starts(const model::Model& model, int num_stages) {
  const int layers = model.num_layers();
  const int blocks = layers - 2;
  if (!model.transformer || blocks < num_stages) return even_starts(model, num_stages);
  // The ends count as blocks if the total is then divisible; else the head counts, unless the
  // blocks divide without it.
  int first = 1;
  int last = head_units(model);
  if ((first + blocks + last) % num_stages != 0) first = 0;
  if ((first + blocks + last) % num_stages != 0 && blocks % num_stages == 0) last = 0;
  const int units = first + blocks + last;
  std::vector<int> starts(static_cast<std::size_t>(num_stages) + 1, layers);
  int begin = 0;  // in units
  for (int i = 0; i < num_stages; ++i) {
    // The first block of the stage; no stage is left without a layer.
    const int layer =
        i == 0 ? 0 : std::max(begin - first + 1, starts[static_cast<std::size_t>(i) - 1] + 1);
    starts[i] = std::min(layer, layers - (num_stages - i));
    begin += units / num_stages + (i < units % num_stages ? 1 : 0);
  }
  return starts;
}

}  // namespace

std::vector<int> stage_starts(const model::Model& model, int num_stages, StageRule rule) {
  switch (rule) {
    case StageRule::kBalanced:
      return balanced_starts(model, num_stages);
    case StageRule::kEnds:
      return ends_starts(model, num_stages);
    default:
      return even_starts(model, num_stages);
  }
}

StageOrder stage_order(plan::Schedule schedule) {
  if (schedule == plan::Schedule::kZbV) return StageOrder::kV;
  return schedule == plan::Schedule::kDualPipe ? StageOrder::kDual : StageOrder::kLooped;
}

std::uint64_t StageKey::hash() const {
  const auto word = [](int value) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(value));
  };
  return mix(mix(0, word(pp) << 32 | word(interleave)), word(recompute_blocks) << 3 |
                                                            (plain_last ? 4U : 0U) |
                                                            static_cast<std::uint64_t>(order));
}

StageKey stage_key(const plan::Degrees& d) {
  const bool some = d.recompute == plan::Recompute::kFull;
  return {d.pp, d.interleave, d.pp > 1 ? stage_order(d.schedule) : StageOrder::kLooped,
          some ? d.recompute_blocks : 0, some && d.pp > 1 && d.schedule == plan::Schedule::kVaruna};
}

namespace {

// The virtual stages of pipeline rank `rank`.
std::vector<int> stages_on(const StageKey& key, int rank) {
  // Plans that cannot be built may have another number of chunks; they are priced as looped ones.
  if (key.order == StageOrder::kV && key.interleave == 2) return {rank, 2 * key.pp - 1 - rank};
  if (key.order == StageOrder::kDual) return {rank, key.pp - 1 - rank};
  std::vector<int> stages;
  for (int chunk = 0; chunk < key.interleave; ++chunk) stages.push_back(chunk * key.pp + rank);
  return stages;
}

// Counts the layers [begin, end) of one virtual stage, and those that are recomputed.
void count_layers(const model::Model& model, int begin, int end, int recompute_blocks,
                  std::vector<KindCount>& counts) {
  int blocks = 0;
  for (int i = begin; i < end; ++i) {
    KindCount& layers = counts[model.layers[i]];
    ++layers.count;
    const bool block = model.layer(i).role == model::LayerRole::kBlock;
    if (!block || recompute_blocks == 0 || blocks++ < recompute_blocks) ++layers.again;
  }
}

std::vector<KindCount> only_present(const std::vector<KindCount>& counts) {
  std::vector<KindCount> present;
  for (const KindCount& layers : counts)
    if (layers.count > 0) present.push_back(layers);
  return present;
}

std::vector<KindCount> no_layers(const model::Model& model) {
  std::vector<KindCount> counts(model.kinds.size());
  for (std::size_t kind = 0; kind < counts.size(); ++kind)
    counts[kind].kind = static_cast<int>(kind);
  return counts;
}

// Messages of a pipeline rank (of both of a pair in DualPipe) for each micro-batch.
SendCount sends_of(const StageKey& key, int rank) {
  const int num_stages = key.pp * key.interleave;
  SendCount sends;
  const auto crosses = [&](int a, int b) {
    if (a < 0 || b < 0 || a >= num_stages || b >= num_stages) return false;
    return key.order == StageOrder::kDual || rank_of_stage(key, a) != rank_of_stage(key, b);
  };
  for (const int own : stages_on(key, rank)) {
    sends.forward += crosses(own, own + 1) ? 1 : 0;
    sends.back += crosses(own, own - 1) ? 1 : 0;
  }
  // The ends of a looped pipeline are blocked as often as the ranks between them.
  if (key.order == StageOrder::kLooped && key.pp > 1) sends.forward = sends.back = key.interleave;
  sends.both = sends.forward + sends.back;
  return sends;
}

}  // namespace

int rank_of_stage(const StageKey& key, int stage) {
  if (key.order == StageOrder::kV && stage >= key.pp) return 2 * key.pp - 1 - stage;
  if (key.order == StageOrder::kDual) return std::min(stage, key.pp - 1 - stage);
  return stage % key.pp;
}

void ChunkWork::add(const model::LayerKind& layer, bool recomputed) {
  const double flops = 1 + layer.forward_flops();  // every layer has something to launch
  forward += flops;
  if (recomputed && layer.role == model::LayerRole::kBlock) again += flops;
}

namespace {

void add_chunks(StageTable& table, const model::Model& model, const std::vector<int>& starts) {
  const StageKey& key = table.key;
  const bool buildable = key.order == StageOrder::kV      ? key.interleave == 2
                         : key.order == StageOrder::kDual ? key.interleave == 1 && key.pp % 2 == 0
                                                          : true;
  if (!buildable) return;
  table.work.resize(table.classes.size());
  const auto sender = [&](std::size_t v) {  // kind of the layer before the boundary
    return v > 0 && v + 1 < starts.size() && starts[v] > 0 ? model.layers[starts[v] - 1] : -1;
  };
  for (std::size_t v = 0; v + 1 < starts.size(); ++v) {
    ChunkClass chunk;
    std::vector<KindCount> counts = no_layers(model);
    count_layers(model, starts[v], starts[v + 1], key.recompute_blocks, counts);
    chunk.layers = only_present(counts);
    int blocks = 0;
    for (int i = starts[v]; i < starts[v + 1]; ++i) {
      const bool block = model.layer(i).role == model::LayerRole::kBlock;
      const int some = key.recompute_blocks;
      chunk.work.add(model.layer(i), some == 0 || (block && blocks++ < some));
    }
    chunk.rank_class = table.class_of_rank[rank_of_stage(key, static_cast<int>(v))];
    // Ranks of a class have the same layers; the first one represents all.
    const int rank = rank_of_stage(key, static_cast<int>(v));
    if (table.classes[chunk.rank_class].first == rank) {
      ChunkWork& all = table.work[chunk.rank_class];
      all.forward += chunk.work.forward;
      all.again += chunk.work.again;
    }
    chunk.sender = sender(v + 1);
    chunk.before = sender(v);
    const auto same =
        std::find_if(table.chunks.begin(), table.chunks.end(), [&](const ChunkClass& other) {
          return other.layers == chunk.layers && other.rank_class == chunk.rank_class &&
                 other.sender == chunk.sender && other.before == chunk.before;
        });
    table.chunk_of_stage.push_back(static_cast<int>(same - table.chunks.begin()));
    if (same == table.chunks.end())
      table.chunks.push_back(chunk);
    else
      ++same->multiplicity;
  }
}

}  // namespace

StageTable make_stage_table(const model::Model& model, const StageKey& key, StageRule rule) {
  const int num_stages = key.pp * key.interleave;
  const std::vector<int> starts = stage_starts(model, num_stages, rule);
  StageTable table{key, {}, {}, {}, {}, {}, {}};
  const int num_ranks = key.order == StageOrder::kDual ? key.pp / 2 : key.pp;
  for (int rank = 0; rank < num_ranks; ++rank) {
    StageClass stage;
    stage.first = stage.last = rank;
    std::vector<KindCount> counts = no_layers(model);
    for (const int own : stages_on(key, rank)) {
      const auto v = static_cast<std::size_t>(own);
      count_layers(model, starts[v], starts[v + 1], key.recompute_blocks, counts);
      if (starts[v] == starts[v + 1]) continue;
      stage.holds_first_layer |= starts[v] == 0;
      stage.holds_last_layer |= starts[v + 1] == model.num_layers();
    }
    if (key.plain_last && rank + 1 == num_ranks)
      for (KindCount& layers : counts) layers.again = 0;
    stage.layers = only_present(counts);
    stage.sends = sends_of(key, rank);
    const auto same =
        std::find_if(table.classes.begin(), table.classes.end(), [&](const StageClass& other) {
          return other.layers == stage.layers &&
                 other.holds_first_layer == stage.holds_first_layer &&
                 other.holds_last_layer == stage.holds_last_layer;
        });
    table.class_of_rank.push_back(static_cast<int>(same - table.classes.begin()));
    if (same == table.classes.end()) {
      table.classes.push_back(stage);
      continue;
    }
    ++same->multiplicity;
    same->last = rank;
    same->sends.forward = std::max(same->sends.forward, stage.sends.forward);
    same->sends.back = std::max(same->sends.back, stage.sends.back);
    same->sends.both = std::max(same->sends.both, stage.sends.both);
  }
  std::vector<KindCount> boundaries = no_layers(model);
  for (std::size_t v = 1; v < static_cast<std::size_t>(num_stages); ++v)
    if (starts[v] > 0) {
      const auto last = static_cast<std::size_t>(starts[v] - 1);
      ++boundaries[model.layers[last]].count;
    }
  table.boundaries = only_present(boundaries);
  add_chunks(table, model, starts);
  return table;
}

}  // namespace nereus::cost
