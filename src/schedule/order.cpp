#include "schedule/order.hpp"

#include "base/error.hpp"
#include "plan/rules.hpp"

namespace nereus::schedule {

using plan::Schedule;

bool suits(Schedule schedule, const PipelineSize& size) {
  const plan::InterleaveRule chunks = plan::interleave_rule(schedule);
  const plan::MicroBatchRule rule = plan::micro_batch_rule(schedule, size.depth, size.chunks);
  return size.chunks >= chunks.least && size.chunks <= chunks.most &&
         size.micro_batches >= rule.least && size.micro_batches % rule.multiple == 0 &&
         (schedule != Schedule::kDualPipe || size.depth % 2 == 0);
}

bool suits(Schedule schedule, const PipelineSize& size, const std::vector<int>& rank_of_stage) {
  if (static_cast<int>(rank_of_stage.size()) != size.num_stages()) return false;
  for (int v = 0; v < size.num_stages(); ++v) {
    const int way = v % (2 * size.depth);
    const int rank =
        schedule == Schedule::kZbV && way >= size.depth ? 2 * size.depth - 1 - way : v % size.depth;
    if (rank_of_stage[v] != rank) return false;
  }
  return suits(schedule, size);
}

Order make_order(Schedule schedule, const PipelineSize& size) {
  switch (schedule) {
    case Schedule::kGpipe:
      return gpipe_order(size);
    case Schedule::k1f1b:
      return one_f_one_b_order(size);
    case Schedule::kInterleaved:
      return size.chunks > 1 ? interleaved_order(size) : one_f_one_b_order(size);
    case Schedule::kLoopedBfs:
      return looped_bfs_order(size);
    case Schedule::kZbH1:
      return zb_h1_order(size);
    case Schedule::kZbH2:
      return zb_h2_order(size);
    case Schedule::kZbV:
      return zb_v_order(size);
    case Schedule::kDualPipe:
      return dualpipe_order(size);
    case Schedule::kVaruna:
      return varuna_order(size);
  }
  NEREUS_CHECK(false, "every schedule has an order");
}

Order with_recompute(const Order& order, const PipelineSize& size, bool on_last_stage) {
  Order out(order.size());
  for (std::size_t rank = 0; rank < order.size(); ++rank)
    for (const PipelineOp& op : order[rank]) {
      const bool back = op.pass == Pass::kBackward || op.pass == Pass::kInput;
      if (back && (on_last_stage || op.stage + 1 < size.num_stages()))
        out[rank].push_back({Pass::kRecompute, op.stage, op.micro_batch});
      out[rank].push_back(op);
    }
  return out;
}

}  // namespace nereus::schedule
