#include "search/explore/study_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>
#include <utility>

#include "base/embedded.hpp"
#include "base/nearest.hpp"
#include "cluster/check.hpp"
#include "cluster/load.hpp"
#include "cost/stack_file.hpp"
#include "search/explore/study_sections.hpp"

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
        throw_input_error("explore.bad-value",
                          fmt::format("{:g} devices do not fill nodes of {}", own, per_node),
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

bool has_axis(const Study& study, Axis axis) {
  return std::any_of(study.axes.begin(), study.axes.end(),
                     [&](const StudyAxis& own) { return own.axis == axis; });
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

// Axes that exclude one another or are of no effect.
void check_axes(const Study& study, Reader& file) {
  if (has_axis(study, Axis::kNodes) && has_axis(study, Axis::kDevices))
    file.fail("axes", "explore.contradiction", "nodes and devices both say how many there are",
              "one of the two");
  if (has_axis(study, Axis::kPrice) && !study.prices.from_catalogue)
    file.fail("axes", "explore.no-effect",
              "the axis price is of no effect where [prices] says what nodes and devices cost",
              "leave one of them out");
  for (const StudyMachine& machine : study.machines) {
    const bool any_expanded =
        has_axis(study, Axis::kExpandedMemory) || get(machine.cluster, Axis::kExpandedMemory) > 0;
    for (const Axis axis : {Axis::kExpandedBandwidth, Axis::kExpandedLatency})
      if (has_axis(study, axis) && !any_expanded)
        file.fail("axes", "explore.no-effect",
                  fmt::format("{} is of no effect: {} has no expanded memory", info(axis).name,
                              machine.name),
                  "expanded_memory = \"256 GB\"");
    if (any_expanded && !has_axis(study, Axis::kExpandedBandwidth) &&
        get(machine.cluster, Axis::kExpandedBandwidth) <= 0)
      file.fail("axes", "explore.no-bandwidth",
                fmt::format("the expanded memory of {} has no bandwidth", machine.name),
                "expanded_bandwidth = \"500 GB/s\"");
    for (const StudyAxis& own : study.axes)
      for (const AxisValue& value : own.values)
        if (value.relative && get(machine.cluster, own.axis) <= 0) {
          file.fail("axes", "explore.bad-value",
                    fmt::format("{} of {} is not known, so that no factor of it is",
                                info(own.axis).title, machine.name),
                    "a value with its unit");
          break;
        }
  }
}

// Goals need what they are counted in.
void check_goals(const Study& study, Reader& file) {
  const auto wants = [&](Goal goal) {
    return std::find(study.goals.begin(), study.goals.end(), goal) != study.goals.end() ||
           study.constraints.most[static_cast<std::size_t>(goal)] <
               Constraints{}.most[static_cast<std::size_t>(goal)];
  };
  for (const StudyMachine& machine : study.machines) {
    const Running own = running(study.prices, machine.cluster, machine.cluster);
    if (wants(Goal::kMoney) && own.usd_per_s <= 0 && !has_axis(study, Axis::kPrice))
      file.fail("goals", "explore.no-price",
                fmt::format("money counts, but no price of {} is known", machine.name),
                "[prices] device = \"$2/h\", or price = \"$2/h\" in the cluster");
    if (wants(Goal::kEnergy) && own.device_watts <= 0 && !has_axis(study, Axis::kPower))
      file.fail("goals", "explore.no-power",
                fmt::format("energy counts, but no power of {} is known", machine.name),
                "power = \"700 W\" in the cluster");
  }
}

// A study in which no cluster may be looked at.
void check_constraints(const Study& study, Reader& file) {
  const double most = study.constraints.most[static_cast<std::size_t>(Goal::kDevices)];
  double fewest = std::numeric_limits<double>::infinity();
  for (std::size_t m = 0; m < study.machines.size(); ++m) {
    const cluster::Cluster& own = study.machines[m].cluster;
    double nodes = get(own, Axis::kNodes);
    double per_node = get(own, Axis::kDevicesPerNode);
    double devices = 0;
    for (const StudyAxis& axis : study.axes) {
      double least = std::numeric_limits<double>::infinity();
      for (const AxisValue& value : axis.values) least = std::min(least, value.on(own, axis.axis));
      if (axis.axis == Axis::kNodes) nodes = least;
      if (axis.axis == Axis::kDevicesPerNode) per_node = least;
      if (axis.axis == Axis::kDevices) devices = least;
    }
    fewest = std::min(fewest, devices > 0 ? devices : nodes * per_node);
  }
  if (fewest > most)
    file.fail("constraints", "explore.contradiction",
              fmt::format("at most {:g} devices are allowed, and the smallest cluster has {:g}",
                          most, fewest),
              fmt::format("devices = {:g}, or smaller clusters", fewest));
  bool any = study.variants.empty();
  for (const Variant& variant : study.variants)
    if (variant.unbuildable.empty() &&
        variant.model.parameters() >= study.constraints.parameters_low &&
        variant.model.parameters() <= study.constraints.parameters_high)
      any = true;
  if (!any)
    file.fail("constraints", "explore.contradiction",
              fmt::format("no model has {:g} to {:g} parameters; the first has {:g}",
                          study.constraints.parameters_low, study.constraints.parameters_high,
                          study.variants.front().model.parameters()),
              "wider limits, or other shapes");
}

void check_precisions(const Study& study, Reader& file) {
  std::set<std::pair<std::string, cluster::Precision>> said;
  for (const Variant& variant : study.variants)
    for (const StudyMachine& machine : study.machines)
      if (variant.unbuildable.empty() &&
          !machine.cluster.groups.front().node.device.has(variant.precision) &&
          said.emplace(machine.name, variant.precision).second)
        file.fail(
            "workload", "explore.precision",
            fmt::format("the devices of {} have no {}", machine.name, to_string(variant.precision)),
            "precision = \"bf16\", or other devices");
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
    check_axes(study, file);
    check_goals(study, file);
    check_constraints(study, file);
    check_precisions(study, file);
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
      if (machine.stacks.contains(variant.stack)) continue;
      const cluster::Device& device = machine.cluster.groups.front().node.device;
      cost::Stack own =
          cost::load_stack(machine.stack_name.empty() ? cost::default_stack(variant.model, device)
                                                      : machine.stack_name);
      own.options = cost::options_for(own.options, variant.precision);
      machine.stacks.emplace(variant.stack, std::move(own));
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
  for (const EmbeddedFile& file : embedded_files())
    if (file.path == fmt::format("{}{}{}", kStudies, path_or_name, kEnding))
      return std::string(file.text);
  const std::vector<std::string> names = builtin_study_names();
  const std::optional<std::string> near = nearest(path_or_name, names);
  throw_input_error(
      "explore.no-study",
      fmt::format("'{}' is no file, and no study of that name is known", path_or_name), {},
      near ? fmt::format("did you mean {}?", *near)
           : fmt::format("a file, or one of {}", fmt::join(names, ", ")));
}

Study load_study(const std::string& path_or_name, const StudyOverrides& overrides) {
  return study_from_text(study_text(path_or_name), path_or_name, overrides);
}

}  // namespace nereus::explore
