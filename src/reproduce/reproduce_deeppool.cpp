#include "reproduce/reproduce_deeppool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <set>

#include "base/embedded.hpp"
#include "base/error.hpp"
#include "base/format.hpp"
#include "reproduce/deeppool_models.hpp"
#include "reproduce/reproduce_settings.hpp"
#include "search/burst/burst_front.hpp"
#include "search/burst/deeppool_rule.hpp"
#include "search/burst/pick.hpp"
#include "spec/csv.hpp"

namespace nereus::app {

namespace {

using burst::BurstPlan;
using burst::Front;
using burst::Problem;

constexpr ReproduceField kDeeppoolFields[] = {
    {"part", "", 0, 0, true},     // log, rule, scale or throughput alone
    {"profile", "", 0, 0, true},  // one profile alone
    // Of ranks, for ours: all, powers-of-two; auto: all for chains, else powers of two.
    {"counts", "auto"},
    {"bandwidth_gb_s", "266", 1e-3, 1e6},     // of a rank's link
    {"move_us", "40", 0, 1e6},                // of each way of a move, beside its bytes
    {"ranks", "1024", 1, 4096, false, true},  // of the part scale
    {"yield", "1", 0, 1},                     // of background jobs on ranks that are free
    {"slower", "1.1", 1, 1e3},                // the foreground may be, than data parallelism
};
constexpr const char* kParts[] = {"log", "rule", "scale", "throughput"};

struct Published {
  const char* profile;
  int largest_batch;  // that was measured: more is extrapolated
};
constexpr Published kModels[] = {{"A100_vgg", 64}, {"A100_wrn", 32}, {"A100_inception", 64}};

constexpr double kLoggedStep = 13.57;  // ms, VGG-16, batch 32 on 8 GPUs
constexpr double kClaimLow = 1.2, kClaimHigh = 2.3;

class DeepPool {
 public:
  DeepPool(const ReproduceRequest& request, const ReproduceSettings& settings)
      : request_(request), settings_(settings) {}

  ReproduceAnswer answer() {
    out_.system = "deeppool";
    if (settings_.wants("part", "log")) add_log();
    if (settings_.wants("part", "rule")) add_rule();
    if (settings_.wants("part", "scale")) add_scale();
    if (settings_.wants("part", "throughput")) add_throughput();
    out_.notes.emplace_back(
        "layer times are measured, and a step is the sum of layer times, ring all-reduces of "
        "gradients without overlap, and moves of samples between ranks; a convolution and its "
        "activation are one block");
    for (const auto& [name, model] : models_)
      out_.notes.insert(out_.notes.end(), model.notes.begin(), model.notes.end());
    return std::move(out_);
  }

 private:
  const DeepPoolModel& model(const std::string& profile) {
    const auto known = models_.find(profile);
    return known != models_.end() ? known->second
                                  : models_.emplace(profile, deeppool_model(profile)).first->second;
  }
  Problem problem(const std::string& profile, int batch, int ranks, bool powers) {
    const DeepPoolModel& own = model(profile);
    const burst::Prices prices = burst::deeppool_prices(settings_.number("bandwidth_gb_s") * 1e9,
                                                        settings_.number("move_us") * 1e-6);
    Problem out = burst::make_problem(
        own.blocks, own.edges, prices, batch,
        powers ? burst::powers_of_two(batch, ranks) : burst::candidate_counts(batch, ranks));
    out.num_ranks = ranks;
    return out;
  }
  bool powers(const std::string& profile) const {
    const std::string& own = settings_.text.at("counts");
    return own == "powers-of-two" || (own == "auto" && profile == "A100_inception");
  }
  bool stopped() {
    if (request_.stop && request_.stop()) out_.complete = false;
    return !out_.complete;
  }
  static BurstPlan data_parallel(const Problem& problem) {
    return burst::evaluate(problem,
                           std::vector<int>(problem.blocks.size(), problem.num_candidates() - 1));
  }
  static double one_rank(const Problem& problem) {
    return burst::evaluate(problem, std::vector<int>(problem.blocks.size(), 0)).seconds;
  }
  Claim& add(std::string name, const std::string& part, const std::string& profile,
             double seconds) {
    Claim claim;
    claim.name = std::move(name);
    claim.kind = ClaimKind::kDerived;
    claim.inputs = fmt::format("data/deeppool/{}.prof{}", profile, settings_.options);
    claim.command =
        fmt::format("nereus reproduce deeppool --set all.part={} --set all.profile={}{}", part,
                    profile, settings_.options);
    claim.seconds = seconds;
    out_.claims.push_back(std::move(claim));
    return out_.claims.back();
  }

  void add_log() {
    if (!settings_.wants("profile", "A100_vgg")) {
      out_.notes.emplace_back("log: DeepPool's README contains a log of A100_vgg only");
      return;
    }
    const Problem own = problem("A100_vgg", 32, 8, true);
    Claim& claim =
        add("vgg16, 32 samples on 8 ranks, data parallel: ms per step", "log", "A100_vgg", 0);
    claim.published = kLoggedStep;
    claim.ours = data_parallel(own).seconds * 1e3;
    claim.note = fmt::format("{:+.1f} %; logged in DeepPool's README, the GPU is not stated",
                             100 * (*claim.ours / kLoggedStep - 1));
  }

  void add_rule() {
    const spec::Csv csv =
        spec::parse_csv(embedded_text("deeppool/rule_plans.csv"), "data/deeppool/rule_plans.csv");
    const auto cell = [&](const spec::CsvRow& row, const char* name) {
      return csv.cell(row, csv.find(name));
    };
    std::set<std::string> known;
    std::string last;
    Front front;
    double seconds = 0;
    for (const spec::CsvRow& row : csv.rows) {
      const std::string profile(cell(row, "profile")), limit(cell(row, "limit"));
      known.insert(profile);
      if (!settings_.wants("profile", profile)) continue;
      if (stopped()) return;
      const int batch = std::stoi(std::string(cell(row, "global_batch")));
      const int ranks = std::stoi(std::string(cell(row, "ranks")));
      const std::string key = fmt::format("{} {} {}", profile, batch, ranks);
      if (key != last) {
        const auto begin = std::chrono::steady_clock::now();
        front = burst::solve(problem(profile, batch, ranks, powers(profile)));
        seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        last = key;
      }
      const Problem rule_problem = problem(profile, batch, ranks, true);
      const BurstPlan rule =
          limit == "data-parallel"
              ? data_parallel(rule_problem)
              : burst::evaluate(rule_problem, burst::deeppool_rule(rule_problem, limit_of(limit)));
      compare(rule, front, model(profile).name, batch, ranks, limit, profile, seconds,
              cell(row, "rule_ms"));
    }
    for (const std::string& profile : deeppool_profiles())
      if (settings_.wants("profile", profile) && !known.contains(profile))
        out_.notes.push_back(
            fmt::format("rule: our implementation of the rule supports chains only, but {} has "
                        "branches; compared are {}",
                        profile, fmt::join(known, " and ")));
  }
  static double limit_of(const std::string& text) {
    return text == "inf" ? std::numeric_limits<double>::infinity() : std::stod(text);
  }
  void compare(const BurstPlan& rule, const Front& front, const std::string& name, int batch,
               int ranks, const std::string& limit, const std::string& profile, double seconds,
               std::string_view elsewhere) {
    // The fastest that holds no more, and the least that holds of those no slower.
    const double slack = 1 + 1e-9;
    double best = std::numeric_limits<double>::infinity(), least = best;
    for (const BurstPlan& own : front.plans) {
      if (own.rank_seconds <= rule.rank_seconds * slack) best = std::min(best, own.seconds);
      if (own.seconds <= rule.seconds * slack) least = std::min(least, own.rank_seconds);
    }
    Claim& claim = add(
        fmt::format("{}, {} samples on {} ranks, {}: ms per step at its rank-seconds", name, batch,
                    ranks, limit == "data-parallel" ? "data parallel" : "rule with limit " + limit),
        "rule", profile, seconds);
    claim.published = rule.seconds * 1e3;
    claim.ours = best * 1e3;
    claim.note = fmt::format(
        "at equal steps {} rank-ms instead of {}; front of {}", format_significant(least * 1e3),
        format_significant(rule.rank_seconds * 1e3), counted(front.plans.size(), "plan"));
    if (settings_.options.empty())
      claim.note += fmt::format("; a separate implementation of the rule gave {}", elsewhere);
  }

  void add_scale() {
    const auto ranks = static_cast<int>(settings_.number("ranks"));
    for (const Published& own : kModels)
      for (const int batch : {own.largest_batch, ranks}) {
        if (!settings_.wants("profile", own.profile)) continue;
        if (stopped()) return;
        const Problem wanted = problem(own.profile, batch, ranks, powers(own.profile));
        const auto begin = std::chrono::steady_clock::now();
        const Front front = burst::solve(wanted);
        const double seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        Claim& claim =
            add(fmt::format("{}, {} samples on {} ranks: plans on the front",
                            model(own.profile).name, format_count(batch), format_count(ranks)),
                "scale", own.profile, seconds);
        claim.ours = static_cast<double>(front.plans.size());
        claim.note =
            fmt::format("{} counts of ranks; {} to {} ms, {} to {} rank-ms{}", wanted.counts.size(),
                        format_significant(front.plans.front().seconds * 1e3),
                        format_significant(front.plans.back().seconds * 1e3),
                        format_significant(front.plans.front().rank_seconds * 1e3),
                        format_significant(front.plans.back().rank_seconds * 1e3),
                        batch > own.largest_batch ? "; extrapolated" : "");
      }
  }

  void add_throughput() {
    double low = std::numeric_limits<double>::infinity(), high = 0;
    for (const Published& own : kModels) {
      if (!settings_.wants("profile", own.profile)) continue;
      if (stopped()) return;
      const int batch = own.largest_batch;
      const Problem wanted = problem(own.profile, batch, batch, powers(own.profile));
      const BurstPlan alone = data_parallel(wanted);
      const burst::Workload work{one_rank(wanted), batch, settings_.number("yield")};
      const auto begin = std::chrono::steady_clock::now();
      const Front front = burst::solve(wanted);
      const double seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      const double base = cluster_throughput(work, alone.seconds, alone.rank_seconds, false);
      const std::size_t at =
          *burst::pick_throughput(front, work, alone.seconds * settings_.number("slower"));
      const BurstPlan& plan = front.plans[at];
      const double ours = cluster_throughput(work, plan.seconds, plan.rank_seconds, true) / base;
      Claim& claim = add(fmt::format("{}, {} samples on {} ranks: cluster throughput over data "
                                     "parallelism with one job",
                                     model(own.profile).name, batch, batch),
                         "throughput", own.profile, seconds);
      claim.ours = ours;
      claim.note = fmt::format(
          "step {} ms instead of {}; foreground {:.3g} and background {:.3g} of {} ranks' work "
          "instead of {:.3g}; yield {}",
          format_significant(plan.seconds * 1e3), format_significant(alone.seconds * 1e3),
          cluster_throughput(work, plan.seconds, plan.rank_seconds, false),
          ours * base - cluster_throughput(work, plan.seconds, plan.rank_seconds, false), batch,
          base, settings_.text.at("yield"));
      low = std::min(low, ours);
      high = std::max(high, ours);
    }
    if (!settings_.text.at("profile").empty()) return;
    const char* note =
        "published: MLSys 2022 (the first preprint says 2.2 to 2.4); its batches, scale and "
        "background throughput are only shown in figures";
    const auto sum_up = [&](const char* name, double published, double ours) {
      Claim& claim = add(name, "throughput", "A100_wrn", 0);
      claim.published = published;
      claim.ours = ours;
      claim.note = note;
      claim.inputs = "data/deeppool/*.prof" + settings_.options;
      claim.command = "nereus reproduce deeppool --set all.part=throughput" + settings_.options;
    };
    sum_up("least of these models", kClaimLow, low);
    sum_up("most of these models", kClaimHigh, high);
  }

  const ReproduceRequest& request_;
  const ReproduceSettings& settings_;
  std::map<std::string, DeepPoolModel> models_;
  ReproduceAnswer out_;
};

void check(const ReproduceSettings& settings) {
  ErrorList errors;
  settings.require_one_of("part", {std::begin(kParts), std::end(kParts)}, errors);
  settings.require_one_of("profile", deeppool_profiles(), errors);
  settings.require_one_of("counts", {"auto", "all", "powers-of-two"}, errors);
  errors.throw_if_any();
}

}  // namespace

ReproduceAnswer reproduce_deeppool(const ReproduceRequest& request) {
  const ReproduceSettings settings = read_settings(kDeeppoolFields, request);
  check(settings);
  return DeepPool(request, settings).answer();
}

}  // namespace nereus::app
