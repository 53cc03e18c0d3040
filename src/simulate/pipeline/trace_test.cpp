// Every schedule, drawn and written out: its timeline keeps its invariants, its trace is one that
// Perfetto takes whole, and the trace holds every pass and every transfer.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plan/rules.hpp"
#include "simulate/pipeline/pipeline_play.hpp"
#include "simulate/step_timeline.hpp"
#include "timeline/check_trace.hpp"
#include "timeline/chrome_trace.hpp"
#include "timeline/text_drawing.hpp"

namespace nereus::simulate::trace_test {
namespace {

using timeline::Timeline;

// A compute lane a rank, micro-batches held as a counter, a flow from every forward pass to the one
// that waits for it.
Timeline timeline_of(const Order& order, const PlayedPipeline& played, const PipelineSize& size) {
  Timeline t;
  t.num_ranks = size.depth;
  const auto cell = [&](int stage, int micro_batch) {
    return static_cast<std::size_t>(stage * size.micro_batches + micro_batch);
  };
  std::vector<std::pair<int, Picoseconds>> ends(cell(size.num_stages(), 0));
  for (int rank = 0; rank < size.depth; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    t.lanes.push_back({rank, "stage " + std::to_string(rank), "compute"});
    t.counters.push_back({rank, "held", "micro-batches", {}});
    double held = 0;
    for (std::size_t i = 0; i < order[r].size(); ++i) {
      const PipelineOp& op = order[r][i];
      const PlayedOp& at = played.ranks[r].ops[i];
      t.slices.push_back({rank, at.start, at.end, slice_kind(op.pass), op.stage, op.micro_batch});
      if (op.pass == Pass::kForward) {
        t.counters.back().samples.push_back({at.start, ++held});
        ends[cell(op.stage, op.micro_batch)] = {rank, at.end};
      } else if (op.pass == Pass::kBackward || op.pass == Pass::kWeight) {
        t.counters.back().samples.push_back({at.end, --held});
      }
    }
  }
  for (int rank = 0; rank < size.depth; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    for (std::size_t i = 0; i < order[r].size(); ++i) {
      const PipelineOp& op = order[r][i];
      if (op.pass != Pass::kForward || op.stage == 0) continue;
      const auto& [from, end] = ends[cell(op.stage - 1, op.micro_batch)];
      if (from == rank) continue;
      t.flows.push_back({from, end, rank, played.ranks[r].ops[i].start,
                         static_cast<std::int64_t>(t.flows.size()), "activation"});
    }
  }
  t.marks = {timeline::step_mark(0, 0, played.end)};
  return t;
}

RC_GTEST_PROP(ScheduleTrace, IsTakenWhole, ()) {
  const auto schedule = static_cast<plan::Schedule>(*rc::gen::inRange(0, 9));
  PipelineSize size;
  size.depth = 2 * *rc::gen::inRange(1, 5);
  const plan::InterleaveRule chunks = plan::interleave_rule(schedule);
  size.chunks = *rc::gen::inRange(chunks.least, std::min(chunks.most, 3) + 1);
  const plan::MicroBatchRule rule = plan::micro_batch_rule(schedule, size.depth, size.chunks);
  size.micro_batches = static_cast<int>(rule.least) * *rc::gen::inRange(1, 5);
  PassTimes times;
  for (int v = 0; v < size.num_stages(); ++v) {
    const auto any = [] { return *rc::gen::inRange<Picoseconds>(1, 9'000'000); };
    times.stages.push_back({any(), any(), any(), any(), any()});
  }
  const Order order = make_order(schedule, size);
  const PlayedPipeline played = play(order, size, times);
  const Timeline t = timeline_of(order, played, size);
  RC_ASSERT(timeline::first_fault(t) == "");
  const timeline::TraceCheck check = timeline::check_trace(timeline::chrome_trace(t));
  if (!check.faults.empty()) RC_FAIL(check.faults[0]);
  RC_ASSERT(check.num_slices == static_cast<std::int64_t>(t.slices.size()) + size.depth);
  RC_ASSERT(check.num_flows == static_cast<std::int64_t>(t.flows.size()));
  // The counter and the player agree about what is held at most.
  for (int rank = 0; rank < size.depth; ++rank) {
    double most = 0;
    for (const timeline::Sample& sample : t.counters[rank].samples)
      most = std::max(most, sample.value);
    RC_ASSERT(most == played.ranks[rank].peak);
  }
  const std::vector<std::string> drawing = timeline::text_drawing(t, 80);
  RC_ASSERT(drawing.size() == t.lanes.size());
}

}  // namespace
}  // namespace nereus::simulate::trace_test
