// The time and memory of one training step of a regular plan, in closed form.
//
//   step = m T + bubble + transfers + gradient reduction + optimizer + host
// with m micro-batches and T the slowest stage's forward and backward for one of them. One file
// says how each term comes about:
//   cost/kernel_time.hpp, cost/layer_cost.hpp   a layer's kernels and its collectives
//   cost/stage_time.hpp                         one micro-batch on one stage
//   cost/pipeline_time.hpp                      bubble, transfers, activations in flight
//   cost/data_parallel.hpp                      sharding, gradient reduction, optimizer
//   predict/memory.hpp                          memory of a rank
//   cost/embedding.hpp                          embedding tables of recommendation models
// predict/general/general_predictor.hpp predicts any placement from the same functions, and agrees
// to 1e-9.
//
// The machine is the cluster's first group of nodes: a regular plan is for uniform clusters.
// Degrees need not pass plan/rules.hpp (a table of runs may hold some that failed), but every one
// of them is at least 1 and the schedule has a closed form (cost/pipeline_time.hpp).
//
//   Predictor predictor(model, cluster, basis);
//   Prediction p = predictor.predict(degrees);   // allocates only while its tables fill
#pragma once

#include <functional>
#include <memory>

#include "cluster/cluster.hpp"
#include "cost/basis.hpp"
#include "model/model.hpp"
#include "plan/degrees.hpp"
#include "predict/prediction.hpp"
#include "predict/roofline.hpp"
#include "predict/step_work.hpp"

namespace nereus::cost {

class Tables;

// `model` must outlive the predictor. `num_splits` is how many distinct (tp, cp, ep, micro-batch,
// ...) splits the tables hold before they grow. One thread at a time.
class Predictor {
 public:
  Predictor(const model::Model& model, const cluster::Cluster& cluster, const Basis& basis,
            int num_splits = 64);
  ~Predictor();
  Predictor(Predictor&&) noexcept;

  Prediction predict(const plan::Degrees& degrees);

  // The same only as far as it counts. Where the order of passes decides (predict/played.hpp), a
  // step that the prediction's is not below is known sooner: `counts` is asked whether one with
  // that step, and all else as predicted, would still count. It is left there, not exact, if not.
  struct Sketch {
    Prediction prediction;
    bool exact = true;
    double pipeline = 0;  // seconds of the step for stages, messages and reduction
  };
  using Counts = std::function<bool(const Prediction&)>;
  Sketch sketch(const plan::Degrees& degrees, const Counts& counts);

  // What the step is made of, for the simulator.
  StepWork work(const plan::Degrees& degrees);

  // How its compute stands between the device's peak and its memory.
  Roofline roofline(const plan::Degrees& degrees);

  // Devices that share the fast links: groups within them need no network.
  int domain() const;

  // Bounds for a search (predict/predictor_bound.cpp). No plan with the tp, pp, dp, cp, ep,
  // expert_tp, batches, sequence parallelism, tensor overlap, precision, context and table split of
  // `degrees` takes a shorter step, or keeps a device busy for less, whatever the rest of it says
  // ...
  struct Bound {
    double step = 0;
    double busy = 0;  // seconds of compute in it
  };
  Bound bound(const plan::Degrees& degrees);
  // ... and none that also has its schedule and interleave.
  Bound bound_of_schedule(const plan::Degrees& degrees);
  // Whether the step would be shorter if the plan needed less memory.
  bool memory_slows(const Prediction& prediction) const;

 private:
  std::unique_ptr<Tables> tables_;
};

}  // namespace nereus::cost
