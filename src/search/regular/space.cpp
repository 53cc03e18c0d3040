#include "search/regular/space.hpp"

#include <algorithm>
#include <bit>

namespace nereus::search {

using plan::ContextKind;
using plan::Degrees;
using plan::Recompute;
using plan::Rule;
using plan::Schedule;
using plan::TableSplit;

namespace {

std::vector<int> divisors(int number) {
  std::vector<int> list;
  for (int i = 1; i <= number / i; ++i) {
    if (number % i != 0) continue;
    list.push_back(i);
    if (i != number / i) list.push_back(number / i);
  }
  std::sort(list.begin(), list.end());
  return list;
}

bool allows(const std::vector<int>& list, int value) {
  return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
}

std::vector<int> or_else(const std::vector<int>& given, std::vector<int> derived) {
  return given.empty() ? std::move(derived) : given;
}

// On first.
void flags(const std::vector<bool>& given, bool matters, bool usual, std::vector<bool>& out) {
  out.clear();
  if (!matters) {
    out.push_back(usual);
    return;
  }
  for (const bool on : {true, false})
    if (given.empty() || std::find(given.begin(), given.end(), on) != given.end())
      out.push_back(on);
}

constexpr int kFinest = 8;  // parts of a stage that recompute is searched in, and of an offload

// Offload settings for one tier (space.hpp): all of each part, then shares of it.
void add_offloads(plan::Tier tier, std::vector<plan::Offload>& out) {
  out.push_back({1, 1, 1, tier});
  out.push_back({0, 1, 1, tier});
  out.push_back({0, 1, 0, tier});
  for (int i = 1; i < kFinest; ++i) out.push_back({0, double(i) / kFinest, 0, tier});
  for (int i = 1; i < kFinest; ++i) out.push_back({0, 1, double(i) / kFinest, tier});
  for (int i = 1; i < kFinest; ++i) out.push_back({double(i) / kFinest, 1, 1, tier});
  out.push_back({0, 0, 1, tier});
  for (int i = 1; i < kFinest; ++i) out.push_back({0, 0, double(i) / kFinest, tier});
}

}  // namespace

Space::Space(const Choices& choices, const model::Model& model, const cluster::Cluster& cluster)
    : choices_(choices), limits_(plan::degree_limits(model, cluster)) {
  const cluster::Node& node = cluster.groups.front().node;
  domain_ = std::max(node.num_devices, node.domain());
  causal_ = model.transformer && model.transformer->causal;
  // A model may name experts and have no layer with any.
  has_experts_ = std::any_of(model.layers.begin(), model.layers.end(),
                             [&](int kind) { return model.kinds[kind].expert_parameters() > 0; });
  offloads_ = choices.offloads;
  if (choices.offload_any) offloads_.clear();
  if (offloads_.empty()) offloads_.push_back({});
  if (choices.offload_any)
    for (const plan::Tier tier : {plan::Tier::kExpanded, plan::Tier::kHost, plan::Tier::kNvme})
      if ((limits_.tiers >> static_cast<int>(tier) & 1U) != 0 &&
          (choices.offload_tiers.empty() ||
           std::find(choices.offload_tiers.begin(), choices.offload_tiers.end(), tier) !=
               choices.offload_tiers.end()))
        add_offloads(tier, offloads_);
  const std::vector<int> of_devices = divisors(limits_.devices);
  for (const int tp : or_else(choices.tp, of_devices)) {
    if (choices.max_tp > 0 && tp > choices.max_tp) continue;
    // Degrees that no layout can have are left out here, so that the counts below are meaningful.
    if (choices.tp.empty() && tp > std::max(1, limits_.heads)) continue;
    for (const int pp : or_else(choices.pp, of_devices)) {
      if (choices.pp.empty() && pp > (limits_.tables > 0 ? 1 : limits_.span.most_stages()))
        continue;
      for (const int cp : or_else(choices.cp, of_devices)) {
        if (choices.cp.empty() && cp > std::max(1, limits_.seq)) continue;
        const std::int64_t team = std::int64_t{tp} * pp * cp;
        if (team > limits_.devices) continue;
        const int dp = static_cast<int>(limits_.devices / team);
        if (allows(choices.dp, dp)) add_layout({tp, pp, cp, dp});
      }
    }
  }
}

bool Space::buildable(const Degrees& d) {
  const plan::RuleSet violated = plan::violated_rules(d, limits_);
  if (violated == 0) return true;
  ++unbuildable_[std::countr_zero(violated)];
  return false;
}

void Space::add_layout(const Degree& degree) {
  Degrees d;
  d.tp = degree.tp;
  d.pp = degree.pp;
  d.cp = degree.cp;
  d.dp = degree.dp;
  d.global_batch = choices_.global_batch;
  d.precision = choices_.precision;
  d.state_types = choices_.state_types;
  const bool zigzag = causal_ && limits_.seq % (2 * d.cp) == 0;
  std::vector<ContextKind> contexts = choices_.contexts;
  if (d.cp == 1)
    contexts = {ContextKind::kZigzag};  // of no effect
  else if (contexts.empty())
    contexts = {zigzag ? ContextKind::kZigzag : ContextKind::kRing, ContextKind::kAllToAll};
  for (const ContextKind context : contexts) {
    d.context = context;
    if (limits_.tables > 0)
      add_tables(d);
    else
      add_experts(d);
  }
}

// Copies of the tables on groups of ep ranks, shared in every way.
void Space::add_tables(Degrees d) {
  constexpr TableSplit kAll[] = {TableSplit::kTable, TableSplit::kLookups, TableSplit::kRow,
                                 TableSplit::kColumn};
  std::vector<TableSplit> splits = choices_.table_splits;
  if (splits.empty()) splits.assign(std::begin(kAll), std::end(kAll));
  for (const int ep : or_else(choices_.ep, divisors(d.dp))) {
    d.ep = ep;
    if (ep == 1) {
      d.table_split = TableSplit::kTable;  // of no effect
      add_families(d);
      continue;
    }
    for (const TableSplit split : splits) {
      d.table_split = split;
      add_families(d);
    }
  }
}

void Space::add_experts(Degrees d) {
  for (const int ep :
       or_else(choices_.ep, has_experts_ ? divisors(limits_.experts) : std::vector<int>{1})) {
    if (choices_.ep.empty() && ep > d.tp * d.cp * d.dp) continue;
    std::vector<int> tensor = choices_.expert_tp;
    if (tensor.empty())
      tensor = has_experts_ && d.tp > 1 ? std::vector<int>{1, d.tp} : std::vector<int>{1};
    for (const int expert_tp : tensor) {
      d.ep = ep;
      d.expert_tp = expert_tp;
      add_families(d);
    }
  }
}

void Space::add_families(Degrees d) {
  if (d.global_batch % d.dp != 0) {
    ++unbuildable_[static_cast<std::size_t>(Rule::kBatch)];
    return;
  }
  std::vector<bool> sequence = choices_.sequence_parallel;
  if (sequence.empty()) sequence = {true, false};
  std::vector<ScheduleSetting> some;
  for (const int micro_batch : or_else(choices_.micro_batch, divisors(d.global_batch / d.dp))) {
    d.micro_batch = micro_batch;
    d.sequence_parallel = false;
    if (!buildable(d)) continue;
    for (const bool parallel : sequence) {
      if (parallel && d.tp == 1) {
        if (choices_.sequence_parallel.size() == 1)
          ++unbuildable_[static_cast<std::size_t>(Rule::kSequenceParallel)];
        continue;
      }
      Family family{d};
      family.degrees.sequence_parallel = parallel;
      if (parallel && !buildable(family.degrees)) continue;
      schedules(family, some);
      if (some.empty())
        ++unbuildable_[static_cast<std::size_t>(Rule::kMicroBatches)];
      else
        families_.push_back(family);
    }
  }
}

int Space::most_chunks(const Degrees& d) const { return limits_.span.most_stages() / d.pp; }

void Space::schedules(const Family& family, std::vector<ScheduleSetting>& out) const {
  out.clear();
  Degrees d = family.degrees;
  const auto offer = [&](Schedule schedule, int interleave) {
    if (!allows(choices_.interleave, interleave)) return;
    d.schedule = schedule;
    d.interleave = interleave;
    const bool varuna = d.pp > 1 && schedule == Schedule::kVaruna;
    if (varuna && !allows_recompute(RecomputeChoice::kFull)) return;
    d.recompute = varuna ? Recompute::kFull : Recompute::kNone;
    if (plan::violated_rules(d, limits_) == 0) out.push_back({schedule, interleave});
  };
  if (d.pp == 1) {
    offer(Schedule::k1f1b, 1);
    return;
  }
  std::vector<Schedule> list = choices_.schedules;
  if (list.empty()) list = {Schedule::k1f1b, Schedule::kInterleaved};
  for (const Schedule schedule : list) {
    const plan::InterleaveRule rule = plan::interleave_rule(schedule);
    // Interleaved once is 1F1B by another name.
    const bool alias = schedule == Schedule::kInterleaved &&
                       std::find(list.begin(), list.end(), Schedule::k1f1b) != list.end();
    for (int v = alias ? 2 : rule.least; v <= std::min(rule.most, most_chunks(d)); ++v)
      offer(schedule, v);
  }
}

bool Space::allows_recompute(RecomputeChoice choice) const {
  const auto& list = choices_.recompute;
  return list.empty() || std::find(list.begin(), list.end(), choice) != list.end();
}

void Space::recomputes(const Family& family, ScheduleSetting schedule,
                       std::vector<RecomputeSetting>& out) const {
  out.clear();
  if (schedule.schedule == Schedule::kVaruna) {
    out.push_back({Recompute::kFull, 0});
    return;
  }
  if (allows_recompute(RecomputeChoice::kNone)) out.push_back({Recompute::kNone, 0});
  if (allows_recompute(RecomputeChoice::kSelective)) out.push_back({Recompute::kSelective, 0});
  if (allows_recompute(RecomputeChoice::kPartial)) {
    const int stages = family.degrees.pp * schedule.interleave;
    const int blocks = (limits_.span.blocks + stages - 1) / stages;
    const int steps = std::min(blocks, kFinest);
    for (int i = 1; i < steps; ++i) out.push_back({Recompute::kFull, blocks * i / steps});
  }
  if (allows_recompute(RecomputeChoice::kFull)) out.push_back({Recompute::kFull, 0});
}

bool Space::divides_data(const Degrees& d) const {
  if (d.dp * d.cp > 1) return true;
  return has_experts_ && d.tp > d.ep * d.expert_tp;
}

void Space::zeros(const Family& family, std::vector<ZeroSetting>& out) const {
  out.clear();
  const Degrees& d = family.degrees;
  if (!divides_data(d)) {
    out.push_back({0, 0});  // whatever stage is asked for
    return;
  }
  const int group = d.dp * d.cp;
  const int neighbours = std::max(1, domain_ / d.tp);
  for (int zero = 0; zero <= 3; ++zero) {
    if (!allows(choices_.zero, zero)) continue;
    // A pipeline keeps gradients whole, so ZeRO-2 is ZeRO-1 there, unless the user asks for it.
    if (zero == 2 && d.pp > 1 && choices_.zero.empty()) continue;
    std::vector<int> groups = choices_.zero_group;
    if (groups.empty()) {
      groups.push_back(0);
      if (neighbours > 1 && neighbours < group) groups.push_back(neighbours);
    }
    if (zero == 0) groups = {0};
    for (const int own : groups) {
      Degrees with = d;
      with.zero = zero;
      with.zero_group = own == group ? 0 : own;
      if (plan::violated_rules(with, limits_) == 0) out.push_back({zero, with.zero_group});
    }
  }
}

void Space::tensor_overlaps(const Family& family, std::vector<bool>& out) const {
  flags(choices_.tensor_overlap, family.degrees.tp > 1, false, out);
}

void Space::data_overlaps(const Family& family, std::vector<bool>& out) const {
  flags(choices_.data_overlap, divides_data(family.degrees), true, out);
}

std::int64_t Space::count(const Family& family) const {
  std::vector<ScheduleSetting> schedule_list;
  std::vector<RecomputeSetting> recompute_list;
  std::vector<ZeroSetting> zero_list;
  std::vector<bool> tensor;
  std::vector<bool> data;
  schedules(family, schedule_list);
  zeros(family, zero_list);
  tensor_overlaps(family, tensor);
  data_overlaps(family, data);
  std::int64_t recompute_count = 0;
  for (const ScheduleSetting& schedule : schedule_list) {
    recomputes(family, schedule, recompute_list);
    recompute_count += static_cast<std::int64_t>(recompute_list.size());
  }
  return recompute_count * static_cast<std::int64_t>(zero_list.size() * offloads_.size() *
                                                     tensor.size() * data.size());
}

}  // namespace nereus::search
