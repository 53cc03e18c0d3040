#include "stack/stack.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/nearest.hpp"

namespace nereus::cost {

namespace {

void apply(Parameters& parameters, const Settings& settings) {
  for (const auto& [name, value] : settings)
    if (const ParameterInfo* info = find_parameter(name)) parameters.*info->member = value;
}

void merge(Settings& into, const Settings& from) {
  for (const auto& [name, value] : from) into[name] = value;
}

}  // namespace

namespace {

double bytes_of(plan::NumberType type) {
  switch (type) {
    case plan::NumberType::kFp32:
      return 4;
    case plan::NumberType::kBf16:
    case plan::NumberType::kFp16:
      return 2;
    case plan::NumberType::kFp8:
      return 1;
    case plan::NumberType::kInt8:
      return 1 + 4.0 / 2048;
    case plan::NumberType::kStack:
    case plan::NumberType::kNone:
      break;
  }
  return 0;
}

void set_types(StackOptions& options, const plan::StateTypes& types) {
  using plan::NumberType;
  const auto set = [](double& bytes, NumberType type) {
    if (type != NumberType::kStack) bytes = bytes_of(type);
  };
  const double before = options.gradient_bytes;
  set(options.gradient_bytes, types.gradients);
  // The sum is read and written, the micro-batch's 16-bit gradient is read.
  options.accumulate_traffic = (2 * options.gradient_bytes + 2) / (2 * before + 2);
  set(options.reduce_bytes, types.reduced);
  set(options.gather_bytes, types.gathered);
  double moments = std::min(8.0, options.optimizer_bytes);
  double master = options.optimizer_bytes - moments;
  if (types.moments != NumberType::kStack) moments = 2 * bytes_of(types.moments);
  if (types.master == NumberType::kNone) {
    master = 0;
    options.weight_bytes = std::min(options.weight_bytes, 2.0);
  } else if (master > 0 || options.weight_bytes < 4) {  // fp32 weights need no copy
    set(master, types.master);
  }
  options.optimizer_bytes = master + moments;
}

}  // namespace

StackOptions options_for(StackOptions options, cluster::Precision precision,
                         const plan::StateTypes& types) {
  double width = 0;
  if (precision == cluster::Precision::kFp32 || precision == cluster::Precision::kTf32) width = 4;
  if (precision == cluster::Precision::kFp64) width = 8;
  if (width > 0) {
    options.weight_bytes = options.gradient_bytes = width;
    options.reduce_bytes = options.gather_bytes = width;
    options.optimizer_bytes = 2 * width;
  }
  if (types != plan::StateTypes{}) set_types(options, types);
  return options;
}

std::string_view family_of(std::string_view device_name) {
  return device_name.substr(0, device_name.find('-'));
}

std::string to_string(const Scope& scope) {
  constexpr std::string_view kKinds[] = {"device", "stack", "site"};
  return fmt::format("{}:{}", kKinds[static_cast<int>(scope.kind)], scope.name);
}

std::vector<std::string_view> device_chain(
    std::string_view device_name, const std::map<std::string, std::string, std::less<>>& parents) {
  std::vector<std::string_view> chain{device_name};
  if (family_of(device_name) != device_name) chain.push_back(family_of(device_name));
  for (auto parent = parents.find(chain.back()); parent != parents.end() && chain.size() < 8;
       parent = parents.find(chain.back()))
    chain.push_back(parent->second);
  return chain;
}

Parameters Stack::parameters_for(const cluster::Device& device) const {
  Parameters parameters;
  const std::vector<std::string_view> chain = device_chain(device.short_name, device_parents);
  for (auto key = chain.rbegin(); key != chain.rend(); ++key)
    if (const auto own = devices.find(*key); own != devices.end()) apply(parameters, own->second);
  apply(parameters, settings);
  return parameters;
}

Stack StackLibrary::resolve(std::string_view name, std::string_view site) const {
  const auto found = stacks.find(name);
  if (found == stacks.end()) {
    const std::vector<std::string> names = stack_names();
    const auto near = nearest(name, names);
    throw_input_error(
        "stack.unknown",
        fmt::format("there is no stack named \"{}\"; known: {}", name, fmt::join(names, ", ")), {},
        near ? fmt::format("did you mean \"{}\"?", *near) : "give one of them, or a file");
  }
  Stack stack;
  stack.name = name;
  stack.site = site;
  stack.options = found->second.options;
  stack.defaults = found->second.defaults;
  stack.software = software_of(name);
  stack.errors = errors;
  stack.devices = devices;
  stack.device_parents = device_parents;
  std::vector<const StackEntry*> chain;
  for (const StackEntry* entry = &found->second;;) {
    chain.push_back(entry);
    const auto parent = stacks.find(entry->inherits);
    if (parent == stacks.end()) break;
    entry = &parent->second;
  }
  for (auto entry = chain.rbegin(); entry != chain.rend(); ++entry)
    merge(stack.settings, (*entry)->settings);
  if (const auto at = sites.find(site); at != sites.end())
    merge(stack.settings, at->second.settings);
  return stack;
}

std::vector<std::string> StackLibrary::software_of(std::string_view stack) const {
  std::vector<std::string> software;
  const auto is_version = [](const StackEntry& parent, std::string_view name) {
    const auto names_it = [&](const auto& version) { return version.second == name; };
    return std::any_of(parent.releases.begin(), parent.releases.end(), names_it) ||
           std::any_of(parent.variants.begin(), parent.variants.end(), names_it);
  };
  for (auto at = stacks.find(stack); at != stacks.end();) {
    if (at->second.limit) return {};
    const auto parent = stacks.find(at->second.inherits);
    const bool root = parent == stacks.end();
    if (root ? software.empty() : !is_version(parent->second, at->first))
      software.push_back(at->first);
    at = parent;
  }
  return software;
}

double* StackLibrary::find(const Scope& scope, std::string_view parameter) {
  Settings* settings = nullptr;
  if (scope.kind == Scope::Kind::kDevice) {
    if (const auto at = devices.find(scope.name); at != devices.end()) settings = &at->second;
  } else if (scope.kind == Scope::Kind::kStack) {
    if (const auto at = stacks.find(scope.name); at != stacks.end())
      settings = &at->second.settings;
  } else if (const auto at = sites.find(scope.name); at != sites.end()) {
    settings = &at->second.settings;
  }
  if (settings == nullptr) return nullptr;
  const auto at = settings->find(parameter);
  return at == settings->end() ? nullptr : &at->second;
}

void StackLibrary::set(const Scope& scope, const std::string& parameter, double value) {
  switch (scope.kind) {
    case Scope::Kind::kDevice:
      devices[scope.name][parameter] = value;
      return;
    case Scope::Kind::kStack:
      stacks[scope.name].settings[parameter] = value;
      return;
    case Scope::Kind::kSite:
      sites[scope.name].settings[parameter] = value;
      return;
  }
}

void StackLibrary::unset(const Scope& scope, const std::string& parameter) {
  ranges.erase(to_string(scope) + "." + parameter);
  switch (scope.kind) {
    case Scope::Kind::kDevice:
      devices[scope.name].erase(parameter);
      return;
    case Scope::Kind::kStack:
      stacks[scope.name].settings.erase(parameter);
      return;
    case Scope::Kind::kSite:
      sites[scope.name].settings.erase(parameter);
      return;
  }
}

std::vector<Scope> StackLibrary::ancestors(const Scope& scope) const {
  std::vector<Scope> out;
  if (scope.kind == Scope::Kind::kDevice) {
    for (std::string_view name : device_chain(scope.name, device_parents))
      if (name != scope.name) out.push_back({scope.kind, std::string(name)});
  } else if (scope.kind == Scope::Kind::kStack) {
    for (auto at = stacks.find(scope.name); at != stacks.end();) {
      at = stacks.find(at->second.inherits);
      if (at != stacks.end()) out.push_back({scope.kind, at->first});
    }
  }
  return out;
}

bool StackLibrary::sets(const Scope& scope, std::string_view parameter) const {
  return const_cast<StackLibrary*>(this)->find(scope, parameter) != nullptr;
}

double StackLibrary::inherited(const Scope& scope, std::string_view parameter) const {
  for (const Scope& from : ancestors(scope))
    if (const double* value = const_cast<StackLibrary*>(this)->find(from, parameter)) return *value;
  const ParameterInfo* info = find_parameter(parameter);
  return info != nullptr ? Parameters{}.*info->member : 0;
}

bool StackLibrary::applies(const Scope& scope, std::string_view device, std::string_view stack,
                           std::string_view site) const {
  if (scope.kind == Scope::Kind::kDevice) {
    const std::vector<std::string_view> chain = device_chain(device, device_parents);
    return std::find(chain.begin(), chain.end(), scope.name) != chain.end();
  }
  if (scope.kind == Scope::Kind::kSite) return scope.name == site;
  for (std::string_view name = stack; !name.empty();) {
    if (name == scope.name) return true;
    const auto at = stacks.find(name);
    name = at == stacks.end() ? std::string_view{} : std::string_view(at->second.inherits);
  }
  return false;
}

std::string StackLibrary::site_of_set(std::string_view set) const {
  for (const auto& [name, site] : sites)
    for (const std::string& own : site.sets)
      if (own == set) return name;
  return {};
}

std::vector<std::string> StackLibrary::stack_names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : stacks) names.push_back(name);
  return names;
}

}  // namespace nereus::cost
