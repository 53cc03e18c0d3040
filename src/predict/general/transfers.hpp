// What one lane hands from stage to stage.
//
// Every boundary has its own message and its own wire; between the same two kinds of machine all
// cost what the worst of them does: across domains where any of them is. The busiest boundary sets
// the steady state, all of them together fill and drain (cost/pipeline_time.hpp).
//
//   Transfers transfers(context);
//   transfers_seconds(transfers.of(lane, memory_share), shape, parameters);
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "predict/general/context.hpp"

namespace nereus::cost::general {

class Transfers {
 public:
  explicit Transfers(Context& context);
  // Where lanes do not run through the plan, those with the largest micro-batches stand for all.
  TransferLoad of(std::size_t lane, double memory_share);
  // Messages of a physical stage for each micro-batch.
  SendCount sends_of(int stage) const;
  // One way of one micro-batch over the boundary behind a run.
  double seconds_of(int run, std::size_t lane);

 private:
  const PhysicalStage& stage_of(int run) const;
  std::pair<int, int> kinds_of(int run) const;  // of machine, on both sides of the boundary
  const Lane& lane_of(int run, std::size_t lane) const;
  const plan::Replicas& replicas_of(int run, std::size_t lane) const;

  Context& context_;
  std::vector<int> boundaries_;  // runs whose output leaves their stage
  std::map<std::pair<int, int>, bool> crosses_;
};

}  // namespace nereus::cost::general
