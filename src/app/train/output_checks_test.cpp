#include "app/train/output_checks.hpp"

#include <gtest/gtest.h>

#include "base/temporary_folder.hpp"

namespace nereus::app::output_checks_test {
namespace {

class OutputChecks : public ::testing::Test {
 protected:
  static bool file_fits(const std::string& path) {
    ErrorList errors;
    check_output_file("output.path", "-o", path, errors);
    return errors.empty();
  }
  static bool folder_fits(const std::string& path) {
    ErrorList errors;
    check_output_folder("train.tensorboard", "--tensorboard", path, errors);
    return errors.empty();
  }
  TemporaryFolder folder_;
};

TEST_F(OutputChecks, WhatCanBeWrittenPassesAndNothingIsLeft) {
  folder_.write("old.json", "{}");
  for (const char* file : {"old.json", "new.json"}) EXPECT_TRUE(file_fits(folder_ / file));
  for (const char* folder : {"", "/", "/new", "/new/deeper/", "/new/../other"})
    EXPECT_TRUE(folder_fits(folder_.path() + folder)) << folder;
  EXPECT_TRUE(file_fits("/dev/null") && file_fits("") && folder_fits(""));
  EXPECT_EQ(folder_.num_entries(), 1);
}

TEST_F(OutputChecks, WhatCannotIsRefused) {
  folder_.write("file", "");
  for (const std::string& path : {folder_ / "none/x", folder_.path(), folder_ / "file/x",
                                  std::string("/proc/x"), std::string("/proc/none/x")})
    EXPECT_FALSE(file_fits(path)) << path;
  for (const std::string& path : {folder_ / "file", folder_ / "file/x", std::string("/proc"),
                                  std::string("/proc/none"), std::string("/proc/none/x")})
    EXPECT_FALSE(folder_fits(path)) << path;
  ErrorList errors;
  check_output_file("output.path", "-o", folder_ / "none/x", errors);
  EXPECT_EQ(errors.list().front().code, "output.path");
  EXPECT_NE(errors.list().front().message.find("No such file"), std::string::npos);
}

}  // namespace
}  // namespace nereus::app::output_checks_test
