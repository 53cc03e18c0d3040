#include "simulate/pipeline/order.hpp"

#include "base/error.hpp"

namespace nereus::simulate {

using plan::Schedule;

bool has_order(Schedule schedule) { return schedule != Schedule::kVaruna; }

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
      break;
  }
  NEREUS_CHECK(false, "a schedule without a static order is not asked for one");
}

}  // namespace nereus::simulate
