#include "app/exchange/changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "app/predict/headroom.hpp"
#include "base/format.hpp"
#include "plan/expand.hpp"
#include "plan/rules.hpp"
#include "search/regular/regular_search.hpp"

namespace nereus::app {

namespace {

using plan::Degrees;
using plan::Recompute;
using plan::Schedule;

struct Neighbour {
  std::string what;
  Degrees degrees;
};

// The rest of the ranks stay with data parallelism.
void add_axes(std::vector<Neighbour>& list, const Degrees& d) {
  const auto move = [&](const char* name, int Degrees::*axis) {
    for (const bool up : {true, false}) {
      Degrees n = d;
      if (up ? n.dp % 2 != 0 : n.*axis % 2 != 0) continue;
      n.*axis = up ? n.*axis * 2 : n.*axis / 2;
      n.dp = up ? n.dp / 2 : n.dp * 2;
      if (n.tp == 1) n.sequence_parallel = n.tensor_overlap = false;
      if (axis == &Degrees::tp && d.expert_tp == d.tp && d.tp > 1) n.expert_tp = n.tp;
      if (n.pp == 1) {
        n.interleave = 1;
        n.schedule = Schedule::k1f1b;
      }
      if (n.zero_group > 0) n.zero_group = std::min(n.zero_group, n.dp * n.cp);
      list.push_back({fmt::format("{} {}, dp {}", name, n.*axis, n.dp), n});
    }
  };
  move("tp", &Degrees::tp);
  move("pp", &Degrees::pp);
  move("cp", &Degrees::cp);
  for (const bool up : {true, false}) {
    Degrees n = d;
    int& from = up ? n.pp : n.tp;
    int& to = up ? n.tp : n.pp;
    if (from % 2 != 0) continue;
    from /= 2;
    to *= 2;
    if (n.tp == 1) n.sequence_parallel = n.tensor_overlap = false;
    if (d.expert_tp == d.tp && d.tp > 1) n.expert_tp = n.tp;
    if (n.pp == 1) {
      n.interleave = 1;
      n.schedule = Schedule::k1f1b;
    }
    list.push_back({fmt::format("tp {}, pp {}", n.tp, n.pp), n});
  }
  for (const int ep : {d.ep * 2, d.ep / 2}) {
    Degrees n = d;
    n.ep = ep;
    if (ep >= 1) list.push_back({fmt::format("ep {}", ep), n});
  }
}

void add_schedule(std::vector<Neighbour>& list, const Degrees& d) {
  for (const int v : {1, 2, 4, 8}) {
    if (d.pp == 1 || v == d.interleave) continue;
    Degrees n = d;
    n.interleave = v;
    n.schedule = v > 1 ? Schedule::kInterleaved : Schedule::k1f1b;
    list.push_back({v > 1 ? fmt::format("{} virtual stages", v) : "no virtual stages", n});
  }
  for (const int micro : {d.micro_batch * 2, d.micro_batch / 2, d.micro_batch * 4}) {
    if (micro < 1) continue;
    Degrees n = d;
    n.micro_batch = micro;
    list.push_back({fmt::format("micro-batch {}", micro), n});
  }
}

void add_memory(std::vector<Neighbour>& list, const Degrees& d, int blocks_per_stage) {
  for (const Recompute r : {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
    if (r == d.recompute && d.recompute_blocks == 0) continue;
    Degrees n = d;
    n.recompute = r;
    n.recompute_blocks = 0;
    list.push_back({fmt::format("recompute {}", to_string(r)), n});
  }
  for (const int blocks : {blocks_per_stage / 4, blocks_per_stage / 2, blocks_per_stage * 3 / 4}) {
    if (blocks < 1 || blocks >= blocks_per_stage) continue;
    Degrees n = d;
    n.recompute = Recompute::kFull;
    n.recompute_blocks = blocks;
    list.push_back({fmt::format("recompute {} per stage", counted(blocks, "block")), n});
  }
  for (int zero = 0; zero <= 3; ++zero) {
    if (zero == d.zero) continue;
    Degrees n = d;
    n.zero = zero;
    list.push_back({fmt::format("ZeRO {}", zero), n});
  }
  if (!d.offload.none()) {
    Degrees n = d;
    n.offload = {};
    list.push_back({"no offloading", n});
  }
}

void add_overlap(std::vector<Neighbour>& list, const Degrees& d) {
  const auto turn_on = [&](const char* what, bool Degrees::*flag) {
    if (d.*flag) return;
    Degrees n = d;
    n.*flag = true;
    list.push_back({what, n});
  };
  if (d.tp > 1) turn_on("sequence parallel", &Degrees::sequence_parallel);
  if (d.tp > 1) turn_on("tensor overlap", &Degrees::tensor_overlap);
  turn_on("data overlap", &Degrees::data_overlap);
}

std::multiset<std::string> settings(const exporting::Bundle& files) {
  std::multiset<std::string> lines;
  for (const exporting::TextFile& file : files) {
    if (file.name == "job.slurm") continue;
    std::size_t at = 0;
    while (at < file.text.size()) {
      const std::size_t end = std::min(file.text.find('\n', at), file.text.size());
      std::string line = file.text.substr(at, end - at);
      at = end + 1;
      line.erase(0, std::min(line.find_first_not_of(' '), line.size()));
      if (!line.empty() && line.back() == ',') line.pop_back();
      if (!line.empty() && line.front() != '#') lines.insert(line);
    }
  }
  return lines;
}

// The lines to add and to remove such that one file becomes the other.
std::vector<std::string> difference(const exporting::Bundle& from, const exporting::Bundle& to) {
  const std::multiset<std::string> before = settings(from);
  const std::multiset<std::string> after = settings(to);
  std::vector<std::string> lines;
  for (const auto& line : before)
    if (after.count(line) == 0) lines.push_back("- " + line);
  for (const auto& line : after)
    if (before.count(line) == 0) lines.push_back("+ " + line);
  return lines;
}

plan::Plan as_plan(const ResolvedPlan& resolved, const Degrees& d) {
  plan::Plan plan{};
  plan.model = resolved.model;
  plan.cluster = resolved.cluster;
  plan.stack = resolved.basis.stack.name;
  plan.degrees = d;
  plan.placement = plan::expand(d, resolved.model);
  return plan;
}

std::optional<exporting::Bundle> try_export(const ResolvedPlan& resolved, const Degrees& d,
                                            exporting::Engine engine,
                                            const exporting::StackFacts& facts) {
  try {
    return exporting::write(engine, as_plan(resolved, d), facts);
  } catch (const Errors&) {
    return std::nullopt;  // the engine has no words for it
  }
}

}  // namespace

bool can_express(exporting::Engine engine, const ResolvedPlan& plan, const Degrees& degrees,
                 const exporting::StackFacts& facts) {
  return try_export(plan, degrees, engine, facts).has_value();
}

std::vector<Change> single_changes(const ResolvedPlan& plan, const Degrees& degrees,
                                   const cost::Prediction& prediction, exporting::Engine engine,
                                   const exporting::StackFacts& facts) {
  if (!plan.cluster.uniform()) return {};
  const int stages = degrees.pp * degrees.interleave;
  const int blocks = plan::layer_span(plan.model).blocks;
  std::vector<Neighbour> list;
  add_axes(list, degrees);
  add_schedule(list, degrees);
  add_memory(list, degrees, blocks / std::max(1, stages));
  add_overlap(list, degrees);

  const plan::DegreeLimits limits = plan::degree_limits(plan.model, plan.cluster);
  const std::optional<exporting::Bundle> before = try_export(plan, degrees, engine, facts);
  cost::Predictor predictor(plan.model, plan.cluster, plan.basis);
  std::vector<Change> changes;
  const Degrees own = exporting::normal(degrees, plan.model);
  for (const Neighbour& n : list) {
    if (plan::violated_rules(n.degrees, limits) != 0) continue;
    if (exporting::normal(n.degrees, plan.model) == own) continue;
    const cost::Prediction p = predictor.predict(n.degrees);
    // Half a percent is within what predictions of one plan differ by.
    if (!p.fits || (prediction.fits && p.step > prediction.step / 1.005)) continue;
    const auto files = try_export(plan, n.degrees, engine, facts);
    if (!files) continue;
    Change change{n.what, n.degrees, p.step, prediction.step / p.step - 1, p.memory.total, {}};
    if (before) change.lines = difference(*before, *files);
    changes.push_back(std::move(change));
  }
  std::sort(changes.begin(), changes.end(),
            [](const Change& a, const Change& b) { return a.step < b.step; });
  return changes;
}

void narrow(search::Choices& choices, exporting::Engine engine) {
  const auto only = [](auto& list, auto value) {
    if (list.empty()) list = {value};
  };
  if (engine == exporting::Engine::kDeepspeed || engine == exporting::Engine::kFsdp)
    only(choices.pp, 1);
  if (engine == exporting::Engine::kFsdp) {
    only(choices.tp, 1);
    only(choices.cp, 1);
  }
  if (engine != exporting::Engine::kMegatron) only(choices.tensor_overlap, false);
}

std::optional<Change> best_change(const ResolvedPlan& plan, const Degrees& degrees,
                                  const cost::Prediction& prediction, exporting::Engine engine,
                                  const exporting::StackFacts& facts) {
  if (!plan.cluster.uniform()) return std::nullopt;
  search::Choices choices;
  choices.global_batch = degrees.global_batch;
  choices.precision = degrees.precision;
  choices.state_types = degrees.state_types;
  search::SearchOptions options;
  options.top = 1;
  options.accept = [&](const Degrees& d) { return can_express(engine, plan, d, facts); };
  narrow(choices, engine);
  options.headroom = headroom_for({plan.model, plan.cluster, plan.basis}, kFitsByDefault);
  search::SearchResult found =
      search::search(plan.model, {plan.cluster}, plan.basis, choices, options);
  if (found.plans.empty() && options.headroom > 0) {
    options.headroom = 0;
    found = search::search(plan.model, {plan.cluster}, plan.basis, choices, options);
  }
  const std::optional<exporting::Bundle> before = try_export(plan, degrees, engine, facts);
  for (const search::Candidate& candidate : found.plans) {
    const cost::Prediction& p = candidate.prediction;
    if (prediction.fits && p.step > prediction.step / 1.005) return std::nullopt;
    const auto files = try_export(plan, candidate.degrees, engine, facts);
    Change change{"the best plan of all",       candidate.degrees, p.step,
                  prediction.step / p.step - 1, p.memory.total,    {}};
    if (before && files) change.lines = difference(*before, *files);
    return change;
  }
  return std::nullopt;
}

}  // namespace nereus::app
