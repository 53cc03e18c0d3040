// Plans of an elastic job: the fastest predicted plan for a number of machines.
//
//   ElasticPlans plans(request, shapes);
//   std::optional<ElasticPlan> p = plans.best(6);       // empty: none fits on 6 or fewer
#pragma once

#include <map>
#include <optional>

#include "app/train/train_elastic.hpp"
#include "base/error.hpp"

namespace nereus::app {

struct ElasticPlan {
  ResolvedPlan resolved;
  int num_ranks = 1;
  double step_s = 0;
};

std::string shape_text(const ElasticPlan& plan);  // "pp 2 dp 3"

class ElasticPlans {
 public:
  ElasticPlans(const TrainRequest& request, std::vector<Shape> shapes);
  std::optional<ElasticPlan> best(int machines);
  // Why the last best() found no plan.
  const std::optional<Errors>& reason() const { return reason_; }

 private:
  std::optional<ElasticPlan> try_shape(const Shape& shape);
  std::optional<ElasticPlan> planned(int machines);

  TrainRequest request_;
  std::vector<Shape> shapes_;
  std::string node_;  // of the cluster; empty: machines like this one
  std::map<int, std::optional<ElasticPlan>> known_;  // by number of machines
  std::map<std::pair<int, int>, std::optional<ElasticPlan>> tried_;
  std::optional<Errors> reason_;
};

}  // namespace nereus::app
