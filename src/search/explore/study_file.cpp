#include "search/explore/study_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>
#include <utility>

#include "base/embedded.hpp"
#include "base/format.hpp"
#include "base/nearest.hpp"
#include "cluster/check_cluster.hpp"
#include "cluster/load_cluster.hpp"
#include "search/explore/study_sections.hpp"
#include "stack/stack_file.hpp"

namespace nereus::explore {

using spec::Reader;
using spec::Value;

namespace {

// Tables under a key, whether it is written [key] or [[key]].
std::vector<Reader> tables_of(Reader& file, std::string_view key, bool required) {
  const Value* value = file.raw(key);
  if (value != nullptr && std::holds_alternative<spec::Array>(value->data))
    return file.required_tables(key);
  std::vector<Reader> one;
  if (value != nullptr || required) one.push_back(file.required_table(key));
  return one;
}

template <class F>
void collect(ErrorList& errors, const Where& where, F&& load) {
  try {
    load();
  } catch (const Errors& wrong) {
    for (Error error : wrong.list()) {
      if (error.where.file.empty()) error.where = where;
      errors.add(error);
    }
  }
}

void read_machine(Reader& table, const std::string& usual_stack, Study& study, ErrorList& errors) {
  StudyMachine machine;
  const std::string base = table.required_string("base");
  machine.name = table.optional_string("name", base);
  machine.stack_name = table.optional_string("stack", usual_stack);
  std::vector<std::pair<Axis, AxisValue>> settings;
  for (int i = 0; i < kNumAxes; ++i) {
    const auto axis = static_cast<Axis>(i);
    const Value* value = table.raw(info(axis).name);
    if (value == nullptr) continue;
    const std::vector<AxisValue> values = read_axis_values(*value, axis, errors);
    if (values.size() > 1)
      table.fail(info(axis).name, "explore.bad-value",
                 fmt::format("a cluster has one {}; several are an axis", info(axis).title),
                 fmt::format("[axes] {} = [...]", info(axis).name));
    else if (!values.empty())
      settings.emplace_back(axis, values.front());
  }
  table.finish();
  if (base.empty()) return;
  collect(errors, table.where("base"), [&] {
    machine.cluster = cluster::load_cluster(base);
    if (!machine.cluster.uniform())
      throw_input_error("explore.mixed-cluster", "a study varies clusters of one kind of node",
                        table.where("base"), "one COUNTxNODE");
    const cluster::Cluster given = machine.cluster;
    bool sized = false;
    for (const auto& [axis, value] : settings) {
      const double own = value.on(given, axis);
      const int per_node = machine.cluster.groups.front().node.num_devices;
      if (value.relative && !(own > 0))
        throw_input_error("explore.bad-value",
                          fmt::format("{} of {} is not known, so that no factor of it is",
                                      info(axis).title, base),
                          table.where(info(axis).name), "a value with its unit");
      if (info(axis).unit == AxisUnit::kCount && (own < 1 || own != std::floor(own)))
        throw_input_error("explore.bad-value",
                          fmt::format("{} = {:g} is no count", info(axis).name, own),
                          table.where(info(axis).name), "a whole number");
      if (axis == Axis::kDevices && std::fmod(own, per_node) != 0)
        throw_input_error(
            "explore.bad-value",
            fmt::format("{} not fill nodes of {}",
                        counted(fmt::format("{:g}", own), "device does", "devices do"), per_node),
            table.where("devices"), "a multiple");
      if ((axis == Axis::kDevices || axis == Axis::kNodes) && std::exchange(sized, true))
        throw_input_error("explore.contradiction", "nodes and devices both say how many there are",
                          table.where("devices"), "one of the two");
      set(machine.cluster, axis, own);
    }
    if (!machine.stack_name.empty()) (void)cost::load_stack(machine.stack_name);
    study.machines.push_back(std::move(machine));
  });
}

void read_axes(const Value& value, Study& study, ErrorList& errors) {
  const auto* table = std::get_if<spec::Table>(&value.data);
  if (table == nullptr) {
    errors.add("spec.type", "axes is a table", value.where(), "[axes]");
    return;
  }
  for (const spec::Member& own : *table) {
    const std::optional<Axis> axis = parse_axis(own.first);
    if (!axis) {
      const std::optional<std::string> near = nearest(own.first, axis_names());
      errors.add("explore.unknown-axis", fmt::format("there is no axis '{}'", own.first),
                 own.second.where(),
                 near ? fmt::format("did you mean {}?", *near)
                      : fmt::format("one of {}; a model's own fields are axes of its workload: "
                                    "shape = {{ layers = [...] }}",
                                    fmt::join(axis_names(), ", ")));
      continue;
    }
    study.axes.push_back({*axis, read_axis_values(own.second, *axis, errors)});
  }
}

void read_goals(Reader& file, Study& study) {
  study.goals.clear();
  for (const std::string& word : file.optional_strings("goals")) {
    bool known = false;
    for (int i = 0; i < kNumGoals; ++i)
      if (word == to_string(static_cast<Goal>(i))) {
        known = true;
        if (std::find(study.goals.begin(), study.goals.end(), static_cast<Goal>(i)) ==
            study.goals.end())
          study.goals.push_back(static_cast<Goal>(i));
      }
    if (!known)
      file.fail("goals", "explore.bad-value", fmt::format("'{}' is no goal", word),
                "time, money, energy, devices");
  }
  if (study.goals.empty()) study.goals = {Goal::kTime};
}

}  // namespace

Study study_from_value(const Value& value, const std::string& source) {
  ErrorList errors;
  Reader file(value, errors);
  Study study;
  study.source = source;
  study.text = spec::to_json(value);
  study.name = file.optional_string("name", source);
  const std::string stack = file.optional_string("stack");
  study.headroom = file.optional_double("headroom", 0, 0, 0.99);
  for (Reader& table : tables_of(file, "cluster", true)) read_machine(table, stack, study, errors);
  std::set<std::string> names;
  for (const StudyMachine& machine : study.machines)
    if (!names.insert(machine.name).second)
      file.fail("cluster", "explore.same-name",
                fmt::format("two clusters are called {}", machine.name), "name = \"...\"");
  int index = 0;
  for (Reader& table : tables_of(file, "workload", true)) {
    if (study.machines.empty()) break;
    read_workload(table, index++, study.machines.front().cluster, study, errors);
  }
  if (const Value* axes = file.raw("axes")) read_axes(*axes, study, errors);
  Reader strategy = file.optional_table("strategy");
  if (strategy.present()) read_strategy(strategy, study.strategy, errors);
  read_goals(file, study);
  Reader prices = file.optional_table("prices");
  if (prices.present()) read_prices(prices, study.prices, errors);
  Reader power = file.optional_table("power");
  if (power.present()) read_power(power, study.prices, errors);
  Reader constraints = file.optional_table("constraints");
  if (constraints.present()) read_constraints(constraints, study.constraints, errors);
  if (errors.empty()) {
    check_study(study, file);
  }
  file.finish();
  errors.throw_if_any();

  std::erase_if(study.variants, [&](const Variant& variant) {
    return variant.unbuildable.empty() &&
           (variant.model.parameters() < study.constraints.parameters_low ||
            variant.model.parameters() > study.constraints.parameters_high);
  });
  for (Variant& variant : study.variants)
    variant.stack = static_cast<int>(variant.precision) * 2 + (variant.model.table_layer() >= 0);
  for (StudyMachine& machine : study.machines)
    for (const Variant& variant : study.variants) {
      if (machine.bases.contains(variant.stack)) continue;
      const cluster::Device& device = machine.cluster.groups.front().node.device;
      const cost::Basis own(cost::load_stack(machine.stack_name.empty()
                                                 ? cost::default_stack(variant.model, device)
                                                 : machine.stack_name));
      machine.bases.emplace(variant.stack, own.in_precision(variant.precision));
    }
  return study;
}

Study study_from_text(const std::string& text, const std::string& path,
                      const StudyOverrides& overrides) {
  Value value = path.ends_with(".json")                             ? spec::parse_json(text, path)
                : path.ends_with(".yaml") || path.ends_with(".yml") ? spec::parse_yaml(text, path)
                                                                    : spec::parse_toml(text, path);
  for (const auto& [key, own] : overrides) {
    const std::string_view prefix = "study.";
    spec::set_path(value, key.starts_with(prefix) ? key.substr(prefix.size()) : key, own);
  }
  return study_from_value(value, path);
}

namespace {
constexpr std::string_view kStudies = "studies/";
constexpr std::string_view kEnding = ".toml";
}  // namespace

std::vector<std::string> builtin_study_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_files())
    if (file.path.starts_with(kStudies) && file.path.ends_with(kEnding))
      names.emplace_back(
          file.path.substr(kStudies.size(), file.path.size() - kStudies.size() - kEnding.size()));
  return names;
}

std::string study_text(const std::string& path_or_name) {
  std::error_code ignored;
  if (std::filesystem::exists(path_or_name, ignored) ||
      path_or_name.find_first_of("./") != std::string::npos)
    return spec::read_text_file(path_or_name);
  if (const auto own = find_embedded(fmt::format("{}{}{}", kStudies, path_or_name, kEnding)))
    return std::string(*own);
  const std::vector<std::string> names = builtin_study_names();
  const std::optional<std::string> near = nearest(path_or_name, names);
  throw_input_error(
      "explore.no-study",
      fmt::format("'{}' is no file, and no study of that name is known", path_or_name), {},
      near ? fmt::format("did you mean {}?", *near)
           : fmt::format("a file, or one of {}", fmt::join(names, ", ")));
}

}  // namespace nereus::explore
