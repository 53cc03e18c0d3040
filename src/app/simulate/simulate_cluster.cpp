#include "app/simulate/simulate_cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "app/simulate/rank_groups.hpp"
#include "base/error.hpp"
#include "base/format.hpp"
#include "base/parse_number.hpp"
#include "base/write_file.hpp"
#include "plan/expand.hpp"
#include "predict/general/general_predictor.hpp"
#include "search/burst/burst_placement.hpp"
#include "search/burst/problem.hpp"
#include "simulate/step.hpp"
#include "timeline/svg.hpp"

namespace nereus::app {

namespace {

using simulate::IdleSpan;
using simulate::QueuedJob;
using simulate::SharedRanks;
using simulate::SimulatedStep;

bool read_count(const std::string& text, std::int64_t& number) {
  number = parse_number<std::int64_t>(text).value_or(0);
  return number > 0;
}

struct Wanted {
  std::string plan_file;
  std::int64_t steps = 0;
  std::int64_t copies = 1;  // 0: all
};

Wanted parse(const std::string& text, ErrorList& errors) {
  constexpr std::int64_t kMostCopies = 1'000'000;
  Wanted out;
  std::set<std::string> given;
  std::size_t begin = std::min(text.find(','), text.size());
  out.plan_file = text.substr(0, begin);
  if (out.plan_file.empty())
    errors.add("simulate.background", fmt::format("--background {} names no plan", text), {},
               "--background PLAN[,steps=N][,copies=N|all]");
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(',', begin + 1), text.size());
    const std::string part = text.substr(begin + 1, end - begin - 1);
    begin = end;
    const std::size_t equals = std::min(part.find('='), part.size());
    const std::string key = part.substr(0, equals);
    const std::string value = equals < part.size() ? part.substr(equals + 1) : "";
    bool good = false;
    if (key == "steps") good = read_count(value, out.steps);
    if (key == "copies") {
      good = value == "all" || (read_count(value, out.copies) && out.copies <= kMostCopies);
      if (value == "all") out.copies = 0;
    }
    if (!good)
      errors.add(
          "simulate.background", fmt::format("--background does not accept '{}'", part), {},
          fmt::format("steps=N (default: until the foreground ends), copies=N (default: 1) up to "
                      "{}, or copies=all",
                      kMostCopies));
    else if (!given.insert(key).second)
      errors.add("simulate.background",
                 fmt::format("{} appears twice in --background {}", key, text), {}, "once");
  }
  return out;
}

// Devices that a plan needs, from the first.
int devices_of(const plan::Placement& placement) {
  int last = 0;
  for (const plan::LayerRun& run : placement.runs) {
    for (const plan::Replicas& r : run.replicas)
      last = std::max(last, r.first + (r.count - 1) * r.team_stride +
                                (r.cp - 1) * r.context_stride + (r.tp - 1) * r.tensor_stride);
    for (const plan::StateShare& share : run.state)
      for (const plan::RankRange& range : share.ranks)
        last = std::max(last, range.first + (range.count - 1) * range.stride +
                                  (share.num_slices - 1) * share.slice_stride);
  }
  return last + 1;
}

plan::Placement placement_of(const ResolvedPlan& plan) {
  return plan.degrees ? cost::expand_for(*plan.degrees, plan.model, plan.basis.stack)
                      : plan.placement;
}

// All layers on as many ranks as there are samples or devices.
plan::Placement data_parallel(const ResolvedPlan& plan, const plan::Placement& own) {
  const auto batch = static_cast<int>(own.global_batch);
  const std::vector<int> counts = burst::candidate_counts(batch, plan.cluster.num_devices());
  burst::BurstPlan all;
  all.blocks.assign(static_cast<std::size_t>(plan.model.num_layers()),
                    {static_cast<int>(counts.size()) - 1, 0});
  return burst::placement_of(all, counts, batch, own.precision);
}

// The same batch on one device: work on several is measured by it.
double one_device_s(const ResolvedPlan& plan) {
  const plan::Placement own = placement_of(plan);
  plan::Degrees one;
  one.precision = own.precision;
  one.micro_batch = one.global_batch = static_cast<int>(own.global_batch);
  cost::GeneralPredictor predictor(plan.model, plan.cluster, plan.basis);
  return predictor.predict(plan::expand(one, plan.model)).step;
}

double idle_share(const std::vector<SharedRanks>& groups, double step_s, int num_devices) {
  double idle = 0;
  for (const SharedRanks& own : groups) {
    double each = own.used ? 0 : step_s;
    for (const IdleSpan& span : own.idle) each += span.end - span.start;
    idle += each * static_cast<double>(own.ranks.size());
  }
  return idle / (step_s * num_devices);
}

class ClusterPlayer {
 public:
  explicit ClusterPlayer(const ClusterSimulation& request) : request_(request) {
    out_.predicted = predict(request.foreground);
    out_.num_devices = plan().cluster.num_devices();
    out_.rules.bound = request.slowdown;
    out_.steps = request.steps;
    if (!plan().cluster.uniform())
      throw_input_error("simulate.background-cluster",
                        "the foreground has several kinds of machines", {}, "one kind of node");
  }

  ClusterAnswer play() {
    add_jobs();
    cost::GeneralPredictor predictor(plan().model, plan().cluster, plan().basis);
    const plan::Placement own = placement_of(plan());
    out_.one_device_s = one_device_s(plan());
    add_rows(predictor, "data parallel", data_parallel(plan(), own), false);
    add_rows(predictor, "plan", own, true);
    return std::move(out_);
  }

 private:
  const ResolvedPlan& plan() const { return out_.predicted.plan; }

  void add_jobs() {
    ErrorList errors;
    for (const std::string& text : request_.background) {
      const Wanted wanted = parse(text, errors);
      if (wanted.plan_file.empty()) continue;
      try {
        PredictRequest request;
        request.plan_file = wanted.plan_file;
        request.calibration = request_.foreground.calibration;
        const PredictAnswer own = predict(request);
        const int devices = devices_of(placement_of(own.plan));
        check(wanted, own, devices, errors);
        out_.jobs.push_back({fmt::format("{} ({})", wanted.plan_file, own.plan.model.name), devices,
                             own.prediction.step, own.prediction.memory.total, wanted.steps,
                             static_cast<int>(wanted.copies),
                             devices > 1 ? one_device_s(own.plan) : own.prediction.step});
      } catch (const Errors& e) {
        for (const Error& error : e.list()) errors.add(error);
      }
    }
    errors.throw_if_any();
  }
  void check(const Wanted& wanted, const PredictAnswer& own, int devices, ErrorList& errors) const {
    const cluster::Cluster& theirs = own.plan.cluster;
    const std::string& device = plan().cluster.groups.front().node.device.name;
    if (!theirs.uniform() || theirs.groups.front().node.device.name != device)
      errors.add("simulate.background-cluster",
                 fmt::format("{} is for {}, but the foreground's cluster has {}", wanted.plan_file,
                             theirs.uniform() ? theirs.groups.front().node.device.name
                                              : "several kinds of machine",
                             device),
                 {}, "a plan for the same devices");
    if (devices > out_.num_devices)
      errors.add("simulate.background-ranks",
                 fmt::format("{} is for {} devices, but the foreground's cluster has {}",
                             wanted.plan_file, devices, out_.num_devices),
                 {}, "a plan for fewer devices");
  }

  void add_rows(cost::GeneralPredictor& predictor, const std::string& name,
                const plan::Placement& placement, bool drawn) {
    const cost::StepWork work = predictor.work(placement);
    const SimulatedStep step = simulate::simulate_step(work, {});
    const RankGroups ranks = rank_groups(work, step, predictor.memory_by_rank(placement));
    const std::vector<SharedRanks>& groups = ranks.shared;
    if (drawn) {
      check_room(groups);
      out_.passes = ranks.drawing(step, out_.num_devices);
    }
    for (const bool shared : {false, true}) {
      ClusterRow row;
      row.name = name + (shared ? ", shared" : "");
      row.shared = shared;
      row.play =
          simulate::play_queue(groups, step.step, shared ? out_.jobs : std::vector<QueuedJob>{},
                               out_.rules, request_.steps);
      row.step_s = row.play.step_s;
      row.slowdown = row.play.slowdown;
      row.samples_per_s = static_cast<double>(placement.global_batch) / row.step_s;
      row.foreground = out_.one_device_s / row.step_s;
      row.background = row.play.background;
      row.idle = idle_share(groups, step.step, out_.num_devices);
      out_.rows.push_back(std::move(row));
    }
  }
  void check_room(const std::vector<SharedRanks>& groups) const {
    ErrorList errors;
    double most = 0;
    for (const SharedRanks& own : groups) most = std::max(most, own.room);
    for (const QueuedJob& job : out_.jobs)
      if (simulate::num_places(groups, job) == 0)
        errors.add("simulate.background-memory",
                   fmt::format("{} needs {} on each of {}, but the foreground leaves at most {}",
                               job.name, human(job.bytes, Unit::kBytes),
                               counted(job.num_ranks, "device", "neighbouring devices"),
                               human(std::max(0.0, most), Unit::kBytes)),
                   {}, "a smaller plan, or one on fewer devices");
    errors.throw_if_any();
  }

  const ClusterSimulation& request_;
  ClusterAnswer out_;
};

}  // namespace

ClusterAnswer simulate_cluster(const ClusterSimulation& request) {
  const auto begin = std::chrono::steady_clock::now();
  ClusterAnswer answer = ClusterPlayer(request).play();
  answer.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!request.svg_file.empty())
    write_file(
        request.svg_file,
        timeline::svg_picture(
            answer.passes,
            fmt::format("{}, one step on {}: busy time, and time free for background jobs",
                        answer.predicted.plan.model.name, counted(answer.num_devices, "device"))));
  return answer;
}

}  // namespace nereus::app
