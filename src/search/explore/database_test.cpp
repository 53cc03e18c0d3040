#include "search/explore/database.hpp"

#include <gtest/gtest.h>

#include "base/base_testing.hpp"
#include "base/temporary_folder.hpp"
#include "search/explore/explore_testing.hpp"

namespace nereus::explore::database_test {
namespace {

class DatabaseFile : public ::testing::Test {
 protected:
  std::string path(const char* name) const { return folder_ / name; }

  TemporaryFolder folder_;
};

TEST_F(DatabaseFile, BrokenOffAndWholeAreTheSameBytes) {
  const Study study = study_of(small_study("goals = [\"time\", \"energy\"]"));
  Explorer explorer(study);
  std::vector<PointResult> results;
  for (std::int64_t p = 0; p < study.num_points(); ++p) results.push_back(explorer.evaluate(p));
  {
    Database whole = Database::open(path("whole"), "id", study, false);
    for (const PointResult& own : results) {
      whole.append({own});
      whole.commit();
    }
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    // Each time one more point that is never committed.
    Database broken = Database::open(path("broken"), "id", study, false);
    ASSERT_EQ(broken.num_points(), static_cast<std::int64_t>(i));
    broken.append({results[i]});
    broken.commit();
    if (i + 1 < results.size()) broken.append({results[i + 1]});
  }
  EXPECT_TRUE(folder_.read("broken") == folder_.read("whole"));
  Database again = Database::open(path("whole"), "id", study, false);
  std::int64_t rows = 0;
  again.scan([&](std::int64_t point, int place, const PointRow& row) {
    ++rows;
    const PointResult& own = results[point];
    ASSERT_EQ(row.status, own.status);
    EXPECT_EQ(row.found.step, own.found[place].step);
    EXPECT_EQ(again.strategy(row.strategy), own.found[place].degrees);
  });
  EXPECT_GE(rows, study.num_points());
}

TEST_F(DatabaseFile, KeepsItsStudyApart) {
  const Study study = study_of(small_study());
  { Database::open(path("a"), "one", study, false); }
  EXPECT_EQ(testing::codes_of([&] { Database::open(path("a"), "two", study, false); }),
            std::vector<std::string>{"explore.other-study"});
  EXPECT_EQ(Database::open(path("a"), "two", study, true).num_points(), 0);
  folder_.write("b", "this is a text, and long enough to be looked at as a header of one");
  EXPECT_EQ(testing::codes_of([&] { Database::open(path("b"), "one", study, false); }),
            std::vector<std::string>{"explore.no-database"});
}

TEST_F(DatabaseFile, IdentityFollowsAllThatDecides) {
  const std::string one = identity_of(study_of(small_study()), "c");
  EXPECT_EQ(one, identity_of(study_of(small_study()), "c"));
  EXPECT_NE(one, identity_of(study_of(small_study()), "d"));
  EXPECT_NE(one, identity_of(study_of(small_study(), {{"axes.nodes", "[1, 4]"}}), "c"));
  Study other = study_of(small_study());
  other.machines[0].cluster.groups[0].node.device.memory_bandwidth *= 1.01;
  EXPECT_NE(one, identity_of(other, "c"));
}

}  // namespace
}  // namespace nereus::explore::database_test
