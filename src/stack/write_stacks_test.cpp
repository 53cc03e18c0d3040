// Stacks that are written and read again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "stack/stack_testing.hpp"

namespace nereus::cost::write_stacks_test {
namespace {

using testing::device;
using testing::kFamily;
using testing::library_of;

std::vector<Scope> all_scopes(const StackLibrary& library) {
  std::vector<Scope> scopes;
  for (const auto& [name, settings] : library.devices)
    scopes.push_back({Scope::Kind::kDevice, name});
  for (const auto& [name, entry] : library.stacks) scopes.push_back({Scope::Kind::kStack, name});
  for (const auto& [name, entry] : library.sites) scopes.push_back({Scope::Kind::kSite, name});
  return scopes;
}

void expect_close(const Parameters& a, const Parameters& b, const std::string& what) {
  for (const ParameterInfo& info : parameter_table())
    EXPECT_NEAR(a.*info.member, b.*info.member, 5e-4 * std::abs(a.*info.member))
        << what << " " << info.name;
}

TEST(WriteStacks, ComesBackWithTheSameNumbers) {
  const StackLibrary& before = builtin_stacks();
  StackLibrary moved = before;
  double factor = 1.000123456;
  for (const FreeNumber& number : moved.free) {
    const double prior =
        number.from_parent ? before.inherited(number.scope, number.parameter) : number.prior;
    moved.set(number.scope, number.parameter, prior * factor);
    const ParameterInfo* info = find_parameter(number.parameter);
    moved.ranges[to_string(number.scope) + "." + number.parameter] = {
        std::max(info->low, prior * 0.987654321), std::min(info->high, prior * 1.0123456789), 17};
    factor -= 1e-5;
  }
  const std::string text = write_stacks(moved, all_scopes(moved), "# fitted\n");
  EXPECT_THAT(text, ::testing::StartsWith("# fitted\n"));
  StackLibrary after = before;
  overlay_stacks(after, text, "fitted.toml");
  for (const std::string& name : before.stack_names())
    for (const char* gpu : {"A100-SXM-80GB", "H100-SXM-80GB", "H100-SXM-96GB-500W"})
      for (const char* site : {"", "jean-zay"})
        expect_close(moved.resolve(name, site).parameters_for(device(gpu)),
                     after.resolve(name, site).parameters_for(device(gpu)), name + " " + gpu);
  ASSERT_EQ(after.ranges.size(), moved.ranges.size());
  for (const auto& [key, range] : moved.ranges) {
    EXPECT_NEAR(after.ranges.at(key).low, range.low, 5e-4 * std::abs(range.low)) << key;
    EXPECT_NEAR(after.ranges.at(key).high, range.high, 5e-4 * std::abs(range.high)) << key;
    EXPECT_EQ(after.ranges.at(key).rows, range.rows) << key;
  }
}

TEST(WriteStacks, TwiceGivesTheSameText) {
  const StackLibrary library = library_of(kFamily);
  const std::string once = write_stacks(library, all_scopes(library), "");
  StackLibrary again = library;
  overlay_stacks(again, once, "x.toml");
  EXPECT_EQ(write_stacks(again, all_scopes(again), ""), once);
}

TEST(WriteStacks, QuotesWhatTomlWouldMisread) {
  StackLibrary library;
  overlay_stacks(library,
                 "[stack.\"our \\\"fork\\\"\"]\ndescription = 'says \"fast\" and C:\\new'\n",
                 "q.toml");
  StackLibrary back;
  overlay_stacks(back, write_stacks(library, all_scopes(library), ""), "back.toml");
  EXPECT_EQ(back.stack_names(), library.stack_names());
  EXPECT_EQ(back.stacks.begin()->second.description, R"(says "fast" and C:\new)");
}

RC_GTEST_PROP(WriteStacksProperty, KeepsAnyNumberInItsRangeToFourDigits, ()) {
  const auto table = parameter_table();
  const ParameterInfo& info = table[*rc::gen::inRange(0, static_cast<int>(table.size()))];
  const double share = *rc::gen::inRange(0, 1'000'001) * 1e-6;
  const double value = info.low + (info.high - info.low) * share;
  StackLibrary library;
  overlay_stacks(library, "[stack.s]\n", "s.toml");
  const Scope scope{Scope::Kind::kStack, "s"};
  library.set(scope, std::string(info.name), value);
  StackLibrary back;
  overlay_stacks(back, write_stacks(library, {scope}, ""), "back.toml");
  const double* read = back.find(scope, info.name);
  RC_ASSERT(read != nullptr);
  RC_ASSERT(std::abs(*read - value) <= 5.01e-4 * std::abs(value));
}

}  // namespace
}  // namespace nereus::cost::write_stacks_test
