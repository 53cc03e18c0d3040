#include "app/simulate/simulate_collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "app/simulate/astra_dimensions.hpp"
#include "base/error.hpp"
#include "base/format.hpp"
#include "base/nearest.hpp"
#include "cluster/load_cluster.hpp"
#include "simulate/network/cluster_network.hpp"
#include "simulate/network/network_file.hpp"
#include "spec/quantity.hpp"

namespace nereus::app {

namespace {

using simulate::Algorithm;
using simulate::Collective;
using simulate::Network;

// Limit for each choice if the user gave none: some tenths of a second.
constexpr std::int64_t kMostTried = 1'000'000;
constexpr int kAstraSplits = 4;
constexpr double kMostBytes = 1e18;

struct Problem {
  Collective collective = Collective::kAllReduce;
  double bytes = 0;
  int chunks = 1;
};

Collective read_collective(const std::string& text, ErrorList& errors) {
  if (const auto collective = simulate::parse_collective(text)) return *collective;
  errors.add("collective.unknown", fmt::format("there is no collective '{}'", text), {},
             "all-reduce, all-gather, reduce-scatter or all-to-all");
  return Collective::kAllReduce;
}

double read_bytes(const std::string& text, ErrorList& errors) {
  if (text.empty()) {
    errors.add("cli.missing-argument",
               "--bytes is missing: it sets how much is reduced, gathered "
               "or sent",
               {}, "--bytes 64MiB");
    return 1;
  }
  const spec::Parsed<Bytes> bytes = spec::parse_bytes(text);
  if (!bytes.value)
    errors.add(bytes.code, "--bytes: " + bytes.reason, {}, bytes.hint);
  else if (!(bytes.value->value > 0) || bytes.value->value > kMostBytes)
    errors.add("collective.no-bytes", fmt::format("--bytes {} is out of range", text), {},
               "more than 0, at most 1e18 B");
  else
    return bytes.value->value;
  return 1;
}

double elapsed(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// All combinations of one algorithm per dimension that support the collective and can differ. If
// there are too many: the same algorithm on all dimensions, and combinations that differ on the
// last.
std::vector<std::vector<Algorithm>> choices_of(const Network& network, Collective collective) {
  const auto& dimensions = network.dimensions();
  const std::size_t n = dimensions.size();
  const auto offered = [&](std::size_t d) {
    if (dimensions[d].size == 1) return std::vector<Algorithm>{Algorithm::kRing};
    std::vector<Algorithm> list;
    for (const Algorithm algorithm : simulate::kAlgorithms) {
      // If there is only one path to a neighbor, both directions are the same.
      const bool two_ways = dimensions[d].kind == simulate::DimensionKind::kRing;
      if (algorithm == Algorithm::kTwoWayRing && !two_ways) continue;
      if (offers(algorithm, d + 1 == n ? collective : Collective::kReduceScatter))
        list.push_back(algorithm);
    }
    return list;
  };
  std::vector<std::vector<Algorithm>> choices{{}};
  for (std::size_t d = 0; d < n; ++d) {
    std::vector<std::vector<Algorithm>> longer;
    for (const auto& choice : choices)
      for (const Algorithm algorithm : offered(d)) {
        const bool like_before = choice.empty() || algorithm == choice.back();
        if (n > 3 && d + 1 < n && !like_before) continue;
        longer.push_back(choice);
        longer.back().push_back(algorithm);
      }
    choices = std::move(longer);
  }
  return choices;
}

cluster::Cluster load_cluster(const ClusterRequest& request) {
  std::vector<cluster::Override> overrides;
  for (const Override& o : request.overrides) overrides.push_back({o.path, o.value});
  return cluster::load_cluster(request.cluster, overrides);
}

TriedAlgorithms play(const Network& network, const Problem& problem,
                     std::vector<Algorithm> algorithms, bool unfolded, bool asked) {
  simulate::CollectiveRequest request{
      .collective = problem.collective,
      .bytes = problem.bytes,
      .algorithms = std::move(algorithms),
      .chunks = problem.chunks,
      .folding = unfolded ? simulate::Folding::kNever : simulate::Folding::kWhereProvable};
  TriedAlgorithms tried{.algorithms = request.algorithms};
  if (!asked) {
    const std::int64_t count = num_transfers(network, request);
    if (count > kMostTried) {
      tried.why_not = fmt::format(
          "{} transfers would be simulated; name the algorithm to "
          "simulate them",
          count);
      return tried;
    }
  }
  const auto begin = std::chrono::steady_clock::now();
  tried.simulated = simulate::simulate(network, request);
  tried.seconds = elapsed(begin);
  tried.collective_s = tried.simulated.seconds;
  return tried;
}

// The algorithms whose formulas were compared with runs of ASTRA-sim on such a dimension.
std::vector<std::vector<Algorithm>> astra_choices(const simulate::Dimension& d) {
  if (d.kind == simulate::DimensionKind::kRing) return {{Algorithm::kRing}};
  if (d.kind == simulate::DimensionKind::kFullyConnected) return {{Algorithm::kDirect}};
  return {{Algorithm::kRing}, {Algorithm::kDirect}, {Algorithm::kHalvingDoubling}};
}

// ASTRA-sim counts an all-gather by what each rank puts in.
TriedAlgorithms astra(const Network& network, const Problem& problem, double memory_bandwidth,
                      Algorithm algorithm, bool asked) {
  ErrorList errors;
  if (network.dimensions().size() > 1)
    errors.add("astra-sim.no-formula", "--compat astra-sim has no formula for several dimensions",
               {}, "one dimension, or no --compat");
  const simulate::AstraDimension dimension =
      astra_dimension(network.dimensions()[0], algorithm, errors);
  errors.throw_if_any();
  const double n = network.num_ranks();
  simulate::AstraSystem system;
  system.splits = problem.chunks;
  if (memory_bandwidth > 0) system.memory = memory_bandwidth * 1e-9;
  const double bytes =
      problem.collective == Collective::kAllGather ? problem.bytes / n : problem.bytes;
  TriedAlgorithms tried{.algorithms = {algorithm}};
  const auto begin = std::chrono::steady_clock::now();
  simulate::AstraOutcome outcome =
      astra_time(system, dimension, problem.collective, std::llround(bytes));
  tried.seconds = elapsed(begin);
  if (!outcome.why_not.empty() && asked)
    throw_input_error("astra-sim.no-formula", outcome.why_not, {},
                      "ring, direct, or halving-doubling on a power of two");
  tried.collective_s = static_cast<double>(outcome.ns) * 1e-9;
  tried.why_not = std::move(outcome.why_not);
  return tried;
}

}  // namespace

std::vector<Algorithm> parse_algorithms(const std::string& text, std::size_t dimensions,
                                        ErrorList& errors) {
  std::vector<Algorithm> algorithms;
  std::vector<std::string> known;
  for (const Algorithm algorithm : simulate::kAlgorithms) known.emplace_back(to_string(algorithm));
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    begin = end + 1;
    const auto algorithm = simulate::parse_algorithm(word);
    algorithms.push_back(algorithm.value_or(Algorithm::kRing));
    if (algorithm) continue;
    const std::string near = nearest(word, known).value_or("");
    errors.add(
        "collective.unknown-algorithm", fmt::format("there is no algorithm '{}'", word), {},
        near.empty() ? "ring, two-way-ring, direct, halving-doubling, tree or double-tree" : near);
  }
  if (algorithms.size() == 1) algorithms.resize(dimensions, algorithms.front());
  if (algorithms.size() != dimensions)
    errors.add("collective.algorithms",
               fmt::format("{} for {}", counted(algorithms.size(), "algorithm"),
                           counted(dimensions, "dimension")),
               {}, "one for all dimensions, or one per dimension, separated by commas");
  return algorithms;
}

CollectiveAnswer simulate_collective(const SimulateCollectiveRequest& request) {
  ErrorList errors;
  if (request.network_file.empty() == request.cluster.cluster.empty())
    errors.add(request.network_file.empty() ? "cli.missing-argument" : "cli.conflict",
               "a collective needs either --network FILE or --cluster SPEC");
  const int chunks = request.chunks.value_or(request.astra_sim ? kAstraSplits : 1);
  const Problem problem{read_collective(request.collective, errors),
                        read_bytes(request.bytes, errors), chunks};
  errors.throw_if_any();
  std::optional<cluster::Cluster> machines;
  if (request.network_file.empty()) machines = load_cluster(request.cluster);
  const Network network =
      machines ? simulate::network_of(*machines) : simulate::load_network(request.network_file);
  const double memory_bandwidth = machines ? machines->device_at(0).memory_bandwidth.value : 0;
  if (network.num_ranks() < 2)
    throw_input_error("collective.one-rank", "a collective needs more than one rank", {},
                      "2 ranks or more");
  const bool asked = !request.algorithms.empty();
  std::vector<std::vector<Algorithm>> choices;
  if (asked)
    choices = {parse_algorithms(request.algorithms, network.dimensions().size(), errors)};
  else if (request.astra_sim)
    choices = astra_choices(network.dimensions()[0]);
  else
    choices = choices_of(network, problem.collective);
  errors.throw_if_any();

  CollectiveAnswer answer{.collective = problem.collective,
                          .bytes = problem.bytes,
                          .chunks = chunks,
                          .astra_sim = request.astra_sim,
                          .dimensions = network.dimensions(),
                          .num_ranks = network.num_ranks()};
  for (const auto& choice : choices)
    answer.tried.push_back(request.astra_sim
                               ? astra(network, problem, memory_bandwidth, choice.front(), asked)
                               : play(network, problem, choice, request.unfolded, asked));
  // Of equal ones the first in the list: the simplest.
  std::stable_sort(answer.tried.begin(), answer.tried.end(), [](const auto& a, const auto& b) {
    if (a.why_not.empty() != b.why_not.empty()) return a.why_not.empty();
    return a.why_not.empty() && a.collective_s < b.collective_s;
  });
  if (!answer.best().why_not.empty())
    throw_input_error("collective.too-large",
                      fmt::format("no algorithm can be tried: {}", answer.best().why_not), {},
                      "--algorithm names one to simulate nevertheless");
  const double n = answer.num_ranks, rounds = problem.collective == Collective::kAllReduce ? 2 : 1;
  answer.algorithm_bandwidth = problem.bytes / answer.best().collective_s;
  answer.bus_bandwidth = answer.algorithm_bandwidth * rounds * (n - 1) / n;
  return answer;
}

}  // namespace nereus::app
