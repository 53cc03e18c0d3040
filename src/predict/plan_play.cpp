#include "predict/plan_play.hpp"

#include <algorithm>
#include <limits>

#include "schedule/bounds.hpp"

namespace nereus::cost {

using plan::Degrees;
using plan::Schedule;

bool copies_state(const Degrees& d) { return d.offload.weights > 0 || d.offload.activations > 0; }

namespace {

LayerTime layers_of(const ChunkClass& chunk, const KindRow* kinds, const KindRow* plain) {
  StageWork own;
  for (const KindCount& layers : chunk.layers) {
    if (layers.again > 0) own.add(kinds[layers.kind].time, layers.again);
    if (layers.again < layers.count) own.add(plain[layers.kind].time, layers.count - layers.again);
  }
  return own.sum;
}

// All layers of a class of ranks, each once.
LayerTime once_of(const StageClass& rank, const KindRow* plain) {
  StageWork once;
  for (const KindCount& layers : rank.layers) once.add(plain[layers.kind].time, layers.count);
  return once.sum;
}

// Fills in what the virtual stages of the plan take.
void fill_stages(PlanPasses& passes, const KindRow* plain, const Degrees& d, Tables& tables) {
  const PlanPassesKey& key = passes.key;
  const StageTable& stages = *key.stages;
  const bool split = splits_backward(key.schedule);
  const bool varuna = key.schedule == Schedule::kVaruna;
  int kind = -1;
  double seconds = 0;
  const auto send = [&](int sender) {
    if (sender >= 0 && sender != kind) {
      kind = sender;
      seconds = boundary_seconds(tables, key.kinds, d, sender);
    }
    return sender >= 0 ? seconds : 0;
  };
  passes.longest_send = 0;
  for (std::size_t c = 0; c < stages.chunks.size(); ++c) {
    const ChunkClass& chunk = stages.chunks[c];
    const auto rank = static_cast<std::size_t>(chunk.rank_class);
    const LayerTime own = layers_of(chunk, key.kinds, plain);
    tables.chunk_parameters[c] = own.parameters + own.expert_parameters;
    tables.chunk_passes[c] =
        varuna ? varuna_passes(tables.layers[rank], once_of(stages.classes[rank], plain),
                               tables.machine())
               : passes_alone(own, chunk.work, stages.work[rank], tables.layers[rank], split,
                              tables.machine());
    tables.chunk_sends[c] = {send(chunk.sender), send(chunk.before)};
    passes.longest_send = std::max(passes.longest_send, tables.chunk_sends[c].forward);
  }
  for (std::size_t s = 0; s < stages.chunk_of_stage.size(); ++s) {
    const auto chunk = static_cast<std::size_t>(stages.chunk_of_stage[s]);
    const ChunkSends& own = tables.chunk_sends[chunk];
    tables.stage_seconds[s] =
        varuna ? varuna_seconds(tables.chunk_passes[chunk], own.forward, own.back)
               : stage_seconds(tables.chunk_passes[chunk], own.forward, own.back, passes.overlap,
                               static_cast<int>(s), passes.size.depth);
  }
  tables.filled = key;
}

// Whether its virtual stages are alike, of which fill_stages() knows.
bool are_alike(const PlanPasses& passes, const Tables& tables) {
  if (passes.split || passes.key.schedule == Schedule::kVaruna) return false;
  const std::vector<ChunkClass>& chunks = passes.key.stages->chunks;
  for (std::size_t c = 1; c < chunks.size(); ++c)
    if (!take_the_same(tables.chunk_passes[c], tables.chunk_passes[0]) ||
        !take_the_same(tables.chunk_parameters[c], tables.chunk_parameters[0]) ||
        (chunks[c].sender >= 0 &&
         !take_the_same(tables.chunk_sends[c].forward, passes.longest_send)))
      return false;
  return take_the_same(tables.chunk_sends[0].forward, passes.longest_send);
}

schedule::PipelineSeconds seconds_of(const PlanPasses& passes, const Tables& tables) {
  return {{tables.stage_seconds.data(), passes.key.stages->chunk_of_stage.size()},
          end_seconds(passes.key.schedule, passes.longest_send, passes.overlap)};
}

// The shares that virtual stages have of their ranks' gradients.
void fill_shares(const PlanPasses& passes, const Tables& tables, std::span<double> share) {
  const StageTable& stages = *passes.key.stages;
  const auto of = [&](std::size_t stage) {
    return tables.chunk_parameters[stages.chunk_of_stage[stage]];
  };
  const auto depth = static_cast<std::size_t>(passes.size.depth);
  std::fill(share.begin(), share.end(), 0);
  for (std::size_t rank = 0; rank < depth; ++rank) {
    double all = 0;
    for (std::size_t s = rank; s < share.size(); s += depth) all += of(s);
    for (std::size_t s = rank; s < share.size() && all > 0; s += depth) share[s] = of(s) / all;
  }
}

// The rows of a play's room.
enum Row { kEnd, kLastBack, kBusyAfter, kShare };

void keep_play(PlanPasses& passes, Tables& tables) {
  const schedule::PipelineClose& close = tables.close;
  const auto row = [&](Row which) { return tables.passes.row(passes, which).begin(); };
  std::copy(close.end.begin(), close.end.end(), row(kEnd));
  std::copy(close.last_back.begin(), close.last_back.end(), row(kLastBack));
  std::copy(close.busy_after.begin(), close.busy_after.end(), row(kBusyAfter));
  const std::size_t num_stages = passes.key.stages->chunk_of_stage.size();
  fill_shares(passes, tables, tables.passes.row(passes, kShare).first(num_stages));
  passes.played = true;
}

PlayedEnds ends_of(const PlanPasses& passes, Tables& tables) {
  const std::size_t num_stages = passes.key.stages->chunk_of_stage.size();
  const auto row = [&](Row which) { return tables.passes.row(passes, which).first(num_stages); };
  return {row(kEnd), row(kLastBack), row(kBusyAfter), row(kShare)};
}

// Seconds of a class of ranks for one micro-batch.
double without_copies(std::size_t index, const Degrees& d, const Tables& tables) {
  const LayerTime& layers = tables.layers[index];
  return copies_state(d) ? smooth_max(layers.device(), layers.host, tables.machine())
                         : tables.times[index].total;
}

// How many passes a rank runs after its last chunk's last one: those of a round's micro-batches, or
// of all, for every other chunk.
double later_passes(const PlanPasses& passes) {
  const bool looped = passes.key.schedule == Schedule::kLoopedBfs;
  return (passes.size.chunks - 1.0) * (looped ? passes.size.micro_batches : passes.size.depth);
}

// The minimum time that a reduction can overlap with.
void fill_window(PlanPasses& out, Tables& tables) {
  const StageTable& stages = *out.key.stages;
  double shortest = std::numeric_limits<double>::infinity();
  std::vector<double>& all = tables.reduces;  // by class of ranks; not used yet
  std::fill(all.begin(), all.end(), 0);
  for (std::size_t c = 0; c < stages.chunks.size(); ++c) {
    const ChunkClass& chunk = stages.chunks[c];
    const auto rank = static_cast<std::size_t>(chunk.rank_class);
    all[rank] +=
        tables.chunk_parameters[c] * chunk.multiplicity / stages.classes[rank].multiplicity;
    shortest = std::min(shortest, tables.chunk_passes[c].input);
  }
  const auto share = [&](std::size_t c) {
    const double of_rank = all[stages.chunks[c].rank_class];
    return of_rank > 0 ? tables.chunk_parameters[c] / of_rank : 0;
  };
  const auto first = static_cast<std::size_t>(stages.chunk_of_stage.front());
  out.last_pass = tables.chunk_passes[first].input;
  out.first_share = share(first);
  out.least_share = 1;
  for (std::size_t c = 0; c < stages.chunks.size(); ++c)
    out.least_share = std::min(out.least_share, share(c));
  out.least_after = (1 + later_passes(out)) * shortest;
  const auto step = static_cast<std::size_t>(out.size.depth);
  const auto input = [&](std::size_t stage) {
    return tables.chunk_passes[stages.chunk_of_stage[stage]].input;
  };
  const std::size_t last = step * static_cast<std::size_t>(out.size.chunks - 1);
  out.first_after = 0;
  for (std::size_t stage = 0; stage < last; stage += step) out.first_after += input(stage);
  if (last > 0) out.first_after *= later_passes(out) / (out.size.chunks - 1);
  out.first_after += input(last);
}

// Bounds of the play.
void fill_bounds(PlanPasses& out, const PlanShape& shape, const Degrees& d, Tables& tables) {
  if (!out.split) {
    const schedule::PlayBounds bounds = schedule::bound_play(
        out.key.schedule, out.size, seconds_of(out, tables), tables.bounds_room);
    out.least = bounds.least;
    out.least_first = bounds.least_first;
    out.most = bounds.most;
    fill_window(out, tables);
    return;
  }
  out.least = 0;
  out.most = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < out.key.stages->classes.size(); ++i) {
    const double own = shape.num_micro_batches * without_copies(i, d, tables);
    if (i == 0) out.least_first = own;
    out.least = std::max(out.least, own);
  }
}

// After a simulation, both bounds are its result.
void close_bounds(PlanPasses& passes, const schedule::PipelineClose& close) {
  passes.least = passes.most = close.longest();
  if (passes.split) {
    passes.least_first = close.end.front();
    return;
  }
  const auto last = static_cast<std::size_t>(passes.size.depth * (passes.size.chunks - 1));
  passes.least_first = close.last_back[last] + close.busy_after[last];
}

}  // namespace

PlanPasses& plan_passes(Tables& tables, const KindRow* kinds, const KindRow* plain,
                        const StageTable& stages, const PlanShape& shape, const Degrees& d) {
  const int num_micro_batches = tables.num_micro_batches(d);
  const PlanPassesKey key{kinds, &stages, d.schedule, num_micro_batches,
                          d.num_ranks() <= tables.machine().fabric.domain};
  PlanPasses& out = tables.passes.at(key);
  if (out.key == key) return out;
  out.start(key);
  out.size = {d.pp, d.interleave, num_micro_batches};
  out.overlap = tables.machine().parameters.pipeline_overlap;
  out.near = near_of(d.schedule);
  if (stages.chunks.empty() || !can_play(d.schedule, out.size)) return out;
  out.known = true;
  out.split = splits_backward(d.schedule);
  fill_stages(out, plain, d, tables);
  out.alike = are_alike(out, tables);
  fill_bounds(out, shape, d, tables);
  return out;
}

bool is_near(const ClosedForm& formula, const PlanPasses& passes, const StepReduction& reduction,
             bool copies) {
  if (!passes.known || (passes.alike && formula.seconds >= formula.after)) return true;
  return (copies || formula.seconds <= passes.low(reduction) * (1 + passes.near)) &&
         formula.seconds >= passes.high(reduction) / (1 + passes.near);
}

double near_floor(double formula, const PlanPasses& passes, const StepReduction& reduction,
                  bool copies) {
  if (copies || !passes.known) return formula;
  return std::min(formula, passes.low(reduction) * (1 + passes.near) * (1 - kPlayRounding));
}

double play(PlanPasses& passes, const KindRow* plain, const Degrees& d, double overlap,
            Tables& tables) {
  const StageTable& stages = *passes.key.stages;
  if (!passes.played) {
    if (tables.filled != passes.key) fill_stages(passes, plain, d, tables);
    tables.clock.play(passes.key.schedule, passes.size, seconds_of(passes, tables), passes.split,
                      tables.close);
    close_bounds(passes, tables.close);
    keep_play(passes, tables);
  }
  const bool dual = stages.key.order == StageOrder::kDual;
  const auto of_rank = [&](int rank) {
    const int own = dual ? std::min(rank, passes.size.depth - 1 - rank) : rank;
    return tables.reduces[stages.class_of_rank[own]];
  };
  return reduced_end(ends_of(passes, tables), passes.size, of_rank, passes.split ? 0 : overlap);
}

double least_play(const Tables& tables, const KindRow* kinds, const StageTable& stages,
                  const PlanShape& shape, const Degrees& d) {
  const bool split = splits_backward(d.schedule);
  const bool varuna = d.schedule == Schedule::kVaruna;        // its messages block no rank
  double shortest = std::numeric_limits<double>::infinity();  // of a virtual stage, both ways
  double send = shortest;
  if (!split) {
    for (const ChunkClass& chunk : stages.chunks)
      shortest = std::min(shortest, layers_of(chunk, kinds, kinds).device());
    for (const KindCount& boundary : stages.boundaries)
      send = std::min(send, boundary_seconds(tables, kinds, d, boundary.kind));
    const bool empty = std::any_of(stages.chunks.begin(), stages.chunks.end(),
                                   [](const ChunkClass& chunk) { return chunk.layers.empty(); });
    send = empty ? 0 : send * (1 - tables.machine().parameters.pipeline_overlap);
  }
  const double m = shape.num_micro_batches;
  double least = 0;
  for (std::size_t i = 0; i < stages.classes.size(); ++i) {
    double own = m * tables.times[i].total;
    if (!split) own += stages.classes[i].last * (shortest + 2 * send);
    if (!split && !varuna) own += (2 * d.interleave * m - 1) * send;
    least = std::max(least, own);
  }
  return least;
}

}  // namespace nereus::cost
