// The messages of one lane between stages.
//
// Every boundary has its own message size and wire. All boundaries between the same two kinds of
// machine cost as much as the worst of them: if one of them crosses domains, all count as crossing.
// The busiest boundary decides the steady state; the sum over boundaries decides fill and drain
// (cost/pipeline_time.hpp).
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
  // If lanes do not run through the plan independently, the teams with the largest micro-batches
  // represent all.
  TransferLoad of(std::size_t lane, double memory_share);
  // Messages of a physical stage per micro-batch.
  SendCount sends_of(int stage) const;
  // Time to send one micro-batch one way over the boundary after a run.
  double seconds_of(int run, std::size_t lane);

 private:
  const PhysicalStage& stage_of(int run) const;
  std::pair<int, int> kinds_of(int run) const;  // kinds of machine on both sides of the boundary
  const Lane& lane_of(int run, std::size_t lane) const;
  const plan::Replicas& replicas_of(int run, std::size_t lane) const;

  Context& context_;
  std::vector<int> boundaries_;  // runs whose output leaves their stage
  std::map<std::pair<int, int>, bool> crosses_;
};

}  // namespace nereus::cost::general
