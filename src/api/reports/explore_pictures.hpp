// The pictures of a study: the Pareto front, where the time goes, and each axis as a line and as a
// heat map of layouts.
//
//   for (const StudyPicture& p : explore_pictures(answer)) write_file(p.name + ".svg", p.svg);
#pragma once

#include <string>
#include <vector>

#include "app/explore/explore.hpp"

namespace nereus::api {

struct StudyPicture {
  enum class Kind { kFront, kTime, kAxis } kind = Kind::kFront;
  std::string name;  // "heat-network_bandwidth"; also its id, so it must be unique
  std::string svg;
  std::string caption;
};

// Empty if the study found no plan.
std::vector<StudyPicture> explore_pictures(const app::ExploreAnswer& answer);

}  // namespace nereus::api
