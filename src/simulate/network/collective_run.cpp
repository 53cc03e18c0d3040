#include "simulate/network/collective_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/format.hpp"

namespace nereus::simulate {

namespace {

void check(const Network& network, const CollectiveRequest& request) {
  ErrorList errors;
  const std::size_t dimensions = network.dimensions().size();
  if (!(request.bytes > 0) || !std::isfinite(request.bytes))
    errors.add("collective.no-bytes", fmt::format("the size is {:g} bytes", request.bytes), {},
               "more than 0");
  if (request.chunks < 1 || request.chunks > 65'536)
    errors.add("collective.chunks", fmt::format("{} chunks", request.chunks), {}, "1 to 65,536");
  if (network.num_ranks() < 2)
    errors.add("collective.one-rank", "a collective needs more than one rank", {},
               "2 ranks or more");
  if (request.algorithms.size() != dimensions)
    errors.add("collective.algorithms",
               fmt::format("{} for {}", counted(request.algorithms.size(), "algorithm"),
                           counted(dimensions, "dimension")));
  for (std::size_t i = 0; i < std::min(dimensions, request.algorithms.size()); ++i) {
    const bool last = i + 1 == dimensions;
    const bool offered =
        offers(request.algorithms[i], last ? request.collective : Collective::kReduceScatter);
    if (!offered && network.dimensions()[i].size > 1)
      errors.add("collective.not-offered",
                 fmt::format("a {} does the all-reduce of the last dimension only, not {} on "
                             "dimension {} of {}",
                             to_string(request.algorithms[i]), to_string(request.collective), i + 1,
                             dimensions),
                 {}, "ring, direct or halving-doubling");
  }
  // A whole ring of all bytes on the slowest links must fit into 64 bits of picoseconds.
  for (const Dimension& d : network.dimensions())
    if (const double seconds = request.bytes / d.bandwidth * d.size; seconds > 1e6) {
      errors.add("collective.too-long",
                 fmt::format("{:g} bytes over links of {:g} bytes per second take days",
                             request.bytes, d.bandwidth),
                 {}, "fewer bytes, or faster links");
      break;
    }
  errors.throw_if_any();
}

// One chunk through all dimensions.
void add_chunk(Program& program, const Network& network, const CollectiveRequest& request,
               double bytes) {
  std::vector<int> after;
  const auto phase = [&](std::size_t d, Collective collective, double whole) {
    after = add_phase(program,
                      {request.algorithms[d], static_cast<int>(d), network.dimensions()[d].size},
                      collective, whole, after);
  };
  const std::size_t n = network.dimensions().size();
  // The bytes that each dimension works on: those left by the reduce-scatters of earlier
  // dimensions.
  std::vector<double> whole(n, bytes);
  for (std::size_t d = 1; d < n; ++d) whole[d] = whole[d - 1] / network.dimensions()[d - 1].size;
  switch (request.collective) {
    case Collective::kAllReduce:
      for (std::size_t d = 0; d + 1 < n; ++d) phase(d, Collective::kReduceScatter, whole[d]);
      phase(n - 1, Collective::kAllReduce, whole[n - 1]);
      for (std::size_t d = n - 1; d-- > 0;) phase(d, Collective::kAllGather, whole[d]);
      break;
    case Collective::kReduceScatter:
      for (std::size_t d = 0; d < n; ++d) phase(d, Collective::kReduceScatter, whole[d]);
      break;
    case Collective::kAllGather:
      for (std::size_t d = n; d-- > 0;) phase(d, Collective::kAllGather, whole[d]);
      break;
    case Collective::kAllToAll:
      for (std::size_t d = 0; d < n; ++d) phase(d, Collective::kAllToAll, bytes);
      break;
  }
}

FullestLink fullest_link(const Network& network, const Playable& playable, double seconds) {
  std::vector<double> on_route(playable.transfers.routes().size());
  for (const Transfers::Transfer& t : playable.transfers.list()) on_route[t.route] += t.bytes;
  std::vector<double> on_link(playable.links.size());
  for (std::size_t r = 0; r < on_route.size(); ++r)
    for (const LinkUse& use : playable.transfers.routes()[r].links)
      on_link[use.link] += use.weight * on_route[r];
  FullestLink fullest;
  for (std::size_t l = 0; l < on_link.size(); ++l) {
    const double share = on_link[l] / (playable.capacities[l] * seconds);
    const Network::LinkPlace place = network.place_of(playable.links[l]);
    // Links that are equally full are named by the lowest dimension and class.
    const auto before = std::pair(place.dimension, network.class_of(place));
    const bool fuller = share > fullest.share * (1 + 1e-9);
    if (!fuller && (share < fullest.share * (1 - 1e-9) ||
                    before >= std::pair(fullest.dimension, fullest.link)))
      continue;
    fullest = {place.dimension, network.class_of(place), std::max(share, fullest.share)};
  }
  return fullest;
}

}  // namespace

Program program_of(const Network& network, const CollectiveRequest& request) {
  check(network, request);
  Program program;
  std::size_t steps = 0;
  for (int chunk = 0; chunk < request.chunks; ++chunk) {
    const std::size_t begin = program.size();
    add_chunk(program, network, request, request.bytes / request.chunks);
    if (chunk == 0) steps = program.size();
    for (std::size_t i = begin; chunk > 0 && i < program.size(); ++i)
      program[i].follows = static_cast<int>(i - steps);
  }
  return program;
}

Fold fold_of(const Network& network, const Program& program, Folding folding) {
  return folding == Folding::kWhereProvable ? Fold::of(network, program) : Fold::none(network);
}

std::int64_t num_transfers(const Network& network, CollectiveRequest request) {
  const int chunks = request.chunks;
  check(network, request);
  request.chunks = 1;
  const Program program = program_of(network, request);
  const int played = fold_of(network, program, request.folding).num_played();
  std::int64_t count = 0;
  for (const Exchange& e : program) {
    // Named pairs are in every group of their dimension that is played; it is not folded.
    const int size = network.dimensions()[e.dimension].size;
    count += e.pattern == Exchange::Pattern::kPairs
                 ? static_cast<std::int64_t>(e.pairs.size()) * (played / size)
                 : played;
  }
  return count * chunks;
}

SimulatedCollective simulate(const Network& network, const CollectiveRequest& request) {
  if (const std::int64_t count = num_transfers(network, request); count > kMostTransfers)
    throw_input_error(
        "collective.too-large",
        fmt::format("{} transfers are too many; at most {} are simulated", count, kMostTransfers),
        {}, "fewer chunks, or an algorithm that can be folded");
  const Program program = program_of(network, request);
  const Fold fold = fold_of(network, program, request.folding);
  const Playable playable = make_playable(network, program, fold);
  const Played played = play(playable.capacities, playable.transfers);
  SimulatedCollective answer;
  answer.folded = fold.folds();
  answer.ranks_played = fold.num_played();
  answer.end = played.end;
  answer.seconds = static_cast<double>(played.end) * 1e-12;
  answer.events = played.events;
  answer.events_represented = played.events * (network.num_ranks() / fold.num_played());
  answer.fullest = fullest_link(network, playable, answer.seconds);
  return answer;
}

}  // namespace nereus::simulate
