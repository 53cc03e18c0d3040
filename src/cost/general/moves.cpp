// Samples that change ranks between two segments (cost/general/work.hpp).
//
// A rank of the next segment needs those of its samples that it did not compute in the last one; a
// rank of the last one sends those that it does not go on with. Teams of another shape keep
// nothing. All send at once, so the rank with the most bytes in or out decides; gradients take the
// same way back. Micro-batches go one by one.
#include <algorithm>
#include <cstdint>

#include "cost/general/work.hpp"

namespace nereus::cost::general {

using plan::LayerRun;
using plan::Replicas;

namespace {

std::int64_t samples_in(const Replicas& r, int micro_batch) {
  const bool last = micro_batch == r.num_micro_batches - 1;
  return last && r.last_micro_batch > 0 ? r.last_micro_batch : r.micro_batch;
}

// Samples that both teams compute in a step.
std::int64_t shared_samples(const Replicas& a, int team_a, const Replicas& b, int team_b) {
  const std::int64_t first_a = a.first_sample + team_a * a.team_step();
  const std::int64_t step_a = a.micro_batch_step();
  std::int64_t shared = 0;
  for (int m = 0; m < b.num_micro_batches; ++m) {
    const std::int64_t begin = b.first_sample + team_b * b.team_step() + m * b.micro_batch_step();
    const std::int64_t end = begin + samples_in(b, m);
    // Only micro-batches of `a` that start before `end` and reach past `begin` can meet it.
    std::int64_t low = 0;
    std::int64_t high = a.num_micro_batches - 1;
    if (step_a > 0) {
      low = std::clamp<std::int64_t>((begin - first_a - a.micro_batch) / step_a, 0, high);
      high = std::clamp<std::int64_t>((end - first_a) / step_a, -1, high);
    }
    for (std::int64_t k = low; k <= high; ++k) {
      const std::int64_t from = first_a + k * step_a;
      const std::int64_t to = from + samples_in(a, static_cast<int>(k));
      shared += std::max<std::int64_t>(0, std::min(end, to) - std::max(begin, from));
    }
  }
  return shared;
}

struct Seat {
  int replicas = -1;
  int team = 0;
  int slice = 0;
};

std::vector<Seat> seats_of(const LayerRun& run, int num_ranks) {
  std::vector<Seat> seats(static_cast<std::size_t>(num_ranks));
  for (std::size_t g = 0; g < run.replicas.size(); ++g) {
    const Replicas& r = run.replicas[g];
    for (int team = 0; team < r.count; ++team)
      for (int c = 0; c < r.cp; ++c)
        for (int t = 0; t < r.tp; ++t)
          seats[static_cast<std::size_t>(rank_at(r, team, c, t))] = {static_cast<int>(g), team,
                                                                     c * r.tp + t};
  }
  return seats;
}

}  // namespace

double moved_seconds(Context& context, const Segment& from, const Segment& to) {
  const LayerRun& before = context.run(from.runs.back());
  const LayerRun& after = context.run(to.runs.front());
  const int kind =
      context.model.layers[static_cast<std::size_t>(before.first_layer + before.num_layers - 1)];
  const auto bytes_per_sample = [&](const LayerRun& run, const Replicas& r) {
    return context.costs
        .of(context.placement, run, r, 0, context.wires.kind_of(rank_at(r, 0, 0, 0)), 1)
        .of(kind)
        .cost.message;
  };
  const int num_ranks = context.wires.num_ranks();
  const std::vector<Seat> old_seats = seats_of(before, num_ranks);
  const std::vector<Seat> new_seats = seats_of(after, num_ranks);
  std::vector<double> old_bytes, new_bytes;
  for (const Replicas& r : before.replicas) old_bytes.push_back(bytes_per_sample(before, r));
  for (const Replicas& r : after.replicas) new_bytes.push_back(bytes_per_sample(after, r));

  double most = 0;  // bytes
  double num_micro_batches = 1;
  std::vector<int> ranks;
  for (int rank = 0; rank < num_ranks; ++rank) {
    const Seat& old_seat = old_seats[static_cast<std::size_t>(rank)];
    const Seat& new_seat = new_seats[static_cast<std::size_t>(rank)];
    if (old_seat.replicas < 0 && new_seat.replicas < 0) continue;
    ranks.push_back(rank);
    double kept = 0;
    double out = 0;
    double in = 0;
    if (old_seat.replicas >= 0 && new_seat.replicas >= 0) {
      const Replicas& a = before.replicas[static_cast<std::size_t>(old_seat.replicas)];
      const Replicas& b = after.replicas[static_cast<std::size_t>(new_seat.replicas)];
      if (a.tp == b.tp && a.cp == b.cp && old_seat.slice == new_seat.slice)
        kept = static_cast<double>(shared_samples(a, old_seat.team, b, new_seat.team));
    }
    if (old_seat.replicas >= 0) {
      const auto g = static_cast<std::size_t>(old_seat.replicas);
      const Replicas& r = before.replicas[g];
      out = (static_cast<double>(r.samples_per_team()) - kept) * old_bytes[g];
      num_micro_batches = std::max(num_micro_batches, context.rounds(r).count());
    }
    if (new_seat.replicas >= 0) {
      const auto g = static_cast<std::size_t>(new_seat.replicas);
      const Replicas& r = after.replicas[g];
      in = (static_cast<double>(r.samples_per_team()) - kept) * new_bytes[g];
      num_micro_batches = std::max(num_micro_batches, context.rounds(r).count());
    }
    most = std::max({most, in, out});
  }
  if (most <= 0) return 0;
  const Wire& wire = context.wires[context.wires.of(ranks)];
  const bool same_domain = context.wires.same_domain(ranks.front(), ranks.back());
  return 2 * num_micro_batches * send_seconds(wire.fabric, same_domain, most / num_micro_batches);
}

}  // namespace nereus::cost::general
