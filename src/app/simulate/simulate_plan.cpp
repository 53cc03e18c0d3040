#include "app/simulate/simulate_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <numeric>

#include "base/error.hpp"
#include "base/format.hpp"
#include "base/write_file.hpp"
#include "plan/expand.hpp"
#include "predict/general/general_predictor.hpp"
#include "simulate/network/cluster_network.hpp"
#include "simulate/pipeline/order_file.hpp"
#include "simulate/step_timeline.hpp"
#include "timeline/chrome_trace.hpp"
#include "timeline/svg.hpp"

namespace nereus::app {

namespace {

constexpr int kMostSteps = 1'000'000;
constexpr int kUsualSteps = 100;

simulate::StepOptions options_of(const SimulateRequest& request) {
  simulate::StepOptions options;
  ErrorList errors;
  const auto attempt = [&](auto&& work) {
    try {
      work();
    } catch (const Errors& e) {
      for (const Error& error : e.list()) errors.add(error);
    }
  };
  if (!request.jitter.empty())
    attempt([&] { options.jitter.compute = simulate::parse_distribution(request.jitter); });
  if (!request.link_jitter.empty())
    attempt([&] { options.jitter.link = simulate::parse_distribution(request.link_jitter); });
  for (const std::string& slow : request.slow)
    attempt([&] { options.jitter.slow.push_back(simulate::parse_slow_rank(slow)); });
  if (request.seed) options.jitter.seed = *request.seed;
  const bool varies = !request.jitter.empty() || !request.link_jitter.empty();
  options.num_steps = request.steps.value_or(varies ? 0 : 1);
  if (request.steps && (options.num_steps < 1 || options.num_steps > kMostSteps))
    errors.add("simulate.steps", fmt::format("{} steps", options.num_steps), {},
               fmt::format("1 to {}", kMostSteps));
  if (options.num_steps > 1 && !varies)
    errors.add("simulate.steps",
               fmt::format("without --jitter, all {} steps are equal", options.num_steps), {},
               "--jitter normal:5%, or no --steps");
  if (!request.links.empty() && request.links != "stack" && request.links != "shared")
    errors.add("simulate.links", fmt::format("--links does not accept {}", request.links), {},
               "stack or shared");
  const bool own = varies || !request.slow.empty() || !request.order_file.empty();
  if (request.links == "shared" && (varies || !request.slow.empty()))
    errors.add("simulate.links", "--links shared does not work with jitter or slow ranks", {},
               "--links stack with them, or --links shared without them");
  if (request.layers && own)
    errors.add("simulate.layers", "--layers does not work with jitter, slow ranks or --order", {},
               "remove --layers");
  if (request.seed && !varies)
    errors.add("simulate.seed", "--seed has no effect without --jitter or --link-jitter", {},
               "remove --seed");
  if (!request.trace_file.empty() && request.trace_file == request.svg_file)
    errors.add("simulate.output", "--trace and --svg name the same file", {}, "use two names");
  errors.throw_if_any();
  return options;
}

// The degrees of a regular plan on nodes of one kind.
std::optional<plan::Degrees> regular(const ResolvedPlan& plan) {
  if (!plan.cluster.uniform()) return {};
  return plan.degrees ? plan.degrees : plan::as_regular(plan.placement, plan.model);
}

chakra::LayerPlay layers_of(const ResolvedPlan& plan) {
  const std::optional<plan::Degrees> degrees = regular(plan);
  if (!degrees || degrees->num_ranks() != plan.cluster.num_devices())
    throw_input_error("simulate.layers",
                      "--layers needs a regular plan that uses all devices of a cluster with one "
                      "kind of node",
                      {}, "remove --layers");
  return chakra::play_layers(chakra::make_step(plan.model, plan.cluster, plan.basis, *degrees),
                             simulate::network_of(plan.cluster));
}

cost::StepWork work_of(const ResolvedPlan& plan) {
  const std::optional<plan::Degrees> degrees = regular(plan);
  if (degrees) return cost::Predictor(plan.model, plan.cluster, plan.basis, 1).work(*degrees);
  const plan::Placement placement =
      plan.degrees ? cost::expand_for(*plan.degrees, plan.model, plan.basis.stack) : plan.placement;
  return cost::GeneralPredictor(plan.model, plan.cluster, plan.basis).work(placement);
}

// A hundred, or fewer if that would take more than some seconds.
int usual_steps(const cost::StepWork& work) {
  double passes = 0;
  for (const cost::LaneWork& lane : work.lanes)
    passes += 2.0 * lane.num_micro_batches * static_cast<double>(lane.passes.size()) *
              (lane.joint ? 1 : lane.num_teams());
  return static_cast<int>(std::clamp(1e8 / std::max(1.0, passes), 5.0, 1.0 * kUsualSteps));
}

// An order is for as many ranks, stages and micro-batches as the plan has.
void check_size(const simulate::PipelineSize& size, const cost::StepWork& work,
                const std::string& file) {
  const int chunks = (work.num_stages() + work.depth - 1) / work.depth;
  for (const cost::LaneWork& lane : work.lanes) {
    if (size == simulate::PipelineSize{work.depth, chunks, lane.num_micro_batches}) continue;
    throw_input_error("simulate.order-size",
                      fmt::format("the order is for {}, {} and {}, but the plan has {}, {} and {}",
                                  counted(size.depth, "pipeline rank"),
                                  counted(size.num_stages(), "virtual stage"),
                                  counted(size.micro_batches, "micro-batch", "micro-batches"),
                                  work.depth, work.num_stages(), lane.num_micro_batches),
                      {file}, "an order that matches the plan, or a plan that matches the order");
  }
}

// A file of all ranks, or in a folder ("traces/") one of each, as PyTorch's profiler writes them.
void write_trace(const std::string& path, const timeline::Timeline& all) {
  if (path.back() != '/') return timeline::write_chrome_trace(path, all);
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  int last = -1;
  for (const timeline::Lane& lane : all.lanes) {
    if (lane.process == last) continue;
    last = lane.process;
    timeline::write_chrome_trace(fmt::format("{}rank-{}.json.gz", path, last),
                                 timeline::of_process(all, last), {.kineto = true});
  }
}

std::string title_of(const SimulateAnswer& answer) {
  return fmt::format(
      "{}, {}, {}: {}", answer.predicted.plan.model.name, counted(answer.work.depth, "stage"),
      counted(answer.step.lanes.front().size.micro_batches, "micro-batch", "micro-batches"),
      plan::to_string(answer.work.schedule));
}

}  // namespace

StepQuantiles quantiles_of(std::vector<double> steps) {
  NEREUS_CHECK(!steps.empty(), "there is a step");
  std::sort(steps.begin(), steps.end());
  // Linear between the order statistics (Hyndman and Fan 1996, type 7).
  const auto at = [&](double share) {
    const double position = share * static_cast<double>(steps.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, steps.size() - 1);
    return steps[below] + (position - static_cast<double>(below)) * (steps[above] - steps[below]);
  };
  const double sum = std::accumulate(steps.begin(), steps.end(), 0.0);
  return {static_cast<int>(steps.size()),
          sum / static_cast<double>(steps.size()),
          steps.front(),
          at(0.05),
          at(0.5),
          at(0.95),
          at(0.99),
          steps.back()};
}

SimulateAnswer simulate_plan(const SimulateRequest& request) {
  simulate::StepOptions options = options_of(request);
  SimulateAnswer answer;
  answer.predicted = predict(request.predict);
  answer.work = work_of(answer.predicted.plan);
  if (!request.order_file.empty()) {
    simulate::OrderFile file = simulate::read_order(request.order_file);
    check_size(file.size, answer.work, request.order_file);
    options.order = std::move(file.order);
  }
  if (options.num_steps == 0) options.num_steps = usual_steps(answer.work);
  const auto begin = std::chrono::steady_clock::now();
  answer.step = simulate::simulate_step(answer.work, options);
  if (request.links == "shared")
    answer.shared = simulate::play_on_shared_links(answer.work, answer.step);
  answer.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (request.layers) {
    const auto start = std::chrono::steady_clock::now();
    answer.layers = layers_of(answer.predicted.plan);
    answer.layers_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  answer.statistics = simulate::statistics_of(answer.work, answer.step);
  answer.fits = answer.predicted.prediction.fits;
  if (options.order)
    for (const simulate::RankStatistics& rank : answer.statistics.ranks)
      answer.fits = answer.fits && rank.peak_bytes <= answer.predicted.prediction.memory.capacity;
  if (options.num_steps > 1) answer.quantiles = quantiles_of(answer.step.steps);
  answer.passes = simulate::passes_of(answer.step);
  if (!request.trace_file.empty())
    write_trace(request.trace_file, simulate::to_timeline(answer.work, answer.step));
  if (!request.svg_file.empty())
    write_file(request.svg_file, timeline::svg_picture(answer.passes, title_of(answer)));
  return answer;
}

}  // namespace nereus::app
