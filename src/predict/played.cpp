#include "predict/played.hpp"

#include <cmath>

namespace nereus::cost {

using plan::Schedule;
using schedule::StageSeconds;

bool can_play(Schedule schedule, const schedule::PipelineSize& size) {
  // With more passes, building the order takes too long.
  constexpr double kMostPasses = 4e6;
  return size.depth > 1 && schedule::suits(schedule, size) &&
         2.0 * size.num_stages() * size.micro_batches <= kMostPasses;
}

PassSeconds passes_alone(const LayerTime& layers, const ChunkWork& work, const ChunkWork& rank,
                         const LayerTime& all, bool split, const Machine& machine) {
  const double share = work.forward / rank.forward;
  const double each = 0.5 * (all.host - all.host_again - all.host_weight) * share;
  const double again = rank.again > 0 ? all.host_again * (work.again / rank.again) : 0;
  const double later = all.host_weight * share;
  const double weight = split ? layers.weight_gradient : 0;
  const double back = std::max(0.0, layers.device() - layers.forward - weight);
  PassSeconds out;
  out.forward = smooth_max(layers.forward, each, machine);
  out.input = smooth_max(back, each + again + (split ? 0 : later), machine);
  if (split) out.weight = smooth_max(weight, later, machine);
  return out;
}

PassSeconds varuna_passes(const LayerTime& all, const LayerTime& once, const Machine& machine) {
  const double device = once.device();
  if (device <= 0) return {};
  const double passes = smooth_max(device, once.host, machine);
  PassSeconds out;
  out.forward = passes * (once.forward / device);
  out.input = std::max(0.0, passes - out.forward);
  out.recompute = std::max(0.0, smooth_max(all.device(), all.host, machine) - passes);
  return out;
}

void add(PassSeconds& sum, const PassSeconds& passes) {
  sum.forward += passes.forward;
  sum.recompute += passes.recompute;
  sum.input += passes.input;
  sum.weight += passes.weight;
}

bool take_the_same(double a, double b) {
  constexpr double kRounding = 1e-12;
  return std::abs(a - b) <= kRounding * std::max(a, b);
}

bool take_the_same(const PassSeconds& a, const PassSeconds& b) {
  return take_the_same(a.forward, b.forward) && take_the_same(a.recompute, b.recompute) &&
         take_the_same(a.input, b.input) && take_the_same(a.weight, b.weight);
}

PassSeconds pass_seconds(const LayerTime& layers, const PassSeconds& alone, const PassSeconds& rank,
                         double total, bool split) {
  const double sum = rank.total();
  if (sum <= 0) return {};
  const double pace = total / sum;
  PassSeconds out;
  out.forward = pace * alone.forward;
  // The rest of a backward pass, in proportion to device times.
  const double back = pace * alone.input;
  const double device = layers.device() - layers.forward - (split ? layers.weight_gradient : 0);
  if (device > 0) {
    out.recompute = std::min(back, back * layers.recompute / device);
    if (!split) out.weight = std::min(back - out.recompute, back * layers.weight_gradient / device);
  }
  out.input = std::max(0.0, back - out.recompute - out.weight);
  if (split) out.weight = pace * alone.weight;
  return out;
}

void add_stage(Prediction& out, const StageTime& slowest, double times, double memory_share,
               const Parameters& p) {
  out.add(Part::kCompute, times * slowest.compute);
  out.add(Part::kRecompute, times * slowest.recompute);
  out.add(Part::kTensorComm, times * slowest.tensor);
  out.add(Part::kContextComm, times * slowest.context);
  out.add(Part::kExpertComm, times * slowest.expert);
  out.add(Part::kDataComm, times * slowest.shard);
  out.add(Part::kOffload, times * slowest.offload);
  out.add(Part::kLaunch, times * slowest.launch);
  if (p.memory_pressure > 0 && memory_share > 0.9)
    out.add(Part::kFixed,
            p.memory_pressure * (std::min(memory_share, 1.1) - 0.9) * times * slowest.total);
}

void add_waits(Prediction& out, double more, double reduced, double sent) {
  out.add(Part::kDataComm, std::min(reduced, more));
  more = std::max(0.0, more - reduced);
  out.add(Part::kPipelineComm, std::min(sent, more));
  // Below that is what sums in another order leave, and no waiting.
  constexpr double kRounding = 1e-13;
  double work = 0;
  for (const double part : out.parts) work += part;
  if (more - sent > kRounding * work) out.add(Part::kBubble, more - sent);
}

StageSeconds stage_seconds(const PassSeconds& passes, double send, double send_back, double overlap,
                           int stage, int depth) {
  const double shown = 1 - overlap;
  StageSeconds out{passes.forward, passes.input + passes.recompute, passes.weight};
  out.send = out.send_alone = shown * send;
  out.send_back = out.send_back_alone = shown * send_back;
  if (stage + 1 < depth) out.send_alone = send;
  if (stage < depth) out.send_back_alone = send_back;
  return out;
}

StageSeconds varuna_seconds(const PassSeconds& passes, double send, double send_back) {
  return {passes.forward, passes.input, passes.weight, send,
          send_back,      send,         send_back,     passes.recompute};
}

double end_seconds(Schedule schedule, double longest_send, double overlap) {
  const bool both_ends = schedule == Schedule::kZbV || schedule == Schedule::kDualPipe;
  return both_ends || schedule == Schedule::kVaruna ? 0 : (1 - overlap) * longest_send;
}

}  // namespace nereus::cost
