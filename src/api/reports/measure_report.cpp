#include "api/reports/measure_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "api/form/json.hpp"
#include "base/format.hpp"
#include "profile/machine_json.hpp"

namespace nereus::api {

namespace {

using profile::Quantiles;

// "+- 3 %": half of the 95 % interval over processes; with one process, half of the range between
// the 10 and 90 % quantiles.
double spread_of(const Quantiles& q) {
  if (!(q.median > 0)) return 0;
  return (q.has_interval() ? q.half_width : (q.high - q.low) / 2) / q.median;
}

Table context_table(const app::MeasureAnswer& answer) {
  const profile::Context& c = answer.profile.machine.context;
  Table table{.name = "context", .record = true};
  const auto add = [&](const char* key, const char* title, Cell cell, Unit unit = Unit::kNone) {
    table.columns.push_back({key, title, unit, false, true});
    if (table.rows.empty()) table.rows.emplace_back();
    table.rows[0].push_back(std::move(cell));
  };
  add("device", "device", fmt::format("{} ({})", c.device, c.device_name));
  if (!c.driver.empty()) add("driver", "driver", c.driver);
  add("library", "library", c.library);
  add("host", "host", fmt::format("{}, {}, {}", c.host, c.system, counted(c.cores, "core")));
  add("ranks", "ranks",
      fmt::format("{} on {}, {} each, connected by {}", c.ranks, counted(c.hosts, "host"),
                  counted(c.threads, "thread"), c.backend));
  add("date", "date", c.date);
  add("processes", "processes",
      c.processes > 1 ? fmt::format("{}, one after the other; +- is the 95 % confidence interval "
                                    "over them",
                                    c.processes)
                      : "1; +- is half of the range between the 10th and 90th percentile of its "
                        "repeats");
  add("seconds", "measured in", answer.seconds, Unit::kSeconds);
  return table;
}

Table kernels_table(const profile::Machine& machine) {
  Table table{.name = "kernels",
              .title = "Kernels",
              .columns = {{"kind", "kernel"},
                          {"precision", "precision"},
                          {"shape", "shape"},
                          {"seconds", "time", Unit::kSeconds},
                          {"spread", "+-", Unit::kShare},
                          {"flops_per_s", "rate", Unit::kFlopsPerSecond},
                          {"bytes_per_s", "memory", Unit::kBytesPerSecond}}};
  for (const profile::Kernel& k : machine.kernels)
    table.rows.push_back({k.kind, k.precision, fmt::format("{}", fmt::join(k.shape, " x ")),
                          k.seconds.median, spread_of(k.seconds), k.flops / k.seconds.median,
                          k.bytes / k.seconds.median});
  return table;
}

Table rates_table(const profile::Machine& machine) {
  Table table{.name = "rates",
              .title = "Memory, disk, preparation, jitter",
              .columns = {{"what", "what"},
                          {"rate", "rate"},
                          {"spread", "+-", Unit::kShare},
                          {"note", "measured with", Unit::kNone, false, true}}};
  const auto rate = [](const Quantiles& q) { return human(q.median, Unit::kBytesPerSecond); };
  for (const profile::Copy& own : machine.copies)
    table.rows.push_back({"memory: " + own.kind, rate(own.rate), spread_of(own.rate),
                          fmt::format("{} per copy", human(own.bytes, Unit::kBytes))});
  const auto disk = [&](const char* what, const profile::DiskReads& reads) {
    if (reads.rate.repeats == 0) return;
    const double share = reads.bytes_read > 0 ? reads.bytes_loaded / reads.bytes_read : 0;
    table.rows.push_back({what, rate(reads.rate), spread_of(reads.rate),
                          fmt::format("{} in {}; {} of the bytes came from the disk",
                                      human(machine.disk.bytes, Unit::kBytes), machine.disk.folder,
                                      human(share, Unit::kShare))});
  };
  disk("disk: cold", machine.disk.cold);
  disk("disk: page cache", machine.disk.warm);
  for (const profile::Preparation& own : machine.preparations)
    table.rows.push_back({"preparation: " + own.kind,
                          fmt::format("{}/s", format_significant(own.rate.median)),
                          spread_of(own.rate),
                          fmt::format("samples of {}, one core", human(own.bytes, Unit::kBytes))});
  if (machine.jitter.seconds.repeats > 0)
    table.rows.push_back(
        {"jitter", human(machine.jitter.seconds.median, Unit::kSeconds),
         spread_of(machine.jitter.seconds),
         fmt::format("repeats of equal work; 1 in 100 takes {} longer, the worst takes {} longer",
                     human(machine.jitter.p99, Unit::kShare),
                     human(machine.jitter.worst, Unit::kShare))});
  return table;
}

Table links_table(const profile::Machine& machine) {
  Table table{.name = "links",
              .title = "Messages between ranks, one way",
              .columns = {{"from", "from"},
                          {"to", "to"},
                          {"same_host", "same host"},
                          {"bytes", "bytes", Unit::kBytes},
                          {"seconds", "time", Unit::kSeconds},
                          {"spread", "+-", Unit::kShare},
                          {"bytes_per_s", "rate", Unit::kBytesPerSecond}}};
  // People see the least and the largest message of each pair; JSON has all.
  for (std::size_t i = 0; i < machine.links.size(); ++i) {
    const profile::RankLink& own = machine.links[i];
    const auto same = [&](std::size_t j) {
      return j < machine.links.size() && machine.links[j].from == own.from &&
             machine.links[j].to == own.to;
    };
    if (i > 0 && same(i - 1) && same(i + 1)) continue;
    table.rows.push_back({own.from, own.to, own.same_host, own.bytes, own.seconds.median,
                          spread_of(own.seconds), own.bytes / own.seconds.median});
  }
  return table;
}

Table collectives_table(const profile::Machine& machine) {
  Table table{.name = "collectives",
              .title = "Collectives",
              .columns = {{"kind", "kind"},
                          {"ranks", "ranks"},
                          {"hosts", "hosts"},
                          {"bytes", "bytes", Unit::kBytes},
                          {"seconds", "time", Unit::kSeconds},
                          {"spread", "+-", Unit::kShare}}};
  for (const profile::Collective& own : machine.collectives)
    table.rows.push_back(
        {own.kind, own.ranks, own.hosts, own.bytes, own.seconds.median, spread_of(own.seconds)});
  return table;
}

Table layers_table(const profile::Profile& profile) {
  Table table{.name = "layers",
              .title = "Layers",
              .columns = {{"model", "model"},
                          {"layer", "layer"},
                          {"precision", "precision"},
                          {"tp", "tp"},
                          {"samples", "samples"},
                          {"forward_s", "forward", Unit::kSeconds},
                          {"forward_spread", "+-", Unit::kShare},
                          {"backward_s", "backward", Unit::kSeconds},
                          {"backward_spread", "+-", Unit::kShare},
                          {"update_s", "update", Unit::kSeconds}}};
  for (const profile::MeasuredLayer& own : profile.layers)
    for (std::size_t i = 0; i < own.samples.size(); ++i) {
      const auto half = [&](const std::vector<double>& low, const std::vector<double>& high,
                            const std::vector<double>& median,
                            const std::vector<double>& half_width) {
        if (i >= low.size() || i >= median.size()) return Cell();
        Quantiles q{median[i], low[i], high[i], 1};
        if (i < half_width.size()) {
          q.processes = own.processes;
          q.half_width = half_width[i];
        }
        return Cell(spread_of(q));
      };
      table.rows.push_back(
          {own.model, own.layer, own.precision, own.tp, own.samples[i], own.forward[i],
           half(own.forward_low, own.forward_high, own.forward, own.forward_half_width),
           own.backward.empty() ? Cell() : Cell(own.backward[i]),
           half(own.backward_low, own.backward_high, own.backward, own.backward_half_width),
           own.update > 0 ? Cell(own.update) : Cell()});
    }
  return table;
}

Json to_json(const measure::Compared& own) {
  Json json{{"what", own.what},
            {"first", to_json(own.first)},
            {"second", to_json(own.second)},
            {"difference", own.difference}};
  if (own.has_interval) json["half_width"] = own.half_width;
  json["agrees"] = own.agrees;
  return json;
}

// "200 us +- 3.0 us", or of one process "200 us (190 us to 210 us)".
std::string text_of(const Quantiles& q, Unit unit) {
  return q.has_interval()
             ? fmt::format("{} +- {}", human(q.median, unit), human(q.half_width, unit))
             : fmt::format("{} ({} to {})", human(q.median, unit), human(q.low, unit),
                           human(q.high, unit));
}

Table differing_table(const measure::Comparison& comparison) {
  Table table{.name = "differing",
              .title = "Numbers that differ by more than their intervals",
              .columns = {{"what", "what", Unit::kNone, false, true},
                          {"first", "first", Unit::kNone, false, true},
                          {"second", "second", Unit::kNone, false, true},
                          {"difference", "difference", Unit::kShare},
                          {"allowed", "allowed", Unit::kShare}}};
  for (const measure::Compared& own : comparison.numbers) {
    if (own.agrees) continue;
    const double smaller = std::min(own.first.median, own.second.median);
    table.rows.push_back({own.what, text_of(own.first, own.unit), text_of(own.second, own.unit),
                          own.difference,
                          own.has_interval ? Cell(own.half_width / smaller) : Cell()});
  }
  return table;
}

// How numbers were compared, and what only one of the files has.
std::vector<std::string> notes_of(const measure::Comparison& comparison, const std::string& first,
                                  const std::string& second) {
  std::vector<std::string> notes = comparison.other_contexts;
  const auto only = [&](const std::vector<std::string>& list, const std::string& file) {
    if (!list.empty())
      notes.push_back(fmt::format(
          "only {} contains {} {}", file,
          counted(list.size(), "more number, which is", "more numbers, the first of which is"),
          list.front()));
  };
  only(comparison.first_only, first);
  only(comparison.second_only, second);
  const std::size_t by_ranges =
      comparison.numbers.size() - static_cast<std::size_t>(comparison.num_tested);
  if (comparison.num_tested > 0)
    notes.push_back(
        fmt::format("{} by intervals over processes, each at {:.4g} %, so that all hold "
                    "simultaneously at 95 % (Welch's t, Bonferroni)",
                    counted(comparison.num_tested, "number was compared", "numbers were compared"),
                    100 * comparison.confidence));
  if (by_ranges > 0)
    notes.push_back(
        fmt::format("{} in one process only; such ranges are too narrow, so measure again",
                    counted(by_ranges,
                            "number was compared by the ranges of its repeats, because one file "
                            "measured it",
                            "numbers were compared by the ranges of their repeats, because one "
                            "file measured them")));
  return notes;
}

}  // namespace

Report measure_report(const app::MeasureAnswer& answer) {
  const profile::Machine& machine = answer.profile.machine;
  Report report;
  for (Table& table :
       std::vector<Table>{kernels_table(machine), rates_table(machine), links_table(machine),
                          collectives_table(machine), layers_table(answer.profile)})
    if (!table.rows.empty()) report.tables.push_back(std::move(table));
  Table context = context_table(answer);
  context.notes = answer.profile.notes;
  report.tables.insert(report.tables.begin(), std::move(context));
  report.json = profile::profile_to_json(answer.profile);
  return report;
}

Report comparison_report(const measure::Comparison& comparison, const std::string& first,
                         const std::string& second) {
  Json numbers = Json::array();
  for (const measure::Compared& own : comparison.numbers) numbers.push_back(to_json(own));
  std::vector<double> differences;
  for (const measure::Compared& own : comparison.numbers) differences.push_back(own.difference);
  const double median = profile::quantile(differences, 0.5);
  Table summary{.name = "", .record = true};
  summary.columns = {{"agree", "agree"},
                     {"numbers", "numbers"},
                     {"differing", "outside intervals"},
                     {"median_difference", "median difference", Unit::kShare}};
  summary.rows.push_back(
      {comparison.agree(), comparison.numbers.size(), comparison.num_differing(), median});
  summary.notes = notes_of(comparison, first, second);
  Json json{
      {"agree", comparison.agree()},
      {"differing", comparison.num_differing()},
      {"median_difference", median},
      {"tested", comparison.num_tested},
      {"confidence", profile::kConfidence},
      {"confidence_each", comparison.num_tested > 0 ? Json(comparison.confidence) : Json(nullptr)},
      {"other_contexts", comparison.other_contexts},
      {"first_only", comparison.first_only},
      {"second_only", comparison.second_only},
      {"numbers", numbers}};
  Report report{.tables = {summary}, .json = json.dump(2)};
  Table table = differing_table(comparison);
  if (!table.rows.empty()) report.tables.push_back(std::move(table));
  return report;
}

}  // namespace nereus::api
