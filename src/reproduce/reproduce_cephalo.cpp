#include "reproduce/reproduce_cephalo.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <sstream>

#include "base/embedded.hpp"
#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/parse_number.hpp"
#include "base/units.hpp"
#include "search/mixed/cephalo.hpp"
#include "spec/csv.hpp"

namespace nereus::app {

namespace {

constexpr int kTokens = 512;           // of all its cases
constexpr double kSumBytes = 4;        // gradients are summed in fp32
constexpr int kMostSamples = 1 << 14;  // tables of a case grow with their square

// A case as its row has it, with what --set changed.
struct Case {
  std::map<std::string, std::string> fields;
  std::string changed;  // as options
  const std::string& text(const std::string& name) const { return fields.at(name); }
  double number(const std::string& name, double otherwise, double least, double most) const {
    const auto found = fields.find(name);
    if (found == fields.end() || found->second.empty()) return otherwise;
    const std::string& own = found->second;
    const std::optional<double> value = parse_number<double>(own);
    if (!value || !(*value >= least) || !(*value <= most))
      throw_input_error("reproduce.value",
                        fmt::format("{} of case {} is '{}'", name, text("name"), own), {},
                        fmt::format("a number from {} to {}", least, most));
    return *value;
  }
};

const std::vector<std::string> kCephaloFields = {"case",       "devices", "global_batch",
                                                 "precision",  "limit",   "reserve_gib",
                                                 "penalty_ms", "uneven",  "link_gib_s"};

std::vector<Case> read_cases(const ReproduceRequest& request) {
  const spec::Csv csv =
      spec::parse_csv(embedded_text("cephalo/cases.csv"), "data/cephalo/cases.csv");
  std::vector<Case> all;
  std::vector<std::string> names;
  for (const spec::CsvRow& row : csv.rows) {
    Case own;
    for (std::size_t i = 0; i < csv.columns.size(); ++i) own.fields[csv.columns[i]] = row.cells[i];
    names.push_back(own.text("name"));
    all.push_back(std::move(own));
  }
  ErrorList errors;
  const auto choose = [&](const char* code, const std::string& what, const std::string& word,
                          const std::vector<std::string>& known) {
    const std::optional<std::string> near = nearest(word, known);
    errors.add(code, fmt::format("no {} '{}'", what, word), {},
               near ? "did you mean " + *near : fmt::format("one of {}", fmt::join(known, ", ")));
  };
  std::string only;
  for (const auto& [path, value] : request.overrides) {
    const std::size_t dot = path.find('.');
    const std::string name = path.substr(0, dot), field = path.substr(dot + 1);
    if (name != "all" && std::find(names.begin(), names.end(), name) == names.end())
      choose("reproduce.case", "case", name, names);
    else if (std::find(kCephaloFields.begin(), kCephaloFields.end(), field) == kCephaloFields.end())
      choose("reproduce.field", "field", field, kCephaloFields);
    else if (field == "case" && std::find(names.begin(), names.end(), value) == names.end())
      choose("reproduce.case", "case", value, names);
    else if (field == "case")
      only = value;
    else
      for (Case& own : all)
        if (name == "all" || own.text("name") == name) {
          own.fields[field] = value;
          own.changed += fmt::format(" --set '{}={}'", path, value);
        }
  }
  errors.throw_if_any();
  if (!only.empty()) std::erase_if(all, [&](const Case& own) { return own.text("name") != only; });
  return all;
}

class Cephalo {
 public:
  Cephalo()
      : profile_(profile::read_cephalo_profile(
            embedded_text("cephalo/latencies.json"), "data/cephalo/latencies.json",
            embedded_text("cephalo/memory.json"), "data/cephalo/memory.json")) {
    read("devices.csv", "device", "usable_gib", usable_);
    read("models.csv", "model", "layer_parameters", layer_parameters_);
  }

  mixed::CephaloProblem problem(const Case& own) const {
    mixed::CephaloProblem p;
    const std::string& model = own.text("model");
    const std::string& precision = own.text("precision");
    std::istringstream devices(own.text("devices"));
    for (std::string name; devices >> name;) {
      const auto memory = usable_.find(name);
      if (memory == usable_.end())
        throw_input_error("reproduce.device", fmt::format("Cephalo has no device '{}'", name), {},
                          fmt::format("one of {}", fmt::join(keys(usable_), ", ")));
      p.devices.push_back(
          {&profile_.times_of(model, name, kTokens, precision), memory->second * kGiB});
    }
    if (p.devices.empty())
      throw_input_error("reproduce.device", fmt::format("case {} has no devices", own.text("name")),
                        {}, "l4 l4 a6000");
    p.memory = &profile_.memory_of(own.text("memory"), model, precision);
    const double samples = own.number("global_batch", 1, 1, kMostSamples);
    p.global_batch = static_cast<int>(samples);
    if (p.global_batch != samples)
      throw_input_error("reproduce.value",
                        fmt::format("global_batch of case {} is {}", own.text("name"), samples), {},
                        "a whole number");
    p.limit = own.number("limit", p.limit, 1e-3, 1);
    p.reserve = own.number("reserve_gib", p.reserve / kGiB, 0, 1e6) * kGiB;
    p.penalty = own.number("penalty_ms", p.penalty * 1e3, 0, 1e6) * 1e-3;
    p.uneven = own.number("uneven", p.uneven, 1, 1e3);
    // A ring of all devices: gathers in the width of computation, sums in fp32.
    if (const double link = own.number("link_gib_s", 0, 0, 1e9); link > 0) {
      const auto count = static_cast<double>(p.devices.size());
      const double seconds = (count - 1) / count * layer_parameters_.at(model) / (link * kGiB);
      p.gather = seconds * (precision == "float16" ? 2 : 4);
      p.scatter = seconds * kSumBytes;
    }
    return p;
  }

 private:
  static void read(const std::string& file, const char* key, const char* value,
                   std::map<std::string, double>& into) {
    const spec::Csv csv = spec::parse_csv(embedded_text("cephalo/" + file), "data/cephalo/" + file);
    for (const spec::CsvRow& row : csv.rows)
      into[csv.cell(row, csv.find(key))] = std::stod(csv.cell(row, csv.find(value)));
  }
  static std::vector<std::string> keys(const std::map<std::string, double>& of) {
    std::vector<std::string> names;
    for (const auto& [name, value] : of) names.push_back(name);
    return names;
  }

  profile::LayerProfile profile_;
  std::map<std::string, double> usable_;            // GiB
  std::map<std::string, double> layer_parameters_;  // of one layer
};

std::string note_of(const mixed::CephaloAnswer& answer, const mixed::CephaloProblem& problem,
                    const Case& own) {
  if (!answer.feasible) return "infeasible: " + answer.why_not;
  std::vector<int> samples, counts;
  double fullest = 0;
  bool guessed = false;
  for (std::size_t i = 0; i < answer.devices.size(); ++i) {
    samples.push_back(answer.devices[i].samples());
    counts.push_back(answer.devices[i].num_micro_batches);
    fullest = std::max(fullest, answer.devices[i].memory / problem.devices[i].memory);
    guessed |= answer.devices[i].extrapolated;
  }
  std::string note = fmt::format(
      "ms per layer; samples {} in {} micro-batches; fullest device "
      "{:.1f} %",
      fmt::join(samples, "/"), fmt::join(counts, "/"), 100 * fullest);
  if (guessed) note += "; partly extrapolated";
  if (!own.changed.empty()) return note;
  return note + fmt::format("; an earlier exact search found {}; Cephalo's planner took {} s",
                            own.text("exact_ms"), own.text("cephalo_wall_s"));
}

}  // namespace

ReproduceAnswer reproduce_cephalo(const ReproduceRequest& request) {
  ReproduceAnswer out;
  out.system = "cephalo";
  const std::vector<Case> cases = read_cases(request);
  const Cephalo cephalo;
  for (const Case& own : cases) {
    if (request.stop && request.stop()) {
      out.complete = false;
      break;
    }
    const mixed::CephaloProblem problem = cephalo.problem(own);
    const auto begin = std::chrono::steady_clock::now();
    const mixed::CephaloAnswer answer = mixed::solve(problem);
    Claim claim;
    claim.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    claim.name = fmt::format("{}: {} samples on {}", own.text("name"), problem.global_batch,
                             own.text("devices"));
    // Published values only hold for the unchanged case.
    if (own.changed.empty()) claim.published = own.number("cephalo_ms", 0, 0, 1e9);
    if (answer.feasible) claim.ours = answer.layer_seconds * 1e3;
    claim.kind = ClaimKind::kDerived;
    claim.note = note_of(answer, problem, own);
    claim.inputs = "data/cephalo/cases.csv, " + own.text("name") + own.changed;
    claim.command =
        fmt::format("nereus reproduce cephalo --set all.case={}{}", own.text("name"), own.changed);
    out.claims.push_back(std::move(claim));
  }
  out.notes = {
      "published: the answer of Cephalo's planner for these inputs; ours: the optimum under its "
      "own objective, with every device's memory checked after the state is sharded",
      "under that objective its plans cannot be improved; docs/cephalo.md lists what its model "
      "omits"};
  return out;
}

}  // namespace nereus::app
