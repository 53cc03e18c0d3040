#include "stack/stack_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/embedded.hpp"
#include "base/nearest.hpp"
#include "spec/quantity.hpp"
#include "spec/reader.hpp"
#include "stack/error_table.hpp"

namespace nereus::cost {

using spec::Reader;
using spec::Value;

namespace {

// A parameter's value: a plain number, or text with the unit that the parameter has.
double read_number(Reader& at, std::string_view key, const ParameterInfo& info) {
  const Value* raw = at.raw(key);
  const auto out_of_range = [&](double value) {
    if (value >= info.low && value <= info.high) return value;
    at.fail(key, "stack.range",
            fmt::format("{} = {} lies outside its physical range {} .. {} {}", info.name, value,
                        info.low, info.high, info.unit));
    return info.low;
  };
  if (info.unit == "s" || info.unit == "B") {
    const auto* text = raw != nullptr ? std::get_if<std::string>(&raw->data) : nullptr;
    if (text == nullptr) {
      at.fail(key, "spec.missing-unit", fmt::format("{} needs a unit", info.name),
              info.unit == "s" ? "\"1.5 ms\"" : "\"2 GB\"");
      return info.low;
    }
    const auto report = [&](const auto& parsed) {
      if (parsed.value) return out_of_range(parsed.value->value);
      at.fail(key, parsed.code, parsed.reason, parsed.hint);
      return info.low;
    };
    return info.unit == "s" ? report(spec::parse_seconds(*text)) : report(spec::parse_bytes(*text));
  }
  return out_of_range(at.required_double(key));
}

const ParameterInfo* known_parameter(Reader& at, std::string_view key) {
  if (const ParameterInfo* info = find_parameter(key)) return info;
  std::vector<std::string> names;
  for (const ParameterInfo& info : parameter_table()) names.emplace_back(info.name);
  const auto near = nearest(key, names);
  at.fail(key, "stack.unknown-parameter", fmt::format("there is no parameter \"{}\"", key),
          near ? fmt::format("did you mean \"{}\"?", *near) : "");
  return nullptr;
}

void read_numbers(Reader& owner, const Scope& scope, StackLibrary& library) {
  Reader parameters = owner.optional_table("parameters");
  for (std::string_view key : parameters.keys()) {
    const ParameterInfo* info = known_parameter(parameters, key);
    const Value* raw = parameters.raw(key);
    if (info == nullptr || raw == nullptr) continue;
    const std::string name(key);
    if (std::holds_alternative<spec::Table>(raw->data)) {
      Reader entry = parameters.required_table(key);
      library.set(scope, name, read_number(entry, "value", *info));
      FittedRange range;
      if (entry.has("low")) range.low = read_number(entry, "low", *info);
      if (entry.has("high")) range.high = read_number(entry, "high", *info);
      range.rows = entry.optional_int("rows", 0, 0);
      entry.finish();
      library.ranges[to_string(scope) + "." + name] = range;
    } else {
      library.set(scope, name, read_number(parameters, key, *info));
    }
  }
  parameters.finish();
  Reader fit = owner.optional_table("fit");
  for (std::string_view key : fit.keys()) {
    const ParameterInfo* info = known_parameter(fit, key);
    fit.skip(key);
    if (info == nullptr) continue;
    Reader entry = fit.required_table(key);
    FreeNumber number{scope, std::string(key), 0, entry.optional_double("spread", 0.3, 1e-3, 10),
                      !entry.has("prior")};
    if (!number.from_parent) number.prior = read_number(entry, "prior", *info);
    entry.finish();
    std::erase_if(library.free, [&](const FreeNumber& old) {
      return old.scope == number.scope && old.parameter == number.parameter;
    });
    library.free.push_back(number);
  }
  fit.finish();
}

void read_options(Reader& at, StackOptions& o) {
  o.attention = at.optional_enum(
      "attention", o.attention,
      {{"flash", plan::Attention::kFlash}, {"unfused", plan::Attention::kUnfused}});
  o.stages = at.optional_enum(
      "stage_rule", o.stages,
      {{"even", StageRule::kEven}, {"balanced", StageRule::kBalanced}, {"ends", StageRule::kEnds}});
  o.selective = at.optional_enum("selective_recompute", o.selective,
                                 {{"attention", SelectiveRule::kAttention},
                                  {"every-other-block", SelectiveRule::kEveryOtherBlock}});
  o.zero2 = at.optional_enum("zero2", o.zero2,
                             {{"reduce-once", Zero2Rule::kReduceOnce},
                              {"reduce-each", Zero2Rule::kReduceEach},
                              {"gather-each", Zero2Rule::kGatherEach}});
  o.memory_report = at.optional_enum("memory_report", o.memory_report,
                                     {{"worst-rank-reserved", MemoryReport::kWorstRankReserved},
                                      {"first-rank-allocated", MemoryReport::kFirstRankAllocated}});
  o.weight_bytes = at.optional_double("weight_bytes", o.weight_bytes, 0.5, 8);
  o.gradient_bytes = at.optional_double("gradient_bytes", o.gradient_bytes, 0, 8);
  o.optimizer_bytes = at.optional_double("optimizer_bytes", o.optimizer_bytes, 0, 32);
  o.reduce_bytes = at.optional_double("reduce_bytes", o.reduce_bytes, 0.5, 8);
  o.gather_bytes = at.optional_double("gather_bytes", o.gather_bytes, 0.5, 8);
  o.regather_backward = at.optional_bool("regather_backward", o.regather_backward);
  o.host_update = at.optional_bool("host_update", o.host_update);
  o.local_batch_split = at.optional_bool("local_batch_split", o.local_batch_split);
}

void read_defaults(Reader at, RunDefaults& d) {
  d.vocab = at.optional_int("vocab", d.vocab, 1);
  d.interleave = at.optional_int("interleave", d.interleave, 1, 1000);
  d.zero = at.optional_int("zero", d.zero, 0, 3);
  d.recompute = at.optional_enum("recompute", d.recompute,
                                 {{"none", plan::Recompute::kNone},
                                  {"selective", plan::Recompute::kSelective},
                                  {"full", plan::Recompute::kFull}});
  d.recompute_as_needed = at.optional_bool("recompute_as_needed", d.recompute_as_needed);
  d.sequence_parallel = at.optional_bool("sequence_parallel", d.sequence_parallel);
  d.tensor_overlap = at.optional_bool("tensor_overlap", d.tensor_overlap);
  d.tied_embeddings = at.optional_bool("tied_embeddings", d.tied_embeddings);
  d.bias = at.optional_bool("bias", d.bias);
  d.expert_tensor = at.optional_bool("expert_tensor", d.expert_tensor);
  at.finish();
}

void read_stack(Reader& at, const std::string& name, StackLibrary& library) {
  StackEntry entry;
  entry.inherits = at.optional_string("inherits");
  if (const auto known = library.stacks.find(name); known != library.stacks.end()) {
    entry = known->second;
    at.skip("inherits");
  } else if (const auto parent = library.stacks.find(entry.inherits);
             parent != library.stacks.end()) {
    entry.options = parent->second.options;
    entry.defaults = parent->second.defaults;
  } else if (!entry.inherits.empty()) {
    at.fail("inherits", "stack.unknown",
            fmt::format("there is no stack \"{}\" to inherit", entry.inherits),
            "stacks are read in order: a parent stands before its children");
    entry.inherits.clear();
  }
  entry.description = at.optional_string("description", entry.description);
  read_options(at, entry.options);
  read_defaults(at.optional_table("defaults"), entry.defaults);
  if (at.has("frameworks")) entry.frameworks = at.optional_strings("frameworks");
  Reader variants = at.optional_table("variants");
  for (std::string_view column : variants.keys())
    entry.variants[std::string(column)] = variants.required_string(column);
  variants.finish();
  Reader releases = at.optional_table("releases");
  for (std::string_view release : releases.keys())
    entry.releases[std::string(release)] = releases.required_string(release);
  releases.finish();
  at.skip("expected_error");  // in files of earlier versions; now in left_out, of all stacks
  entry.limit = at.optional_bool("limit", entry.limit);
  library.stacks[name] = entry;
  read_numbers(at, {Scope::Kind::kStack, name}, library);
  at.finish();
}

void read_site(Reader& at, const std::string& name, StackLibrary& library) {
  SiteEntry& site = library.sites[name];
  site.description = at.optional_string("description", site.description);
  site.source = at.optional_string("source", site.source);
  if (at.has("sets")) site.sets = at.optional_strings("sets");
  site.network_bytes_per_s =
      at.optional<BytesPerSecond>("network", BytesPerSecond{site.network_bytes_per_s}).value;
  read_numbers(at, {Scope::Kind::kSite, name}, library);
  at.finish();
}

}  // namespace

void add_errors(StackLibrary& library, std::string_view csv, const std::string& file) {
  auto table = library.errors ? std::make_shared<ErrorTable>(*library.errors)
                              : std::make_shared<ErrorTable>();
  table->merge(parse_error_table(csv, file));
  library.errors = std::move(table);
}

std::vector<std::string> overlay_stacks(StackLibrary& library, std::string_view text,
                                        const std::string& file) {
  const Value root = spec::parse_toml(text, file);
  ErrorList errors;
  Reader at(root, errors);
  std::vector<std::string> names;
  Reader devices = at.optional_table("device");
  for (std::string_view name : devices.keys()) {
    Reader device = devices.required_table(name);
    library.devices[std::string(name)];
    if (device.has("inherits"))
      library.device_parents[std::string(name)] = device.required_string("inherits");
    read_numbers(device, {Scope::Kind::kDevice, std::string(name)}, library);
    device.finish();
  }
  devices.finish();
  Reader stacks = at.optional_table("stack");
  for (std::string_view name : stacks.keys()) {
    Reader stack = stacks.required_table(name);
    read_stack(stack, std::string(name), library);
    names.emplace_back(name);
  }
  stacks.finish();
  Reader sites = at.optional_table("site");
  for (std::string_view name : sites.keys()) {
    Reader site = sites.required_table(name);
    read_site(site, std::string(name), library);
  }
  sites.finish();
  const std::string left_out = at.optional_string("left_out");
  at.finish();
  errors.throw_if_any();
  if (!left_out.empty()) add_errors(library, left_out, file);
  return names;
}

const StackLibrary& builtin_stacks() {
  static const StackLibrary kLibrary = [] {
    StackLibrary all;
    for (const EmbeddedFile& file : embedded_files())
      if (file.path.starts_with("stacks/") && file.path.ends_with(".toml"))
        overlay_stacks(all, file.text, std::string(file.path));
    for (const EmbeddedFile& file : embedded_files())
      if (file.path == "stacks/3-left-out.csv") add_errors(all, file.text, std::string(file.path));
    return all;
  }();
  return kLibrary;
}

std::string overlay_file(StackLibrary& library, const std::string& path) {
  const std::vector<std::string> defined =
      overlay_stacks(library, spec::read_text_file(path), path);
  // The one that no other stack of the file builds on.
  std::vector<std::string> leaves;
  for (const std::string& name : defined) {
    const bool inherited =
        std::any_of(defined.begin(), defined.end(), [&](const std::string& other) {
          return other != name && library.applies({Scope::Kind::kStack, name}, {}, other, {});
        });
    if (!inherited) leaves.push_back(name);
  }
  return leaves.size() == 1 ? leaves.front() : std::string();
}

Stack load_stack(std::string_view name_or_file, std::string_view site) {
  if (builtin_stacks().has(name_or_file)) return builtin_stacks().resolve(name_or_file, site);
  // FILE, or FILE:NAME.
  const std::size_t colon = name_or_file.rfind(':');
  std::string path(name_or_file);
  std::string name;
  if (!std::filesystem::exists(path) && colon != std::string_view::npos) {
    path = std::string(name_or_file.substr(0, colon));
    name = std::string(name_or_file.substr(colon + 1));
  }
  if (!std::filesystem::exists(path) && !path.ends_with(".toml"))
    return builtin_stacks().resolve(name_or_file, site);  // says which names there are
  StackLibrary library = builtin_stacks();
  const std::string only = overlay_file(library, path);
  if (name.empty() && only.empty()) {
    StackLibrary scratch = builtin_stacks();
    const std::vector<std::string> defined =
        overlay_stacks(scratch, spec::read_text_file(path), path);
    throw_input_error(
        "stack.which",
        fmt::format("{} defines {} stacks: {}", path, defined.size(), fmt::join(defined, ", ")),
        {path},
        defined.empty() ? "give it one [stack.NAME]"
                        : fmt::format("say which: {}:{}", path, defined.front()));
  }
  return library.resolve(name.empty() ? only : name, site);
}

namespace {

std::string number_text(const ParameterInfo& info, double value) {
  if (info.unit == "s") return fmt::format("\"{}\"", spec::write_quantity(Seconds{value}));
  if (info.unit == "B") return fmt::format("\"{}\"", spec::write_quantity(Bytes{value}));
  return fmt::format("{}", value);
}

// JSON's strings are strings of TOML too.
std::string quoted(const std::string& text) {
  Value value;
  value.data = text;
  return spec::to_json(value);
}

// Four significant digits: more would claim a precision that no fit has.
double rounded(double value) { return std::stod(fmt::format("{:.4g}", value)); }

}  // namespace

std::string write_stacks(const StackLibrary& library, const std::vector<Scope>& scopes,
                         const std::string& comment) {
  std::string out = comment;
  constexpr std::string_view kKinds[] = {"device", "stack", "site"};
  for (const Scope& scope : scopes) {
    const std::string head =
        fmt::format("{}.{}", kKinds[static_cast<int>(scope.kind)], quoted(scope.name));
    out += fmt::format("\n[{}]\n", head);
    const Settings* settings = nullptr;
    if (scope.kind == Scope::Kind::kStack) {
      const StackEntry& entry = library.stacks.find(scope.name)->second;
      if (!entry.inherits.empty()) out += fmt::format("inherits = {}\n", quoted(entry.inherits));
      if (!entry.description.empty())
        out += fmt::format("description = {}\n", quoted(entry.description));
      // The only option that calibrate decides.
      if (const auto parent = library.stacks.find(entry.inherits);
          parent != library.stacks.end() &&
          parent->second.options.memory_report != entry.options.memory_report)
        out += fmt::format("memory_report = \"{}\"\n",
                           entry.options.memory_report == MemoryReport::kFirstRankAllocated
                               ? "first-rank-allocated"
                               : "worst-rank-reserved");
      settings = &entry.settings;
    } else if (scope.kind == Scope::Kind::kDevice) {
      settings = &library.devices.find(scope.name)->second;
    } else {
      settings = &library.sites.find(scope.name)->second.settings;
    }
    out += fmt::format("[{}.parameters]\n", head);
    for (const auto& [name, value] : *settings) {
      const ParameterInfo* info = find_parameter(name);
      if (info == nullptr) continue;
      const std::string text = number_text(*info, rounded(value));
      const auto range = library.ranges.find(to_string(scope) + "." + name);
      if (range == library.ranges.end()) {
        out += fmt::format("{} = {}\n", name, text);
      } else {
        out += fmt::format("{} = {{ value = {}, low = {}, high = {}, rows = {} }}\n", name, text,
                           number_text(*info, rounded(range->second.low)),
                           number_text(*info, rounded(range->second.high)), range->second.rows);
      }
    }
  }
  return out;
}

std::string default_stack(const model::Model& model, const cluster::Device& device) {
  if (model.table_layer() >= 0) return "recommender";
  if (model.cnn) return "pytorch-nvidia";
  const std::shared_ptr<const ErrorTable>& errors = builtin_stacks().errors;
  return errors && errors->has("nemo", family_of(device.short_name)) ? "nemo" : "megatron";
}

std::string default_stack(const model::Model& model, const cluster::Cluster& cluster) {
  const auto peak_of = [](const cluster::Device& device) {
    double most = 0;
    for (const auto precision :
         {cluster::Precision::kBf16, cluster::Precision::kFp16, cluster::Precision::kFp32})
      if (device.has(precision)) most = std::max(most, device.peak_of(precision).value);
    return most;
  };
  std::map<std::string, double> computes;
  for (const cluster::NodeGroup& group : cluster.groups)
    computes[default_stack(model, group.node.device)] +=
        group.num_devices() * peak_of(group.node.device);
  return std::max_element(computes.begin(), computes.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

}  // namespace nereus::cost
