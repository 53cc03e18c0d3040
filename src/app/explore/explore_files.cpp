#include "app/explore/explore_files.hpp"

#include <fmt/format.h>

#include "base/write_file.hpp"
#include "plan/plan_json.hpp"
#include "predict/general/general_predictor.hpp"

namespace nereus::app {

void write_study_csv(const std::string& path, const ExploreAnswer& answer) {
  // Line by line: a study may have more points than fit into memory.
  write_file(path, [&](const TextSink& take) { answer.results->write_csv(take); });
}

void write_best_plan(const std::string& path, const ExploreAnswer& answer) {
  const PointDetail& best = answer.best.front();
  const explore::Variant& variant = answer.study.variants[best.answer.at.variant];
  const explore::StudyMachine& machine = answer.study.machines[best.answer.at.machine];
  plan::Plan file;
  file.model = variant.model;
  file.cluster = best.cluster;
  const cluster::NodeGroup& group = file.cluster.groups.front();
  file.cluster.name = fmt::format("{}x{}", group.count, group.node.name);
  file.stack = machine.basis_for(variant).stack.name;
  file.degrees = best.answer.found.degrees;
  file.placement = cost::expand_for(*file.degrees, file.model, machine.basis_for(variant).stack);
  plan::save_plan(path, file);
}

}  // namespace nereus::app
