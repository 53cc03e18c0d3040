#include "app/train/doctor.hpp"

#include <gtest/gtest.h>

#include <set>

#include "app/version.hpp"
#include "base/error.hpp"

namespace nereus::app::doctor_test {
namespace {

TEST(Doctor, LooksAtEveryGroupAndNamesEachCheckOnce) {
  const DoctorAnswer answer = doctor("/nonexistent/nereus-worker");
  EXPECT_TRUE(answer.healthy);
  std::set<std::string> groups, names;
  for (const Check& check : answer.checks) {
    groups.insert(check.group);
    EXPECT_TRUE(names.insert(check.group + "/" + check.name).second) << check.name;
    EXPECT_FALSE(check.detail.empty()) << check.name;
    EXPECT_TRUE(check.status != CheckStatus::kAbsent || !check.needed_for.empty()) << check.name;
  }
  EXPECT_EQ(groups, (std::set<std::string>{"program", "libraries", "data", "training", "machine",
                                           "tools", "permissions"}));
}

TEST(Doctor, ReadsWhereTheWorkerWasProven) {
  const std::vector<Proven> list = parse_proven(
      "[[proven]]\nlibrary = \"libtorch 1.13.1\"\nbackends = \"gloo\"\narchitecture = "
      "\"x86_64\"\ndate = \"2026-11-15\"\ncommit = \"0123456789ab\"\nwhat = \"60 plans\"\n");
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].commit, "0123456789ab");
  EXPECT_TRUE(parse_proven("# nothing yet\n").empty());
  EXPECT_THROW(parse_proven("[[proven]]\nlibary = \"x\"\n"), Errors);
}

TEST(Version, KnowsWhatItWasBuiltFrom) {
  const VersionAnswer answer = version();
  EXPECT_FALSE(answer.version.empty());
  EXPECT_FALSE(answer.commit.empty());
  EXPECT_FALSE(answer.compiler.empty());
  EXPECT_FALSE(answer.architecture.empty());
}

}  // namespace
}  // namespace nereus::app::doctor_test
