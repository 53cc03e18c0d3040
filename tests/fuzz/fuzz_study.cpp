// A study file. What is accepted numbers its points so that every number comes back to itself, and
// has a cluster, or none, at the first and the last.
#include "fuzz.hpp"
#include "search/explore/study_file.hpp"

namespace nereus::explore {
namespace {

void study_text_of(std::string_view text) {
  // Thousands of shapes of a model are a study, and a slow one to read.
  if (text.size() > 2048) return;
  const Study study = study_from_text(std::string(text), "fuzz.toml", {});
  const std::int64_t points = study.num_points();
  NEREUS_CHECK(points > 0, "a study without points");
  if (points == kMostPoints) return;
  for (const std::int64_t point : {std::int64_t{0}, points / 2, points - 1}) {
    const Coordinates at = coordinates(study, point);
    NEREUS_CHECK(point_at(study, at) == point, "a point that is another");
    (void)cluster_at(study, at);
    NEREUS_CHECK(!point_name(study, at).empty(), "a point without a name");
  }
}

}  // namespace
}  // namespace nereus::explore

NEREUS_FUZZER(study)(const std::uint8_t* data, std::size_t size) {
  return nereus::fuzz(data, size, nereus::explore::study_text_of);
}
