#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.hpp"
#include "plan/degree_fields.hpp"
#include "search/explore/study_sections.hpp"

namespace nereus::explore {

using spec::Reader;
using spec::Value;

namespace {

// A word or a list of words, each turned into one of an enumeration.
template <class E, class Parse>
void read_words(Reader& table, std::string_view key, std::vector<E>& out, Parse&& parse,
                const std::vector<std::string>& known, ErrorList& errors) {
  const Value* value = table.raw(key);
  if (value == nullptr) return;
  const auto one = [&](const Value& own) {
    const auto* text = std::get_if<std::string>(&own.data);
    std::optional<E> parsed;
    if (text != nullptr) parsed = parse(*text);
    if (parsed) {
      out.push_back(*parsed);
      return;
    }
    errors.add("explore.bad-value",
               fmt::format("{}: {} is none of {}", key, spec::to_json(own), fmt::join(known, ", ")),
               own.where(), known.front());
  };
  if (const auto* list = std::get_if<spec::Array>(&value->data)) {
    for (const Value& own : *list) one(own);
    if (list->empty())
      errors.add("explore.empty-axis", fmt::format("{} has no values", key), value->where(),
                 "at least one, or leave it out");
  } else {
    one(*value);
  }
}

std::optional<search::RecomputeChoice> parse_recompute_choice(std::string_view text) {
  if (text == "none") return search::RecomputeChoice::kNone;
  if (text == "selective") return search::RecomputeChoice::kSelective;
  if (text == "full") return search::RecomputeChoice::kFull;
  if (text == "partial") return search::RecomputeChoice::kPartial;
  return std::nullopt;
}

void read_flags(Reader& table, std::string_view key, std::vector<bool>& out) {
  if (table.has(key)) out = {table.optional_bool(key, false)};
}

plan::Degrees read_listed(Reader& table, ErrorList& errors) {
  plan::Degrees d;
  d.tp = table.optional_int("tp", 1, 1);
  d.pp = table.optional_int("pp", 1, 1);
  d.cp = table.optional_int("cp", 1, 1);
  d.dp = table.optional_int("dp", 0, 1);
  d.ep = table.optional_int("ep", 1, 1);
  d.expert_tp = table.optional_int("expert_tp", 1, 1);
  d.interleave = table.optional_int("interleave", 1, 1);
  d.micro_batch = table.optional_int("micro_batch", 1, 1);
  d.zero = table.optional_int("zero", 0, 0, 3);
  d.zero_group = table.optional_int("zero_group", 0, 0);
  d.recompute_blocks = table.optional_int("recompute_blocks", 0, 0);
  std::vector<plan::Recompute> recompute;
  read_words(table, "recompute", recompute, plan::parse_recompute,
             plan::words_of<plan::Recompute>(), errors);
  if (!recompute.empty()) d.recompute = recompute.front();
  std::vector<plan::Schedule> schedule;
  read_words(table, "schedule", schedule, plan::parse_schedule, plan::words_of<plan::Schedule>(),
             errors);
  d.schedule = !schedule.empty()  ? schedule.front()
               : d.interleave > 1 ? plan::Schedule::kInterleaved
                                  : plan::Schedule::k1f1b;
  d.sequence_parallel = table.optional_bool("sequence_parallel", d.tp > 1);
  d.tensor_overlap = table.optional_bool("tensor_overlap", false);
  d.data_overlap = table.optional_bool("data_overlap", true);
  table.finish();
  return d;
}

// Sizes that a tensor x data space fixes at 1.
void restrict_to_mp_dp(Reader& table, search::Choices& choices) {
  const auto fix = [&](const char* key, std::vector<int>& list) {
    if (!list.empty() && list != std::vector<int>{1})
      table.fail(key, "explore.contradiction",
                 fmt::format("space = \"mp-dp\" has no {} but 1", key),
                 "space = \"full\", or leave it out");
    list = {1};
  };
  fix("pp", choices.pp);
  fix("cp", choices.cp);
  fix("ep", choices.ep);
  fix("interleave", choices.interleave);
}

}  // namespace

void read_strategy(Reader& table, StrategySpace& strategy, ErrorList& errors) {
  search::Choices& c = strategy.choices;
  strategy.mp_dp = table.optional_enum<bool>("space", false, {{"full", false}, {"mp-dp", true}});
  const auto ints = [&](const char* key, std::vector<int>& out, int least) {
    if (const Value* value = table.raw(key)) out = read_whole_values(*value, key, least, errors);
  };
  ints("tp", c.tp, 1);
  ints("pp", c.pp, 1);
  ints("dp", c.dp, 1);
  ints("cp", c.cp, 1);
  ints("ep", c.ep, 1);
  ints("expert_tp", c.expert_tp, 1);
  ints("interleave", c.interleave, 1);
  ints("micro_batch", c.micro_batch, 1);
  ints("zero", c.zero, 0);
  ints("zero_group", c.zero_group, 0);
  for (const int zero : c.zero)
    if (zero > 3)
      table.fail("zero", "explore.bad-value", fmt::format("zero takes 0 to 3, not {}", zero), "3");
  c.max_tp = table.optional_int("max_tp", 0, 1);
  for (const int tp : c.tp)
    if (c.max_tp > 0 && tp > c.max_tp)
      table.fail("tp", "explore.contradiction",
                 fmt::format("tp = {} is above max_tp = {}", tp, c.max_tp), "one of the two");
  read_words(table, "recompute", c.recompute, parse_recompute_choice,
             {"none", "selective", "full", "partial"}, errors);
  read_words(table, "schedule", c.schedules, plan::parse_schedule, plan::words_of<plan::Schedule>(),
             errors);
  read_words(table, "context", c.contexts, plan::parse_context, plan::words_of<plan::ContextKind>(),
             errors);
  read_flags(table, "sequence_parallel", c.sequence_parallel);
  read_flags(table, "tensor_overlap", c.tensor_overlap);
  read_flags(table, "data_overlap", c.data_overlap);
  strategy.offload = table.optional_enum<OffloadUse>("offload", OffloadUse::kExpanded,
                                                     {{"none", OffloadUse::kNone},
                                                      {"expanded", OffloadUse::kExpanded},
                                                      {"any", OffloadUse::kAny}});
  if (strategy.mp_dp) restrict_to_mp_dp(table, c);

  const std::size_t narrowed = table.keys().size() - (table.has("list") ? 1 : 0);
  for (Reader& own : table.optional_tables("list"))
    strategy.list.push_back(read_listed(own, errors));
  if (table.has("list") && narrowed > 0)
    table.fail("list", "explore.contradiction",
               "a list of strategies is the whole space; the other keys would be of no effect",
               "either list, or space and degrees");
  table.finish();
}

}  // namespace nereus::explore
