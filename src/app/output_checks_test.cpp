#include "app/output_checks.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace nereus::app {
namespace {

namespace fs = std::filesystem;

class OutputChecks : public testing::Test {
 protected:
  OutputChecks() : folder_(fs::temp_directory_path() / "nereus-outputs-XXXXXX") {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
  }
  ~OutputChecks() override { fs::remove_all(folder_); }
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
  std::string folder_;
};

TEST_F(OutputChecks, WhatCanBeWrittenPassesAndNothingIsLeft) {
  std::ofstream(folder_ + "/old.json") << "{}";
  for (const char* file : {"/old.json", "/new.json"}) EXPECT_TRUE(file_fits(folder_ + file));
  for (const char* folder : {"", "/", "/new", "/new/deeper/", "/new/../other"})
    EXPECT_TRUE(folder_fits(folder_ + folder)) << folder;
  EXPECT_TRUE(file_fits("/dev/null") && file_fits("") && folder_fits(""));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(OutputChecks, WhatCannotIsRefused) {
  std::ofstream(folder_ + "/file") << "";
  for (const std::string& path : {folder_ + "/none/x", folder_, folder_ + "/file/x",
                                  std::string("/proc/x"), std::string("/proc/none/x")})
    EXPECT_FALSE(file_fits(path)) << path;
  for (const std::string& path : {folder_ + "/file", folder_ + "/file/x", std::string("/proc"),
                                  std::string("/proc/none"), std::string("/proc/none/x")})
    EXPECT_FALSE(folder_fits(path)) << path;
  ErrorList errors;
  check_output_file("output.path", "-o", folder_ + "/none/x", errors);
  EXPECT_EQ(errors.list().front().code, "output.path");
  EXPECT_NE(errors.list().front().message.find("No such file"), std::string::npos);
}

}  // namespace
}  // namespace nereus::app
