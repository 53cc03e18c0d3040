// What a mixed search asks of the predictor, group by group of equal nodes, each answer once.
//
//   Machines machines(model, cluster, basis, like);           // `like`: batch, precision
//   machines.seconds({group, tp, recompute}, 4);              // of one micro-batch of four samples
//   machines.fastest_rate();                                  // samples/s of all devices at most
//
// A lane's time is that of a team alone: (step with two micro-batches) - (step with one), so that
// it is the predictor's own to the last digit wherever lanes do not wait for each other.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "predict/general/general_predictor.hpp"

namespace nereus::mixed {

// Devices of a group: ranks first .. first + count - 1, `per_node` of them in a node.
struct Group {
  int first = 0;
  int count = 0;
  int per_node = 1;
};
std::vector<Group> groups_of(const cluster::Cluster& cluster);

inline constexpr int kMostMicroBatch = 64;  // samples; larger ones gain nothing measurable

// How a team of a group computes.
struct Manner {
  int group = 0;
  int tp = 1;
  plan::Recompute recompute = plan::Recompute::kNone;
  auto operator<=>(const Manner&) const = default;
};

// Whether a layer of the model can be cut into tp slices, its sequence too.
bool can_cut(const model::Model& model, int tp);

// A run of all layers on one team of a group, with copies of all state there.
plan::Placement alone(const plan::Placement& like, const model::Model& model, const Group& group,
                      const Manner& manner, int samples, int num_micro_batches);

class Machines {
 public:
  // All must outlive this.
  Machines(const model::Model& model, const cluster::Cluster& cluster, const cost::Basis& basis,
           const plan::Placement& like);

  const std::vector<Group>& groups() const { return groups_; }
  const model::Model& model() const { return model_; }
  const plan::Placement& like() const { return like_; }
  cost::GeneralPredictor& predictor() { return predictor_; }

  double seconds(const Manner& manner, int samples);
  // Of every layer for one micro-batch.
  const std::vector<double>& layers(const Manner& manner, int samples);
  // Samples per second of one team at the best of its micro-batches, up to kMostMicroBatch.
  double rate(const Manner& manner);
  // Samples per second that no plan of these devices exceeds: each at the best of its micro-batch
  // sizes and tensor degrees, nothing recomputed, nothing sent between teams, none waiting.
  double fastest_rate(const std::vector<int>& tensor_degrees);

  // Of a team by what it does: bytes and capacity (search/mixed/team_memory.hpp).
  struct TeamBytes {
    double total = 0;
    double capacity = 0;
  };
  // Manner, zero, share of activations in host memory; micro-batch, their number; share of the
  // state; whether no other team takes part, so that all of it is here.
  using TeamKey = std::tuple<Manner, int, double, int, int, double, bool>;
  std::map<TeamKey, TeamBytes> team_bytes{};

  std::int64_t evaluated = 0;    // placements predicted, but for a team alone
  std::function<bool()> stop{};  // asked in long searches; true ends them without an answer
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
