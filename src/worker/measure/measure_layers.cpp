#include "worker/measure/measure_layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <sstream>

#include "base/error.hpp"
#include "base/format.hpp"
#include "worker/execute/samples.hpp"
#include "worker/measure/timed_call.hpp"
#include "worker/run/rank_messages.hpp"

namespace nereus::worker {

namespace {

using profile::MeasuredLayer;

constexpr int kWarmUpSteps = 2;
constexpr double kHeld = 1.5;         // times what the host takes to launch a step
constexpr int kGraphWarmUpSteps = 4;  // the last of them as graphs, if the trainer uses graphs

// Of one step: forward and backward times by kind of layer, the update with the zeroing of
// gradients, and the time of a plain step.
struct StepTimes {
  std::vector<double> forward, backward;
  double update = 0;
  double plain = 0;
};

struct Point {
  double samples = 0;
  std::vector<StepTimes> steps;
};

profile::Role role_of(model::LayerRole role) {
  switch (role) {
    case model::LayerRole::kEmbedding:
      return profile::Role::kEmbedding;
    case model::LayerRole::kBlock:
      return profile::Role::kBlock;
    case model::LayerRole::kHead:
      return profile::Role::kHead;
    case model::LayerRole::kOther:
      break;
  }
  return profile::Role::kOther;
}

int count_of(const model::Model& model, std::size_t kind) {
  return static_cast<int>(
      std::count(model.layers.begin(), model.layers.end(), static_cast<int>(kind)));
}

// One model with one number of samples, on this rank's team.
class LayerRun {
 public:
  LayerRun(const job::Job& job, Comm& comm, int rank_of_team)
      : job_(job),
        device_(job.machine.device),
        executor_(job, comm, make_reader(job, rank_of_team, 0)),
        clock_(device_, job.plan.model.num_layers()) {}

  // Whether steps are cut graphs, as in the trainer.
  bool is_cut() const {
    return device_.is_cuda() && StepGraph::is_built() && job_.machine.graphs &&
           job_.plan.model.transformer && executor_.rank_plan().stages.size() == 1 &&
           job_.plan.placement.runs.front().replicas.front().tp == 1;
  }

  void warm_up() {
    const int steps = device_.is_cuda() ? kGraphWarmUpSteps : kWarmUpSteps;
    for (int i = 0; i < steps; ++i) executor_.run(next_step_++);
  }

  StepTimes step() {
    const double plain = plain_step();
    StepTimes times = is_cut() ? differences() : clocked();
    times.plain = plain;
    times.update += seconds_of([&] {  // gradients are zeroed
      for (const auto& state : executor_.states()) state->begin_step();
    });
    return times;
  }

 private:
  StepTimes empty_times() const {
    const std::size_t kinds = job_.plan.model.kinds.size();
    return {std::vector<double>(kinds), std::vector<double>(kinds), 0, 0};
  }

  double seconds_of(const std::function<void()>& what) const {
    finish_device(device_);
    const auto start = std::chrono::steady_clock::now();
    what();
    finish_device(device_);
    return since(start);
  }

  // A step as in training, except for waits for samples that are not ready.
  double plain_step() {
    double waited = 0;
    const double all = seconds_of([&] { waited = executor_.run(next_step_++).waits.data; });
    return all - waited;
  }

  StepTimes clocked() {
    StepTimes times = empty_times();
    // The host launches a whole step before the device begins it. So the layers are measured, and
    // not the time that the device waits for launches of small ones, which the trainer's graph does
    // not have.
    if (device_.is_cuda()) hold_device(kHeld * last_clocked_);
    executor_.layer_clock = &clock_;
    last_clocked_ = seconds_of([&] { executor_.run(next_step_++); }) - kHeld * last_clocked_;
    executor_.layer_clock = nullptr;
    clock_.settle();
    const model::Model& model = job_.plan.model;
    for (int i = 0; i < model.num_layers(); ++i) {
      const auto kind = static_cast<std::size_t>(model.layers[i]);
      times.forward[kind] += clock_.seconds(i, LayerClock::kForward) / count_of(model, kind);
      times.backward[kind] += clock_.seconds(i, LayerClock::kBackward) / count_of(model, kind);
    }
    times.update = clock_.seconds(0, LayerClock::kUpdate);
    return times;
  }

  StepTimes differences() {
    StepTimes times = empty_times();
    const model::Model& model = job_.plan.model;
    const int n = model.num_layers();
    executor_.run_cut(2 * n);  // samples are there, and libraries have chosen their kernels
    std::vector<double> until;
    for (int passes = 0; passes <= 2 * n; ++passes) until.push_back(replay_cut(passes));
    for (int i = 0; i < 2 * n; ++i) {
      const int layer = i < n ? i : 2 * n - 1 - i;
      const auto kind = static_cast<std::size_t>(model.layers[layer]);
      const double seconds = until[static_cast<std::size_t>(i) + 1] - until[i];
      (i < n ? times.forward : times.backward)[kind] += seconds / count_of(model, kind);
    }
    times.update = seconds_of([&] { executor_.optimizer().update(next_step_++, 1); });
    return times;
  }

  // One graph at a time: each keeps what its passes made.
  double replay_cut(int passes) {
    constexpr int kReplays = 5;
    StepGraph graph;
    graph.capture([&] { executor_.run_cut(passes); });
    graph.replay();
    const auto replays = [&] {
      for (int i = 0; i < kReplays; ++i) graph.replay();
    };
    return seconds_of(replays) / kReplays;
  }

  job::Job job_;
  at::Device device_;
  Executor executor_;
  LayerClock clock_;
  std::int64_t next_step_ = 0;
  double last_clocked_ = 0;  // seconds that the host took for the step before
};

// Means over all ranks, so that every rank goes on alike.
void average(Links& links, StepTimes& times) {
  std::vector<double> flat = times.forward;
  flat.insert(flat.end(), times.backward.begin(), times.backward.end());
  flat.push_back(times.plain);
  flat.push_back(times.update);
  flat = links.mean(flat);
  const std::size_t kinds = times.forward.size();
  std::copy_n(flat.begin(), kinds, times.forward.begin());
  std::copy_n(flat.begin() + static_cast<std::ptrdiff_t>(kinds), kinds, times.backward.begin());
  times.plain = flat[2 * kinds];
  times.update = flat.back();
}

MeasuredLayer describe(const job::Job& job, std::size_t kind, const std::string& device) {
  const model::Model& model = job.plan.model;
  const model::LayerKind& own = model.kinds[kind];
  MeasuredLayer layer;
  layer.model = model.name;
  layer.role = role_of(own.role);
  layer.layer = own.name;
  if (model.transformer) {
    layer.hidden = model.transformer->hidden;
    layer.seq = model.transformer->seq;
  }
  layer.elements = own.input_elements;
  layer.parameters = own.parameters();
  layer.device = device;
  layer.precision = to_string(job.plan.placement.precision);
  layer.tp = job.plan.placement.runs.front().replicas.front().tp;
  layer.includes_collectives = layer.tp > 1;
  layer.includes_launches = true;
  layer.includes_rest = true;
  return layer;
}

// The update does not depend on samples: one number, of all steps.
double update_of(const std::vector<Point>& points) {
  std::vector<double> updates;
  for (const Point& point : points)
    for (const StepTimes& step : point.steps) updates.push_back(step.update);
  return profile::quantile(updates, 0.5);
}

// Makes layers and update add up to the plain step. The additional time of the plain step is added
// to the first layer's forward pass. If the plain step is shorter, because of noise or because it
// reads no clocks, the first layer's forward pass becomes shorter or, if it is too short for that,
// all passes do in proportion.
void add_rest(const model::Model& model, double update, StepTimes& step) {
  double passes = 0;
  for (std::size_t k = 0; k < model.kinds.size(); ++k)
    passes += count_of(model, k) * (step.forward[k] + step.backward[k]);
  double& first = step.forward[model.layers.front()];
  const double rest = step.plain - update - passes;
  if (first + rest > 0) {
    first += rest;
  } else if (passes + rest > 0) {
    for (double& seconds : step.forward) seconds *= 1 + rest / passes;
    for (double& seconds : step.backward) seconds *= 1 + rest / passes;
  }
}

// Adds a number of samples to every layer.
void add_point(std::vector<MeasuredLayer>& layers, const model::Model& model, double update,
               Point point) {
  for (StepTimes& step : point.steps) add_rest(model, update, step);
  for (std::size_t k = 0; k < layers.size(); ++k) {
    std::vector<double> forward, backward;
    for (const StepTimes& own : point.steps) {
      forward.push_back(own.forward[k]);
      backward.push_back(own.backward[k]);
    }
    MeasuredLayer& layer = layers[k];
    const auto put = [](const std::vector<double>& times, std::vector<double>& median,
                        std::vector<double>& low, std::vector<double>& high) {
      const profile::Quantiles q = profile::quantiles_of(times);
      median.push_back(q.median);
      low.push_back(std::max(0.0, q.low));
      high.push_back(q.high);
    };
    layer.samples.push_back(point.samples);
    put(forward, layer.forward, layer.forward_low, layer.forward_high);
    put(backward, layer.backward, layer.backward_low, layer.backward_high);
    // A weight that two layers share is updated once.
    if (layer.parameters > 0) layer.update = update * layer.parameters / model.parameters();
  }
}

// Layers that were too quick for differences of two clocks say nothing.
void leave_out_what_took_no_time(std::vector<MeasuredLayer>& layers) {
  const auto no_time = [](const std::vector<double>& times) {
    return std::any_of(times.begin(), times.end(), [](double t) { return !(t > 0); });
  };
  std::erase_if(layers, [&](const MeasuredLayer& layer) { return no_time(layer.forward); });
  for (MeasuredLayer& layer : layers)
    if (no_time(layer.backward)) {
      layer.backward.clear();
      layer.backward_low.clear();
      layer.backward_high.clear();
    }
}

std::unique_ptr<Comm> open_team(const job::MeasureJob& job, const RankOptions& place) {
  const int team = place.rank / job.team;
  std::istringstream ports(job.ports);
  CommOptions options;
  for (int i = 0; i <= team; ++i) ports >> options.port;
  options.backend = job.team == 1 ? "shared" : job.comm;
  options.rank = place.rank % job.team;
  options.num_ranks = job.team;
  options.address = place.address;
  options.job = fmt::format("{}-{}-team-{}", place.address, place.port, team);
  options.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(job.timeout_s * 1000));
  return open_comm(options);
}

}  // namespace

std::vector<MeasuredLayer> measure_layers(const job::MeasureJob& request, const RankOptions& place,
                                          Links& links, const std::string& device_name,
                                          const Say& say) {
  const int num_steps = depth_of(request.quick).rounds;
  const double longest =
      request.quick ? 2 : 15;                    // seconds of a step after which no larger is tried
  const double budget = request.quick ? 2 : 15;  // of one number of samples
  const std::unique_ptr<Comm> team = open_team(request, place);
  std::vector<MeasuredLayer> layers;
  std::vector<Point> points;
  model::Model model;
  for (int number = 0; number < request.num_jobs; ++number) {
    const job::Job job = job::load_job(fmt::format("{}/job-{}.json", request.scratch, number));
    check_can_run(job);
    const auto samples = static_cast<double>(job.plan.placement.global_batch);
    say(fmt::format("layers of {}, {}", job.plan.model.name,
                    counted(fmt::format("{:g}", samples), "sample")));
    if (layers.empty()) {
      model = job.plan.model;
      for (std::size_t k = 0; k < model.kinds.size(); ++k)
        layers.push_back(describe(job, k, device_name));
    }
    LayerRun run(job, *team, place.rank % request.team);
    run.warm_up();
    std::vector<StepTimes> steps;
    const auto start = std::chrono::steady_clock::now();
    double spent = 0, last = 0;
    while (static_cast<int>(steps.size()) < num_steps && (steps.size() < 3 || spent < budget)) {
      links.barrier();
      steps.push_back(run.step());
      average(links, steps.back());
      const double now = links.mean({since(start)}).front();
      last = now - spent;
      spent = now;
    }
    points.push_back({samples, std::move(steps)});
    if (last > longest) break;
  }
  const double update = update_of(points);
  for (const Point& point : points) add_point(layers, model, update, point);
  leave_out_what_took_no_time(layers);
  return layers;
}

}  // namespace nereus::worker
