// The requests of a mixed search to the predictor, per group of equal nodes, with a cache.
//
//   Machines machines(model, cluster, basis, like);           // `like`: batch, precision
//   machines.seconds({group, tp, recompute}, 4);              // of one micro-batch of four samples
//   machines.fastest_rate();                                  // samples/s of all devices at most
//
// The time of a team's micro-batch is computed without other teams: (step with two micro-batches) -
// (step with one). It equals the predictor's time for all teams exactly if teams do not wait for
// each other.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "predict/general/general_predictor.hpp"

namespace nereus::mixed {

// Devices of a group: ranks first .. first + count - 1, with `per_node` of them in a node.
struct Group {
  int first = 0;
  int count = 0;
  int per_node = 1;
};
std::vector<Group> groups_of(const cluster::Cluster& cluster);

inline constexpr int kMostMicroBatch = 64;  // samples; larger ones bring no measurable gain

// How a team of a group computes.
struct Manner {
  int group = 0;
  int tp = 1;
  plan::Recompute recompute = plan::Recompute::kNone;
  auto operator<=>(const Manner&) const = default;
};

// Whether both the model's layers and its sequence can be cut into tp slices.
bool can_cut(const model::Model& model, int tp);

// A run of all layers on one team of a group, with copies of all state on it.
plan::Placement alone(const plan::Placement& like, const model::Model& model, const Group& group,
                      const Manner& manner, int samples, int num_micro_batches);

class Machines {
 public:
  // All arguments must outlive this object.
  Machines(const model::Model& model, const cluster::Cluster& cluster, const cost::Basis& basis,
           const plan::Placement& like);

  const std::vector<Group>& groups() const { return groups_; }
  const model::Model& model() const { return model_; }
  const plan::Placement& like() const { return like_; }
  cost::GeneralPredictor& predictor() { return predictor_; }

  double seconds(const Manner& manner, int samples);
  // Seconds of every layer for one micro-batch.
  const std::vector<double>& layers(const Manner& manner, int samples);
  // Samples per second of one team with the best of its micro-batch sizes, up to kMostMicroBatch.
  double rate(const Manner& manner);
  // Samples per second that no plan on these devices exceeds: each device at its best micro-batch
  // size and tensor degree, without recompute, communication between teams, or waiting.
  double fastest_rate(const std::vector<int>& tensor_degrees);

  // Memory of a team: bytes used and capacity (search/mixed/team_memory.hpp).
  struct TeamBytes {
    double total = 0;
    double capacity = 0;
  };
  // Manner, zero, share of activations in host memory, micro-batch, number of micro-batches, share
  // of the state, and whether the team holds the whole state because no other team takes part.
  using TeamKey = std::tuple<Manner, int, double, int, int, double, bool>;
  std::map<TeamKey, TeamBytes> team_bytes{};

  std::int64_t evaluated = 0;    // placements predicted, except those of a single team
  std::function<bool()> stop{};  // polled in long searches; true ends them without an answer
  bool stopped() const { return stop && stop(); }

 private:
  const model::Model& model_;
  plan::Placement like_;
  std::vector<Group> groups_;
  cost::GeneralPredictor predictor_;
  std::map<std::pair<Manner, int>, double> seconds_;
  std::map<std::pair<Manner, int>, std::vector<double>> layers_;
  std::map<Manner, double> rates_;
};

}  // namespace nereus::mixed
