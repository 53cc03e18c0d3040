// A second implementation of the rules in plan/check.hpp for the tests: it writes out every rank,
// sample and unit boundary. Slow and simple; for small plans only.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "plan/placement.hpp"

namespace nereus::plan::testing {

class Oracle {
 public:
  Oracle(const Placement& placement, const model::Model& model, int num_ranks)
      : p_(placement), model_(model), num_ranks_(num_ranks) {}

  bool sound() {
    int layer = 0;
    int stage = -1;
    for (const LayerRun& run : p_.runs) {
      if (run.first_layer != layer || run.num_layers < 1) return false;
      if (run.stage != stage && run.stage != stage + 1) return false;
      layer += run.num_layers;
      stage = run.stage;
    }
    if (layer != model_.num_layers()) return false;
    for (const LayerRun& run : p_.runs)
      if (!work_sound(run) || !state_sound(run)) return false;
    return order_sound() && stages_sound() && tied_sound();
  }

 private:
  struct Work {
    std::vector<int> ranks;
    std::map<std::int64_t, int> micro_batch_of;
  };

  bool work_sound(const LayerRun& run) {
    if (run.replicas.empty() || run.ep < 1 || run.expert_tp < 1) return false;
    const model::TransformerShape& shape = *model_.transformer;
    if (run.ep > 1 && (shape.experts == 0 || shape.experts % run.ep != 0)) return false;
    if (run.expert_tp > 1 && (shape.experts == 0 || shape.expert_ffn % run.expert_tp != 0))
      return false;
    Work work;
    for (const Replicas& r : run.replicas) {
      if (std::min({r.count, r.tp, r.cp, r.micro_batch, r.num_micro_batches}) < 1) return false;
      if (r.last_micro_batch < 0 || r.last_micro_batch > r.micro_batch) return false;
      if (r.recompute_layers < -1 || r.recompute_layers > run.num_layers) return false;
      if (!(r.offload_activations >= 0 && r.offload_activations <= 1)) return false;
      if (1LL * r.count * r.tp * r.cp > num_ranks_) return false;
      if (!splits_sound(run, r)) return false;
      for (std::int64_t i = 0; i < r.count; ++i)
        for (std::int64_t c = 0; c < r.cp; ++c)
          for (std::int64_t t = 0; t < r.tp; ++t) {
            const std::int64_t rank =
                r.first + i * r.team_stride + c * r.context_stride + t * r.tensor_stride;
            if (rank < 0 || rank >= num_ranks_) return false;
            work.ranks.push_back(static_cast<int>(rank));
          }
      if (1LL * r.num_micro_batches * r.count > p_.global_batch) return false;
      for (std::int64_t i = 0; i < r.count; ++i)
        for (int m = 0; m < r.num_micro_batches; ++m) {
          const bool short_one = m + 1 == r.num_micro_batches && r.last_micro_batch > 0;
          for (int j = 0; j < (short_one ? r.last_micro_batch : r.micro_batch); ++j) {
            const std::int64_t sample =
                r.first_sample + i * r.team_step() + m * r.micro_batch_step() + j;
            if (sample < 0 || sample >= p_.global_batch) return false;
            if (!work.micro_batch_of.emplace(sample, m).second) return false;
          }
        }
    }
    if (std::set<int>(work.ranks.begin(), work.ranks.end()).size() != work.ranks.size())
      return false;
    if (static_cast<std::int64_t>(work.micro_batch_of.size()) != p_.global_batch) return false;
    works_.push_back(std::move(work));
    return true;
  }

  bool splits_sound(const LayerRun& run, const Replicas& r) const {
    const model::TransformerShape& shape = *model_.transformer;
    const int chunks = p_.context == ContextKind::kZigzag ? 2 * r.cp : r.cp;
    if (r.cp > 1 && shape.seq % chunks != 0) return false;
    if (p_.sequence_parallel && r.tp > 1 && shape.seq % (r.tp * r.cp) != 0) return false;
    bool block = false;
    for (int i = run.first_layer; i < run.first_layer + run.num_layers; ++i)
      block |= model_.layer(i).role == model::LayerRole::kBlock;
    if (!block) return true;
    if (shape.kv_heads % r.tp != 0 && r.tp % shape.kv_heads != 0) return false;
    const bool dense = model::has_dense_mlp(shape);
    if (model::has_scans(shape) && shape.ssm_heads % r.tp != 0) return false;
    return shape.heads % r.tp == 0 && (!dense || shape.ffn % r.tp == 0);
  }

  bool state_sound(const LayerRun& run) {
    bool has_dense = false, has_experts = false;
    for (int i = run.first_layer; i < run.first_layer + run.num_layers; ++i) {
      const model::LayerKind& kind = model_.layer(i);
      has_dense |= kind.parameters() > kind.expert_parameters();
      has_experts |= kind.expert_parameters() > 0;
    }
    std::set<int> tps;
    for (const Replicas& r : run.replicas) tps.insert(r.tp);

    // Maps rank, kind, experts, cut and slice to the parts held there; then the same over all
    // ranks.
    using Part = std::pair<std::int64_t, std::int64_t>;
    std::map<std::tuple<int, int, bool, int, int>, std::vector<Part>> held;
    std::map<std::tuple<int, bool, int>, std::map<int, std::vector<Part>>> covered;
    for (const StateShare& s : run.state) {
      if (s.cut < 1 || s.first_slice < 0 || s.num_slices < 1) return false;
      if (1LL * s.first_slice + s.num_slices > s.cut) return false;
      if (s.begin < 0 || s.begin > s.end || s.end > kStateUnits || s.pieces < 1) return false;
      if (!s.experts && s.cut != 1 && !tps.contains(s.cut)) return false;
      if (s.experts) {
        const int groups = s.cut / run.expert_tp;
        if (!has_experts || s.cut % (run.ep * run.expert_tp) != 0) return false;
        if (model_.transformer->experts % groups != 0) return false;
      }
      std::vector<std::int64_t> ranks;
      for (const RankRange& range : s.ranks) {
        if (range.count < 1 || range.stride < 1 || range.count > num_ranks_) return false;
        for (int i = 0; i < range.count; ++i)
          ranks.push_back(range.first + std::int64_t{i} * range.stride);
      }
      if (ranks.empty() || ranks.size() % static_cast<std::size_t>(s.pieces) != 0) return false;
      covered[{static_cast<int>(s.kind), s.experts, s.cut}];
      for (int slice = 0; slice < s.num_slices; ++slice)
        for (std::size_t j = 0; j < ranks.size(); ++j) {
          const std::int64_t rank = ranks[j] + std::int64_t{slice} * s.slice_stride;
          if (rank < 0 || rank >= num_ranks_) return false;
          const auto piece = static_cast<std::int64_t>(j) % s.pieces;
          const auto at = [&](std::int64_t k) {
            return s.begin +
                   static_cast<std::int64_t>(static_cast<unsigned __int128>(s.end - s.begin) *
                                             static_cast<unsigned __int128>(k) /
                                             static_cast<unsigned __int128>(s.pieces));
          };
          const Part part{at(piece), at(piece + 1)};
          if (part.first == part.second) continue;
          auto& here = held[{static_cast<int>(rank), static_cast<int>(s.kind), s.experts, s.cut,
                             s.first_slice + slice}];
          for (const Part& other : here)
            if (other.first < part.second && part.first < other.second) return false;
          here.push_back(part);
          if (!s.peer_copy)
            covered[{static_cast<int>(s.kind), s.experts, s.cut}][s.first_slice + slice].push_back(
                part);
        }
    }
    for (auto& [key, slices] : covered)
      for (int slice = 0; slice < std::get<2>(key); ++slice) {
        std::vector<Part>& parts = slices[slice];
        std::sort(parts.begin(), parts.end());
        std::int64_t reached = 0;
        for (const Part& part : parts)
          if (part.first <= reached) reached = std::max(reached, part.second);
        if (reached != kStateUnits) return false;
      }
    for (bool experts : {false, true})
      for (int kind = 0; kind < 3; ++kind) {
        if (!(experts ? has_experts : has_dense)) continue;
        std::set<int> cuts;
        for (const auto& [key, slices] : covered)
          if (std::get<0>(key) == kind && std::get<1>(key) == experts)
            cuts.insert(std::get<2>(key));
        if (cuts.empty()) return false;
        if (kind == 0 && !experts &&
            !std::includes(cuts.begin(), cuts.end(), tps.begin(), tps.end()))
          return false;
      }
    return true;
  }

  // Two samples must not be swapped: one that comes earlier in the run before must not come
  // strictly later in this one.
  bool order_sound() const {
    for (std::size_t i = 1; i < works_.size(); ++i)
      for (const auto& [a, before_a] : works_[i - 1].micro_batch_of)
        for (const auto& [b, before_b] : works_[i - 1].micro_batch_of)
          if (before_a < before_b &&
              works_[i].micro_batch_of.at(a) > works_[i].micro_batch_of.at(b))
            return false;
    return true;
  }

  bool stages_sound() const {
    std::map<int, std::set<int>> stages_of;
    bool tensor = false;
    for (std::size_t i = 0; i < p_.runs.size(); ++i) {
      for (int rank : works_[i].ranks) stages_of[rank].insert(p_.runs[i].stage);
      for (const Replicas& r : p_.runs[i].replicas) tensor |= r.tp > 1;
    }
    if (p_.sequence_parallel && !tensor) return false;
    std::size_t most = 0;
    for (const auto& [rank, stages] : stages_of) most = std::max(most, stages.size());
    if (p_.schedule == Schedule::kInterleaved && most > 1) {
      const int depth = (p_.runs.back().stage + 1) / static_cast<int>(most);
      for (const LayerRun& run : p_.runs)
        for (const Replicas& r : run.replicas)
          if (depth > 1 && r.num_micro_batches % depth != 0) return false;
    }
    if (p_.schedule == Schedule::kInterleaved || p_.schedule == Schedule::kLoopedBfs) return true;
    const bool two = p_.schedule == Schedule::kZbV || p_.schedule == Schedule::kDualPipe;
    return most <= (two ? 2u : 1u);
  }

  bool tied_sound() const {
    for (const model::TiedWeights& tied : model_.tied) {
      std::set<int> first, second;
      for (const LayerRun& run : p_.runs)
        for (const Replicas& r : run.replicas) {
          const int end = run.first_layer + run.num_layers;
          if (tied.first >= run.first_layer && tied.first < end) first.insert(r.tp);
          if (tied.second >= run.first_layer && tied.second < end) second.insert(r.tp);
        }
      if (first != second) return false;
    }
    return true;
  }

  const Placement& p_;
  const model::Model& model_;
  const int num_ranks_;
  std::vector<Work> works_;
};

}  // namespace nereus::plan::testing
