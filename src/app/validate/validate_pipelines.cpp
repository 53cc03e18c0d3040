#include "app/validate/validate_pipelines.hpp"

#include <cmath>

#include "base/error.hpp"
#include "base/parallel.hpp"

namespace nereus::app {

namespace {

PipelineSum sum_of(const std::vector<PipelineRow>& rows, bool gpipe) {
  PipelineSum sum{.mode = gpipe ? "gpipe" : "varuna"};
  for (const PipelineRow& row : rows) {
    if (row.run.gpipe != gpipe) continue;
    ++sum.rows;
    for (std::size_t view = 0; view < kVarunaViews.size(); ++view) {
      const double error = row.ours[view].mean / row.run.simulated - 1;
      sum.bias[view] += error;
      sum.mean_abs[view] += std::abs(error);
      if (std::abs(error) > std::abs(sum.worst[view])) sum.worst[view] = error;
    }
    const simulate::VarunaTime& same = row.ours.front();
    const double away = std::abs(row.run.simulated - same.mean);
    sum.within_two += away <= 2 * same.deviation ? 1 : 0;
    sum.within_four += away <= 4 * same.deviation ? 1 : 0;
  }
  for (std::size_t view = 0; view < kVarunaViews.size() && sum.rows > 0; ++view) {
    sum.bias[view] /= sum.rows;
    sum.mean_abs[view] /= sum.rows;
  }
  return sum;
}

}  // namespace

ValidatePipelinesAnswer validate_pipelines(const std::string& file) {
  ValidatePipelinesAnswer answer;
  for (const simulate::VarunaRun& run : simulate::read_varuna_runs(spec::read_csv(file)))
    answer.rows.push_back({run, {}});
  if (answer.rows.empty())
    throw_input_error("simulate.no-rows", "the table has no rows", {file, 0, 0},
                      "rows as in data/varuna/simulator_runs.csv");
  parallel_for(answer.rows.size(), [&](std::size_t i) {
    for (std::size_t view = 0; view < kVarunaViews.size(); ++view)
      answer.rows[i].ours[view] =
          simulate::play_varuna_run(answer.rows[i].run, kVarunaViews[view], kVarunaDraws);
  });
  for (const bool gpipe : {false, true})
    if (PipelineSum sum = sum_of(answer.rows, gpipe); sum.rows > 0) answer.sums.push_back(sum);
  return answer;
}

}  // namespace nereus::app
