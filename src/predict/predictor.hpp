// The time and memory of one training step of a regular plan, in closed form.
//
//   step = m T + bubble + transfers + gradient reduction + optimizer + host
// (ZeRO-2 without a pipeline: a reduction in each micro-batch, cost/data_parallel.hpp)
// with m micro-batches and T the slowest stage's forward and backward pass for one of them. Each
// term has a file that explains it:
//   cost/kernel_time.hpp, cost/layer_cost.hpp   a layer's kernels and its collectives
//   cost/stage_time.hpp                         one micro-batch on one stage
//   cost/pipeline_time.hpp                      bubble, transfers, activations in flight
//   cost/data_parallel.hpp                      sharding, gradient reduction, optimizer
//   predict/memory.hpp                          memory of a rank
//   cost/embedding.hpp                          embedding tables of recommendation models
// predict/general/general_predictor.hpp predicts any placement with the same functions, and agrees
// to 1e-9.
//
// Only the first group of nodes of the cluster counts, since regular plans are for uniform
// clusters. The degrees need not pass plan/rules.hpp (a table of measured runs may contain degrees
// that do not). But every degree must be at least 1, and the schedule must have a closed form
// (cost/pipeline_time.hpp).
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

// `model` must outlive the predictor. The tables grow once they hold more than `num_splits`
// distinct (tp, cp, ep, micro-batch, ...) splits. Only one thread may use a predictor at a time.
class Predictor {
 public:
  Predictor(const model::Model& model, const cluster::Cluster& cluster, const Basis& basis,
            int num_splits = 64);
  ~Predictor();
  Predictor(Predictor&&) noexcept;

  Prediction predict(const plan::Degrees& degrees);

  // Like predict(), but stops early once the result cannot matter. A pipeline may have to be
  // simulated pass by pass (predict/played.hpp), which is slow. Before that, a lower bound of its
  // step is computed, and the callback `counts` decides whether a prediction with this step could
  // still matter. If not, that prediction is returned with `exact` = false: its step is only a
  // lower bound. An empty `counts` always continues.
  struct Sketch {
    Prediction prediction;
    bool exact = true;
    double pipeline = 0;  // part of the step that stages, messages and gradient reduction take
    // Part of `pipeline`: exposed seconds of the reduction in each micro-batch but the last
    // (ZeRO-2).
    double reduced_each = 0;
  };
  using Counts = std::function<bool(const Prediction&)>;
  Sketch sketch(const plan::Degrees& degrees, const Counts& counts);

  // The passes, messages and reductions of the step, for the simulator.
  StepWork work(const plan::Degrees& degrees);

  // Whether compute or memory bandwidth limits the plan's kernels (predict/roofline.hpp).
  Roofline roofline(const plan::Degrees& degrees);

  // Number of devices that share the fast links: groups within them need no network.
  int domain() const;

  // Lower bounds for a search (predict/predictor_bound.cpp). bound() holds for all plans that have
  // the tp, pp, dp, cp, ep, expert_tp, batches, sequence parallelism, tensor overlap, precision,
  // context and table split of `degrees`, whatever their other fields: none of these plans has a
  // shorter step than `step`, or keeps a device busy for less time than `busy`.
  struct Bound {
    double step = 0;
    double busy = 0;  // seconds of the step in which a device computes
  };
  Bound bound(const plan::Degrees& degrees);
  // Like bound(), but only for plans that also have the schedule and interleave of `degrees`.
  Bound bound_of_schedule(const plan::Degrees& degrees);
  // Whether the step would be shorter if the plan needed less memory.
  bool memory_slows(const Prediction& prediction) const;

 private:
  std::unique_ptr<Tables> tables_;
};

}  // namespace nereus::cost
