// The results of a job, collected from its ranks: for tests.
#pragma once

#include <cmath>
#include <map>

#include "worker/execute/executor.hpp"

namespace nereus::worker::testing {

struct Outcome {
  std::vector<double> losses;
  std::vector<double> norms;
  std::map<std::string, at::Tensor> gradients;   // of the first step, whole, by name
  std::map<std::string, at::Tensor> statistics;  // after the last step: [2, c] by norm
  std::map<std::string, std::int64_t> num_batches;
};

// Copies the gradients that this rank keeps into the whole ones. Ranks that keep the same gradient
// write the same values; elements that no rank has written yet are NaN.
inline void add_gradients(Executor& executor, Outcome& outcome) {
  for (const auto& state : executor.states())
    for (std::size_t i = 0; i < state->parameters().size(); ++i) {
      const Parameter& parameter = state->parameters()[i];
      const std::int64_t offset = state->offset(i);
      if (offset < 0) continue;
      const std::int64_t size = slice_elements(parameter, 0, 1);
      at::Tensor& whole = outcome.gradients[parameter.name];
      const at::Tensor own = state->own_gradient().cpu();
      if (!whole.defined()) whole = at::full({size}, NAN, own.options());
      // The positions of this slice's elements in the whole tensor.
      const at::Tensor places = take_slice(at::arange(size).view(parameter.shape), parameter.cut,
                                           state->slice(), state->num_slices())
                                    .reshape({-1});
      const std::int64_t begin = std::max(state->owned().begin, offset);
      const std::int64_t end = std::min(state->owned().end, offset + places.numel());
      if (begin < end)
        whole.index_copy_(0, places.narrow(0, begin - offset, end - begin),
                          own.narrow(0, begin - state->owned().begin, end - begin));
    }
}

inline void add_statistics(Executor& executor, Outcome& outcome) {
  for (const auto& state : executor.states()) {
    if (!state->statistics() || !state->keeps_statistics()) continue;
    outcome.statistics[state->statistics()->of.name] = state->statistics()->running.clone();
    outcome.num_batches[state->statistics()->of.name] = state->statistics()->num_batches;
  }
}

inline int ranks_of(const job::Job& job) {
  int num_ranks = 0;
  for (const plan::LayerRun& run : job.plan.placement.runs)
    for (const plan::Replicas& r : run.replicas)
      for (int team = 0; team < r.count; ++team)
        num_ranks =
            std::max(num_ranks, r.first + team * r.team_stride + (r.tp - 1) * r.tensor_stride + 1);
  for (const plan::LayerRun& run : job.plan.placement.runs)
    for (const plan::StateShare& share : run.state)
      for (const plan::RankRange& ranks : share.ranks)
        num_ranks = std::max(num_ranks, ranks.first + (ranks.count - 1) * ranks.stride +
                                            (share.num_slices - 1) * share.slice_stride + 1);
  return num_ranks;
}

}  // namespace nereus::worker::testing
