#include "cost/data_parallel.hpp"

#include <algorithm>

namespace nereus::cost {

namespace {

double gather(const Division& division, double bytes) {
  const auto& [fabric, group] = division.inner;
  return division.even()
             ? all_gather_seconds(fabric, group, bytes)
             : all_gather_uneven_seconds(fabric, group, bytes, bytes * division.largest);
}

double scatter(const Division& division, double bytes) {
  return division.even()
             ? reduce_scatter_seconds(division.inner.fabric, division.inner.group, bytes)
             : gather(division, bytes);
}

double sum_copies(const Division& division, double bytes) {
  return all_reduce_seconds(division.outer.fabric, division.outer.group,
                            bytes * (division.even() ? 1.0 / division.pieces : division.largest));
}

}  // namespace

Division divide(const Machine& machine, int size, int stride, int pieces) {
  Division division;
  division.pieces = pieces;
  division.largest = 1.0 / pieces;
  division.inner = machine.wire(pieces, stride);
  division.outer = machine.wire(size / pieces, stride * pieces);
  return division;
}

double reduce_seconds(const Division& division, double parameters, const StackOptions& options) {
  if (parameters <= 0) return 0;
  double seconds = sum_copies(division, parameters * options.reduce_bytes);
  if (division.pieces > 1)
    seconds += scatter(division, parameters * options.reduce_bytes) +
               gather(division, parameters * options.gather_bytes);
  return seconds;
}

double reduce_each_seconds(const Division& division, double parameters,
                           const StackOptions& options) {
  if (parameters <= 0 || division.pieces <= 1 || options.zero2 == Zero2Rule::kReduceOnce) return 0;
  const double gathered =
      options.zero2 == Zero2Rule::kGatherEach ? parameters * options.gather_bytes : 0;
  return scatter(division, parameters * options.reduce_bytes) +
         (gathered > 0 ? gather(division, gathered) : 0);
}

bool keeps_gradients(const StackOptions& options, double num_micro_batches) {
  return options.zero2 == Zero2Rule::kReduceOnce && num_micro_batches > 1;
}

double shard_seconds(const Division& division, double parameters, double layers,
                     const StackOptions& options) {
  if (parameters <= 0 || division.pieces <= 1) return 0;
  const double one = parameters / layers;
  const double gathers = options.regather_backward ? 2 : 1;
  return layers * (gathers * gather(division, one * options.gather_bytes) +
                   scatter(division, one * options.reduce_bytes)) +
         sum_copies(division, parameters * options.reduce_bytes);
}

double reduction_overlap(Sharing sharing, const Parameters& p) {
  return sharing == Sharing::kCopies    ? p.data_overlap
         : sharing == Sharing::kWeights ? p.shard_overlap
                                        : p.zero_overlap;
}

ReductionWindow one_stage_window(double stage, double forward) {
  // With one micro-batch and o = 1, additional work in the backward pass would cost only rounding.
  constexpr double kLess = 1 - 1e-10;
  return {kLess * std::max(0.0, stage - forward), 0};
}

double exposed_reduce(double reduce, Sharing sharing, const ReductionWindow& window,
                      double interleave, bool overlaps, const Parameters& p) {
  if (!overlaps) return reduce;
  const double overlap = reduction_overlap(sharing, p);
  const double own = window.last / interleave;
  return std::max({kLastBucket * reduce, reduce - overlap * (own + window.later),
                   reduce / interleave - overlap * own});
}

namespace {

// Bytes that the update of one parameter reads and writes.
double touched_bytes(const StackOptions& options) {
  return options.gradient_bytes + 2 * options.optimizer_bytes + 2;
}

}  // namespace

bool host_updates(plan::Tier tier, const StackOptions& options) {
  return options.host_update && (tier == plan::Tier::kHost || tier == plan::Tier::kNvme);
}

double host_update_seconds(double parameters, const StackOptions& options, const Machine& machine) {
  return parameters * touched_bytes(options) * machine.devices_per_node /
         machine.parameters.host_update_rate;
}

double update_copy_bytes(plan::Tier tier, const StackOptions& options) {
  const bool stays = tier == plan::Tier::kHost && options.host_update;
  return stays ? std::max(options.gradient_bytes, options.gather_bytes) : options.optimizer_bytes;
}

double optimizer_seconds(double parameters, const StackOptions& options, const Machine& machine,
                         cluster::Precision precision) {
  const double measured = machine.update[static_cast<std::size_t>(precision)];
  if (measured > 0) return parameters * measured;
  return parameters * touched_bytes(options) * machine.parameters.optimizer_passes /
         machine.memory_rate;
}

}  // namespace nereus::cost
