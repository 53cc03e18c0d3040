// A file of stacks over the program's own. What is accepted resolves to numbers in their ranges,
// and comes back from its written form.
#include <cmath>

#include "fuzz.hpp"
#include "stack/stack_file.hpp"

namespace nereus::cost {
namespace {

cluster::Device device(std::string_view name) {
  cluster::Device d;
  d.name = d.short_name = name;
  return d;
}

std::vector<Scope> scopes_of(const StackLibrary& library) {
  std::vector<Scope> scopes;
  for (const auto& [name, entry] : library.devices) scopes.push_back({Scope::Kind::kDevice, name});
  for (const auto& [name, entry] : library.stacks) scopes.push_back({Scope::Kind::kStack, name});
  for (const auto& [name, entry] : library.sites) scopes.push_back({Scope::Kind::kSite, name});
  return scopes;
}

void check(const Parameters& p, const Parameters& again) {
  for (const ParameterInfo& info : parameter_table()) {
    const double value = p.*info.member;
    NEREUS_CHECK(value >= info.low && value <= info.high, "a number outside of its range");
    NEREUS_CHECK(std::abs(again.*info.member - value) <= 1e-3 * std::abs(value),
                 "a number that changes on its way through a file");
  }
}

void overlay(std::string_view text) {
  StackLibrary library = builtin_stacks();
  const std::vector<std::string> names = overlay_stacks(library, text, "fuzz.toml");
  StackLibrary back = library;
  overlay_stacks(back, write_stacks(library, scopes_of(library), "# again\n"), "back.toml");
  for (const std::string& name : names)
    for (const char* gpu : {"A100-SXM-80GB", "H100-SXM-80GB"})
      check(library.resolve(name, "jean-zay").parameters_for(device(gpu)),
            back.resolve(name, "jean-zay").parameters_for(device(gpu)));
}

}  // namespace
}  // namespace nereus::cost

NEREUS_FUZZER(stacks)(const std::uint8_t* data, std::size_t size) {
  return nereus::fuzz(data, size, nereus::cost::overlay);
}
