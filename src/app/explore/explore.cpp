#include "app/explore/explore.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <mutex>

#include "base/build_info.hpp"
#include "base/error.hpp"
#include "base/format.hpp"
#include "search/explore/row.hpp"

namespace nereus::app {

using explore::Explorer;
using explore::PointResult;
using explore::Study;

namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Beyond any of these a study wants --yes.
constexpr double kManyStrategies = 1e12;
constexpr double kLong = 6 * 3600;
constexpr double kManyClusters = 2e8;

// Explorers keep what points share, so a thread takes one from the pool and returns it.
class ExplorerPool {
 public:
  explicit ExplorerPool(const Study& study) : study_(study) {}

  std::string compute(std::int64_t first, std::int64_t count) {
    std::unique_ptr<Explorer> own;
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        own = std::move(free_.back());
        free_.pop_back();
      }
    }
    if (!own) own = std::make_unique<Explorer>(study_);
    std::vector<PointResult> results;
    results.reserve(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) results.push_back(own->evaluate(first + i));
    std::string bytes = explore::encode(results);
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(own));
    return bytes;
  }

 private:
  const Study& study_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Explorer>> free_;
};

std::string database_of(const ExploreRequest& request) {
  if (request.in_memory) return {};
  if (!request.database.empty()) return request.database;
  return std::filesystem::path(request.study).replace_extension(".sqlite").string();
}

void check_size(const Study& study, const StudySize& size, const ExploreRequest& request) {
  const auto clusters = static_cast<double>(size.clusters);
  if (request.yes ||
      (size.strategies < kManyStrategies && size.seconds < kLong && clusters < kManyClusters))
    return;
  constexpr double kBytesOfRow = 130;
  throw_input_error(
      "explore.large-study",
      fmt::format("'{}' has {} of cluster and model with about {:.2g} strategies each: {:.2g} "
                  "points, which would take about {} on this machine and a database of {}",
                  study.name, counted(format_count(size.clusters), "pair"),
                  size.strategies / std::max(1.0, clusters), size.strategies,
                  format_seconds(Seconds{size.seconds}),
                  format_bytes(Bytes{clusters * kBytesOfRow})),
      {study.source}, "fewer values, a narrower [strategy], or --yes");
}

// Best so far in words, for the progress bar.
std::string best_text(const Study& study, double value) {
  switch (study.goals.front()) {
    case explore::Goal::kTime:
      return format_seconds(Seconds{value});
    case explore::Goal::kMoney:
      return format_usd(Usd{value});
    case explore::Goal::kEnergy:
      return fmt::format("{} kWh", format_significant(value / 3.6e6));
    case explore::Goal::kDevices:
      return counted(format_count(std::llround(value)), "device");
  }
  return {};
}

// Computes the points that the database lacks; returns false if it was stopped.
spread::Outcome run_points(const ExploreRequest& request, spread::Ranks& ranks, const Study& study,
                           const StudySize& size, const std::string& identity,
                           explore::Database* database, const ProgressSink& progress) {
  ExplorerPool pool(study);
  const std::int64_t pieces = (size.clusters + size.per_piece - 1) / size.per_piece;
  const std::int64_t done =
      std::stoll(ranks.share(database != nullptr ? std::to_string(database->num_points()) : "0"));
  std::optional<double> best;
  spread::Work work;
  work.first = std::min(pieces, (done + size.per_piece - 1) / size.per_piece);
  work.count = pieces - work.first;
  work.name = identity;
  work.stop = request.stop;
  work.compute = [&](std::int64_t piece) {
    const std::int64_t first = piece * size.per_piece;
    return pool.compute(first, std::min(size.per_piece, size.clusters - first));
  };
  work.accept = [&](std::int64_t piece, std::string&& bytes) {
    const std::vector<PointResult> results = explore::decode(bytes);
    for (const PointResult& result : results)
      for (const explore::Found& found : result.found) {
        if (result.status != explore::Status::kFound) break;
        const double value = found.values[static_cast<std::size_t>(study.goals.front())];
        if (!best || value < *best) best = value;
      }
    database->append(results);
    // Only whole transactions are committed, so that a file does not depend on where it was
    // interrupted.
    if ((piece + 1) % size.per_commit == 0 || piece + 1 == pieces) database->commit();
    if (progress)
      progress({.what = "clusters",
                .done = static_cast<double>(database->num_points()),
                .total = static_cast<double>(size.clusters),
                .best = best ? best_text(study, *best) : ""});
  };
  return ranks.run(work, {.threads = request.threads});
}

// If nothing was found: how near some evenly spread points come.
std::string nearest_miss(const Study& study, const explore::Answers& all) {
  constexpr std::int64_t kLooked = 32;
  Explorer explorer(study);
  const std::int64_t every = std::max<std::int64_t>(1, study.num_points() / kLooked);
  std::optional<Explorer::Lean> lean;
  std::string lean_at;
  std::string beyond;
  double least = 0;
  // The last points often have most of everything.
  for (std::int64_t p = study.num_points() - 1; p >= 0; p -= every) {
    const explore::Coordinates at = coordinates(study, p);
    const std::optional<cluster::Cluster> cluster = cluster_at(study, at);
    if (!cluster) continue;
    const PointResult free = explorer.evaluate_unlimited(at.variant, at.machine, *cluster);
    if (!free.found.empty()) {
      // By the limit that is exceeded most.
      const explore::GoalValues& values = free.found.front().values;
      double worst = 0;
      std::size_t limit = 0;
      for (std::size_t goal = 0; goal < values.size(); ++goal)
        if (const double over = values[goal] / study.constraints.most[goal]; over > worst) {
          worst = over;
          limit = goal;
        }
      if (worst > 1 && (least == 0 || worst < least)) {
        least = worst;
        beyond =
            fmt::format("{} at {}: {} is {} times the allowed value",
                        explore::layout_name(free.found.front().degrees), point_name(study, at),
                        to_string(static_cast<explore::Goal>(limit)), format_significant(least));
      }
    } else if (const auto own = explorer.leanest(at.variant, at.machine, *cluster);
               own && (!lean || own->memory / own->capacity < lean->memory / lean->capacity)) {
      lean = own;
      lean_at = point_name(study, at);
    }
  }
  if (!beyond.empty()) return beyond;
  if (lean)
    return fmt::format("the plan that needs the least memory, {} at {}, needs {} of {} on a device",
                       explore::layout_name(lean->degrees), lean_at,
                       format_bytes(Bytes{lean->memory}), format_bytes(Bytes{lean->capacity}));
  if (all.by_status[static_cast<std::size_t>(explore::Status::kNothingBuilds)] > 0)
    return "no strategy of the search space exists for this number of devices and this batch";
  return {};
}

void add_details(ExploreAnswer& answer, const ExploreRequest& request) {
  const Study& study = answer.study;
  const explore::Answers& all = answer.answers;
  for (const explore::Goal goal : study.goals)
    if (const auto& best = all.best[static_cast<std::size_t>(goal)])
      answer.best.push_back(detail(study, *best));
  for (std::size_t i = 0; i < std::min(all.front.size(), kShown); ++i)
    answer.front.push_back(detail(study, all.front[i]));
  if (study.machines.size() > 1)
    for (const auto& own : all.machines)
      if (own) answer.machines.push_back(detail(study, *own));
  constexpr std::size_t kBars = 24;
  std::optional<std::size_t> first;
  for (const explore::Marginal& own : all.marginals) {
    const std::size_t values = study.axes[own.axis].values.size();
    if (!first && values > 1 && values <= kBars) first = own.axis;
    if (first == own.axis && own.best) answer.along.push_back(detail(study, *own.best));
  }
  if (answer.best.empty()) return;
  Explorer explorer(study);
  const explore::Answer& best = answer.best.front().answer;
  answer.sensitivities = explore::sensitivities(explorer, study, best);
  answer.break_evens = explore::break_evens(explorer, study, best);
  constexpr std::size_t kWidest = 24;
  constexpr int kLayouts = 16;
  if (!request.slices) return;
  for (std::size_t axis = 0; axis < study.axes.size(); ++axis)
    if (study.axes[axis].values.size() > 1 && study.axes[axis].values.size() <= kWidest)
      answer.slices.push_back(explore::slice(explorer, study, best, axis, kLayouts));
}

}  // namespace

StudySize study_size(const Study& study, int threads) {
  StudySize size;
  size.clusters = study.num_points();
  // A few evenly spread points represent all. Decisions based on them (the size of a piece) must
  // not depend on how fast they were computed.
  constexpr std::int64_t kProbes = 5;
  Explorer explorer(study);
  std::int64_t most = 1;
  double seconds = 0;
  double strategies = 0;
  const std::int64_t probes = std::min(kProbes, size.clusters);
  for (std::int64_t i = 0; i < probes; ++i) {
    const std::int64_t point = probes > 1 ? (size.clusters - 1) / (probes - 1) * i : 0;
    (void)explorer.evaluate(point);  // spaces are listed once, for many points
    const Clock::time_point begin = Clock::now();
    const PointResult result = explorer.evaluate(point);
    seconds += since(begin);
    strategies += static_cast<double>(result.strategies);
    most = std::max(most, result.strategies);
  }
  const auto all =
      static_cast<double>(size.clusters) / static_cast<double>(std::max<std::int64_t>(1, probes));
  size.strategies = strategies * all;
  size.seconds = seconds * all / std::max(1, threads);
  constexpr std::int64_t kTogether = 16384;  // strategies of a piece: a few hundredths of a second
  constexpr std::int64_t kKept = 65536;      // clusters of a transaction
  size.per_piece = static_cast<std::int64_t>(std::bit_floor(
      static_cast<std::uint64_t>(std::clamp<std::int64_t>(kTogether / most, 1, 4096))));
  size.per_commit = most > 200'000 ? 1 : std::clamp<std::int64_t>(kKept / size.per_piece, 1, 32);
  return size;
}

PointDetail detail(const Study& study, const explore::Answer& answer) {
  const std::optional<cluster::Cluster> cluster = explore::cluster_at(study, answer.at);
  NEREUS_CHECK(cluster.has_value(), "an answer lies on a cluster");
  const explore::Variant& variant = study.variants[answer.at.variant];
  const explore::StudyMachine& machine = study.machines[answer.at.machine];
  cost::Predictor predictor(variant.model, *cluster, machine.basis_for(variant), 4);
  PointDetail out;
  out.answer = answer;
  out.name = explore::point_name(study, answer.at);
  out.cluster = *cluster;
  out.prediction = predictor.predict(answer.found.degrees);
  out.roofline = predictor.roofline(answer.found.degrees);
  out.seconds = explore::resource_seconds(out.prediction, answer.found.degrees, out.roofline,
                                          predictor.domain(), answer.beyond);
  out.running = explore::running(study.prices, machine.cluster, *cluster);
  const cost::Stack& stack = machine.basis_for(variant).stack;
  if (stack.errors)
    out.error = stack.errors->band(
        cost::Quantity::kStep,
        cost::conditions_of(variant.model, cluster->groups.front(), cluster->num_devices(),
                            answer.found.degrees, stack, 0));
  return out;
}

ExploreAnswer explore(const ExploreRequest& request, spread::Ranks& ranks,
                      const ProgressSink& progress) {
  const Clock::time_point begin = Clock::now();
  // Other ranks may see other disks: the file is read once.
  const std::string text =
      ranks.share(ranks.leads() ? explore::study_text(request.study) : std::string());
  ExploreAnswer answer;
  answer.study = explore::study_from_text(text, request.study, request.overrides);
  const Study& study = answer.study;
  const int threads = request.threads > 0 ? request.threads : spread::num_usable_cores();
  const StudySize size = study_size(study, threads * ranks.size());
  const std::string identity = explore::identity_of(study, build_info().commit);

  std::optional<explore::Database>& database = answer.results;
  if (ranks.leads()) {
    check_size(study, size, request);
    answer.database = database_of(request);
    database.emplace(explore::Database::open(answer.database, identity, study, request.restart));
    answer.resumed = database->num_points();
  }
  const spread::Outcome outcome =
      run_points(request, ranks, study, size, identity, database ? &*database : nullptr, progress);
  if (!ranks.leads()) return answer;
  answer.complete = outcome.ending == spread::Ending::kComplete;
  answer.lost_ranks = outcome.lost_ranks;
  answer.answers = explore::answers(study, *database);
  add_details(answer, request);
  if (answer.best.empty() && answer.complete) answer.why = nearest_miss(study, answer.answers);
  answer.seconds = since(begin);
  return answer;
}

}  // namespace nereus::app
