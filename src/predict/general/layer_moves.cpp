// layer_moves.hpp explains which samples move.
#include "predict/general/layer_moves.hpp"

#include <algorithm>

namespace nereus::cost::general {

using plan::LayerRun;
using plan::Replicas;

namespace {

// Samples that both teams compute in a step.
std::int64_t shared_samples(const Replicas& a, int team_a, const Replicas& b, int team_b) {
  const std::int64_t first_a = a.first_sample + team_a * a.team_step();
  const std::int64_t step_a = a.micro_batch_step();
  std::int64_t shared = 0;
  for (int m = 0; m < b.num_micro_batches; ++m) {
    const std::int64_t begin = b.first_sample_of(team_b, m);
    const std::int64_t end = begin + b.samples_in(m);
    // Only micro-batches of `a` that start before `end` and reach past `begin` can meet it.
    std::int64_t low = 0;
    std::int64_t high = a.num_micro_batches - 1;
    if (step_a > 0) {
      low = std::clamp<std::int64_t>((begin - first_a - a.micro_batch) / step_a, 0, high);
      high = std::clamp<std::int64_t>((end - first_a) / step_a, -1, high);
    }
    for (std::int64_t k = low; k <= high; ++k) {
      const std::int64_t from = first_a + k * step_a;
      const std::int64_t to = from + a.samples_in(static_cast<int>(k));
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
          seats[rank_at(r, team, c, t)] = {static_cast<int>(g), team, c * r.tp + t};
  }
  return seats;
}

}  // namespace

// The largest number of samples that any rank of each Replicas sends or receives. Bytes are applied
// later: they differ between layers, while the same two rank sets occur again and again.
Moves::Pattern Moves::pattern_of(const LayerRun& before, const LayerRun& after) {
  const int num_ranks = context_.wires.num_ranks();
  const std::vector<Seat> old_seats = seats_of(before, num_ranks);
  const std::vector<Seat> new_seats = seats_of(after, num_ranks);
  Pattern pattern{&before, &after, {}, {}, 0, true};
  pattern.out.resize(before.replicas.size());
  pattern.in.resize(after.replicas.size());
  std::vector<int> ranks;
  for (int rank = 0; rank < num_ranks; ++rank) {
    const Seat& old_seat = old_seats[rank];
    const Seat& new_seat = new_seats[rank];
    if (old_seat.replicas < 0 && new_seat.replicas < 0) continue;
    ranks.push_back(rank);
    const auto a = static_cast<std::size_t>(old_seat.replicas);
    const auto b = static_cast<std::size_t>(new_seat.replicas);
    std::int64_t kept = 0;
    if (old_seat.replicas >= 0 && new_seat.replicas >= 0) {
      const Replicas& r = before.replicas[a];
      const Replicas& s = after.replicas[b];
      if (r.tp == s.tp && r.cp == s.cp && old_seat.slice == new_seat.slice)
        kept = shared_samples(r, old_seat.team, s, new_seat.team);
    }
    if (old_seat.replicas >= 0)
      pattern.out[a] = std::max(pattern.out[a], before.replicas[a].samples_per_team() - kept);
    if (new_seat.replicas >= 0)
      pattern.in[b] = std::max(pattern.in[b], after.replicas[b].samples_per_team() - kept);
  }
  pattern.wire = context_.wires.of(ranks);
  pattern.same_domain = context_.wires.same_domain(ranks.front(), ranks.back());
  return pattern;
}

double Moves::seconds(const Segment& from, const Segment& to) {
  const LayerRun& before = context_.run(from.runs.back());
  const LayerRun& after = context_.run(to.runs.front());
  const int last = before.first_layer + before.num_layers - 1;
  return between(before, after, context_.model.layers[last], 1);
}

double Moves::of_edge(const model::Edge& edge) {
  const LayerRun& before = context_.run(context_.run_of_layer(edge.from));
  const LayerRun& after = context_.run(context_.run_of_layer(edge.to));
  const int kind = context_.model.layers[edge.from];
  const double whole = context_.model.layer(edge.from).output_elements;
  if (&before == &after || !(whole > 0)) return 0;
  return between(before, after, kind, edge.elements / whole);
}

double Moves::between(const LayerRun& before, const LayerRun& after, int kind, double share) {
  const auto same = [](const LayerRun& a, const LayerRun& b) {
    return std::equal(a.replicas.begin(), a.replicas.end(), b.replicas.begin(), b.replicas.end(),
                      same_teams);
  };
  auto known = std::find_if(patterns_.begin(), patterns_.end(), [&](const Pattern& pattern) {
    return same(*pattern.before, before) && same(*pattern.after, after);
  });
  if (known == patterns_.end())
    known = patterns_.insert(patterns_.end(), pattern_of(before, after));

  const auto bytes_per_sample = [&](const LayerRun& run, const Replicas& r) {
    const int machine = context_.wires.kind_of(rank_at(r, 0, 0, 0));
    return context_.costs.of(context_.placement, run, r, 0, machine, 1).of(kind).cost.message *
           share;
  };
  double most = 0;  // bytes
  double num_micro_batches = 1;
  const auto look_at = [&](const LayerRun& run, const std::vector<std::int64_t>& samples) {
    for (std::size_t g = 0; g < run.replicas.size(); ++g) {
      const Replicas& r = run.replicas[g];
      num_micro_batches = std::max(num_micro_batches, context_.rounds(r).count());
      if (samples[g] > 0)
        most = std::max(most, static_cast<double>(samples[g]) * bytes_per_sample(run, r));
    }
  };
  look_at(before, known->out);
  look_at(after, known->in);
  if (most <= 0) return 0;
  return 2 * num_micro_batches *
         send_seconds(context_.wires[known->wire].fabric, known->same_domain,
                      most / num_micro_batches);
}

}  // namespace nereus::cost::general
