#include "app/simulate_cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/error.hpp"
#include "base/format.hpp"
#include "base/parse_number.hpp"
#include "base/write_file.hpp"
#include "cost/general.hpp"
#include "plan/expand.hpp"
#include "search/burst/placement.hpp"
#include "search/burst/problem.hpp"
#include "simulate/step.hpp"
#include "timeline/svg.hpp"

namespace nereus::app {

namespace {

using simulate::IdleSpan;
using simulate::QueuedJob;
using simulate::SharedRanks;
using simulate::SimulatedStep;

double seconds_of(simulate::Picoseconds ps) { return static_cast<double>(ps) * 1e-12; }

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
      errors.add("simulate.background",
                 fmt::format("'{}' of --background is none of its keys and values", part), {},
                 "steps=N (as long as the foreground), copies=N or copies=all (1)");
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
  return plan.degrees ? cost::expand_for(*plan.degrees, plan.model, plan.stack) : plan.placement;
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

// The same batch on one device, by which work on several is counted.
double one_device_s(const ResolvedPlan& plan) {
  const plan::Placement own = placement_of(plan);
  plan::Degrees one;
  one.precision = own.precision;
  one.micro_batch = one.global_batch = static_cast<int>(own.global_batch);
  cost::GeneralPredictor predictor(plan.model, plan.cluster, plan.stack);
  return predictor.predict(plan::expand(one, plan.model)).step;
}

// Ranks by what they do, with the spans between [0, end) in which they do nothing.
class Groups {
 public:
  Groups(const cost::StepWork& work, const SimulatedStep& step) : step_(step) {
    if (step.layers)
      for (std::size_t c = 0; c < work.layers->classes.size(); ++c) add_class(work, c);
    else
      for (const simulate::SimulatedTeam& team : step.teams) add_team(work, team);
  }
  // And those of no use, and what memory is left.
  std::vector<SharedRanks> with_memory(
      const std::vector<cost::GeneralPredictor::RankBytes>& bytes) {
    std::vector<bool> used(bytes.size());
    for (SharedRanks& own : out_) {
      std::erase_if(own.ranks, [&](int rank) { return rank >= static_cast<int>(bytes.size()); });
      own.room = bytes.empty() ? 0 : bytes.front().capacity;
      for (const int rank : own.ranks) {
        used[static_cast<std::size_t>(rank)] = true;
        const auto& rank_bytes = bytes[static_cast<std::size_t>(rank)];
        own.room = std::min(own.room, rank_bytes.capacity - rank_bytes.total);
      }
    }
    SharedRanks free;
    free.used = false;
    for (std::size_t rank = 0; rank < bytes.size(); ++rank)
      if (!used[rank]) free.ranks.push_back(static_cast<int>(rank));
    if (!free.ranks.empty()) {
      free.room = bytes[static_cast<std::size_t>(free.ranks.front())].capacity;
      out_.push_back(std::move(free));
    }
    return std::move(out_);
  }

 private:
  void add_class(const cost::StepWork& work, std::size_t index) {
    SharedRanks own;
    own.ranks = work.layers->classes[index];
    simulate::Picoseconds free = 0;
    for (const simulate::HeldSpan& span : step_.layers->classes[index].held) {
      add(own, free, span.start);
      free = span.end;
    }
    // Then gradients are summed and weights updated, by all.
    add(own, free, step_.layers->end);
    out_.push_back(std::move(own));
  }
  void add_team(const cost::StepWork& work, const simulate::SimulatedTeam& team) {
    const cost::LaneWork& lane = work.lanes[static_cast<std::size_t>(team.lane)];
    for (std::size_t r = 0; r < team.played.ranks.size(); ++r) {
      SharedRanks own;
      // A team stands for those behind it that draw nothing of their own.
      for (int t = 0; t < team.count; ++t)
        for (int i = 0; i < lane.ranks_per_team; ++i)
          own.ranks.push_back(
              lane.ranks[static_cast<std::size_t>(lane.joint ? t : team.team + t)][r] + i);
      simulate::Picoseconds free = 0;
      for (const simulate::PlayedOp& op : team.played.ranks[r].ops) {
        add(own, free, op.start);
        free = op.end;
      }
      if (!team.reduced[r].empty()) free = std::max(free, team.reduced[r].back().end);
      // Then the host ends the step, by all alike: nobody's gap.
      add(own, free, step_.meet - std::llround(lane.closing * 1e12));
      out_.push_back(std::move(own));
    }
  }
  static void add(SharedRanks& own, simulate::Picoseconds start, simulate::Picoseconds end) {
    if (end > start) own.idle.push_back({seconds_of(start), seconds_of(end)});
  }

  const SimulatedStep& step_;
  std::vector<SharedRanks> out_;
};

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
                        "the foreground's machines are of several kinds", {}, "one kind of node");
  }

  ClusterAnswer play() {
    add_jobs();
    cost::GeneralPredictor predictor(plan().model, plan().cluster, plan().stack);
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
                 fmt::format("{} is for {}, and the foreground's cluster has {}", wanted.plan_file,
                             theirs.uniform() ? theirs.groups.front().node.device.name
                                              : "several kinds of machine",
                             device),
                 {}, "a plan for the same devices");
    if (devices > out_.num_devices)
      errors.add("simulate.background-ranks",
                 fmt::format("{} is for {} devices, and the foreground's cluster has {}",
                             wanted.plan_file, devices, out_.num_devices),
                 {}, "a plan for fewer devices");
  }

  void add_rows(cost::GeneralPredictor& predictor, const std::string& name,
                const plan::Placement& placement, bool drawn) {
    const cost::StepWork work = predictor.work(placement);
    const SimulatedStep step = simulate::simulate_step(work, {});
    const std::vector<SharedRanks> groups =
        Groups(work, step).with_memory(predictor.memory_by_rank(placement));
    if (drawn) {
      check_room(groups);
      draw(groups, step);
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
                   fmt::format("{} needs {} on each of {} {}, and the foreground leaves {} at most",
                               job.name, human(job.bytes, Unit::kBytes), job.num_ranks,
                               job.num_ranks == 1 ? "device" : "neighbouring devices",
                               human(std::max(0.0, most), Unit::kBytes)),
                   {}, "a smaller plan, or one on fewer devices");
    errors.throw_if_any();
  }
  // What every group does, and what is left in between.
  void draw(const std::vector<SharedRanks>& groups, const SimulatedStep& step) {
    timeline::Timeline& all = out_.passes;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const SharedRanks& own = groups[g];
      all.lanes.push_back({static_cast<int>(g),
                           fmt::format("{} x rank {}", own.ranks.size(), own.ranks.front()),
                           "step"});
      if (!own.used) continue;
      if (step.layers)
        draw_layers(static_cast<int>(g), step);
      else
        draw_busy(static_cast<int>(g), own, step);
    }
    all.marks.push_back(timeline::step_mark(0, 0, step.end));
    all.num_ranks = out_.num_devices;
  }
  void draw_layers(int lane, const SimulatedStep& step) {
    using timeline::SliceKind;
    std::vector<timeline::Slice>& slices = out_.passes.slices;
    for (const simulate::HeldSpan& span :
         step.layers->classes[static_cast<std::size_t>(lane)].held) {
      const SliceKind kind = span.layer < 0  ? SliceKind::kSend
                             : span.backward ? SliceKind::kBackward
                                             : SliceKind::kForward;
      slices.push_back({lane, span.start, span.end, kind, -1, 0});
    }
    if (step.end > step.layers->end)
      slices.push_back({lane, step.layers->end, step.end, SliceKind::kReduce});
  }
  void draw_busy(int lane, const SharedRanks& own, const SimulatedStep& step) {
    const auto picoseconds = [](double s) { return static_cast<std::int64_t>(s * 1e12 + 0.5); };
    std::int64_t free = 0;
    const auto busy_until = [&](std::int64_t end) {
      if (end > free)
        out_.passes.slices.push_back({lane, free, end, timeline::SliceKind::kForward, -1, 0});
    };
    for (const IdleSpan& span : own.idle) {
      busy_until(picoseconds(span.start));
      free = picoseconds(span.end);
    }
    busy_until(step.end);
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
        timeline::svg_picture(answer.passes,
                              fmt::format("{}, one step of {} devices: busy, and left to "
                                          "background jobs",
                                          answer.predicted.plan.model.name, answer.num_devices)));
  return answer;
}

}  // namespace nereus::app
