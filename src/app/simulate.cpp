#include "app/simulate.hpp"

#include <fmt/format.h>

#include <chrono>

#include "base/error.hpp"
#include "base/write_file.hpp"
#include "plan/expand.hpp"
#include "timeline/chrome_trace.hpp"
#include "timeline/svg.hpp"

namespace nereus::app {

SimulateAnswer simulate_plan(const SimulateRequest& request) {
  SimulateAnswer answer;
  answer.predicted = predict(request.predict);
  const ResolvedPlan& plan = answer.predicted.plan;
  std::optional<plan::Degrees> degrees = plan.degrees;
  if (!degrees) degrees = plan::as_regular(plan.placement, plan.model);
  if (!degrees || !plan.cluster.uniform())
    throw_input_error("simulate.irregular",
                      "this version simulates regular plans on clusters of one kind of node", {},
                      "nereus predict takes any placement");
  const auto begin = std::chrono::steady_clock::now();
  answer.step = simulate::simulate_step(plan.model, plan.cluster, plan.stack, *degrees);
  answer.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  answer.timeline = to_timeline(answer.step);
  if (!request.trace_file.empty())
    timeline::write_chrome_trace(request.trace_file, answer.timeline);
  if (!request.svg_file.empty())
    write_file(request.svg_file,
               timeline::svg_picture(
                   answer.timeline,
                   fmt::format("{}, {} stages, {} micro-batches: {}", plan.model.name, degrees->pp,
                               answer.step.size.micro_batches, to_string(degrees->schedule))));
  return answer;
}

}  // namespace nereus::app
