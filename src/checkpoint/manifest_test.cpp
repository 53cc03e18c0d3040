#include "checkpoint/manifest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/base_testing.hpp"
#include "base/temporary_folder.hpp"
#include "checkpoint/checkpoint_reader.hpp"
#include "checkpoint/saving_testing.hpp"

namespace nereus::checkpoint::manifest_test {
namespace {

using ::nereus::testing::codes_of;
using ::testing::ElementsAre;
using namespace testing;  // of this folder

TEST(Manifest, SaysWhatIsWrong) {
  const TemporaryFolder folder;
  save_all(folder.path(), at_step(1), small_plan(), small_parts());
  const Manifest good = Checkpoint(folder / "step-000001").manifest();
  const auto code = [](const Manifest& manifest) {
    return codes_of([&] { parse_manifest(manifest_to_json(manifest), "manifest.json"); });
  };
  EXPECT_TRUE(code(good).empty());
  Manifest outside = good;
  outside.files[0].name = "../../etc/passwd";
  EXPECT_THAT(code(outside), ::testing::Each("checkpoint.manifest"));
  EXPECT_FALSE(code(outside).empty());
  Manifest twice = good;
  twice.tensors.push_back(twice.tensors[0]);
  EXPECT_THAT(code(twice), ElementsAre("checkpoint.manifest"));
  Manifest slice = good;
  slice.tensors[0].pieces[0].part = {0, 2, 1, 4};
  EXPECT_THAT(code(slice), ElementsAre("checkpoint.manifest"));
  std::string later = manifest_to_json(good);
  later.replace(later.find("\": 1"), 4, "\": 9");
  EXPECT_THAT(codes_of([&] { parse_manifest(later, "m"); }),
              ElementsAre("checkpoint.schema-version"));
}

}  // namespace
}  // namespace nereus::checkpoint::manifest_test
