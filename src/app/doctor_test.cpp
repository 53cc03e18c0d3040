#include "app/doctor.hpp"

#include <gtest/gtest.h>

#include <set>

#include "app/version.hpp"

namespace nereus::app {
namespace {

TEST(Doctor, LooksAtEveryGroupAndNamesEachCheckOnce) {
  const DoctorAnswer answer = doctor();
  EXPECT_TRUE(answer.healthy);
  std::set<std::string> groups, names;
  for (const Check& check : answer.checks) {
    groups.insert(check.group);
    EXPECT_TRUE(names.insert(check.group + "/" + check.name).second) << check.name;
    EXPECT_FALSE(check.detail.empty()) << check.name;
    EXPECT_TRUE(check.status != CheckStatus::kAbsent || !check.needed_for.empty()) << check.name;
  }
  EXPECT_EQ(groups, (std::set<std::string>{"program", "libraries", "data", "machine", "tools",
                                           "permissions"}));
}

TEST(Version, KnowsWhatItWasBuiltFrom) {
  const VersionAnswer answer = version();
  EXPECT_FALSE(answer.version.empty());
  EXPECT_FALSE(answer.commit.empty());
  EXPECT_FALSE(answer.compiler.empty());
  EXPECT_FALSE(answer.architecture.empty());
}

}  // namespace
}  // namespace nereus::app
