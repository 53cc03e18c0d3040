#include "checkpoint/safetensors.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <filesystem>

#include "base/base_testing.hpp"
#include "base/temporary_folder.hpp"
#include "checkpoint/checkpoint_testing.hpp"

namespace nereus::checkpoint::safetensors_test {
namespace {

using ::nereus::testing::codes_of;
using testing::any_of;
using ::testing::ElementsAre;
using testing::numbered_bytes;
using testing::read_bytes;

std::vector<std::byte> file_of(std::string header, std::size_t data, std::uint64_t claimed = 0) {
  const std::uint64_t length = claimed != 0 ? claimed : header.size();
  std::vector<std::byte> bytes(sizeof(length) + header.size() + data);
  std::memcpy(bytes.data(), &length, sizeof(length));
  std::memcpy(bytes.data() + sizeof(length), header.data(), header.size());
  return bytes;
}

std::vector<std::string> faults(const std::string& header, std::size_t data,
                                std::uint64_t claimed = 0) {
  return codes_of([&] { parse_safetensors(file_of(header, data, claimed), "x.safetensors"); });
}

TEST(Safetensors, ReadsTheFormat) {
  const std::vector<std::byte> file = file_of(
      R"({"b":{"dtype":"BF16","shape":[2,3],"data_offsets":[4,16]},)"
      R"("__metadata__":{"format":"pt"},"a":{"dtype":"I32","shape":[],"data_offsets":[0,4]}}   )",
      16);
  const SafetensorsHeader header = parse_safetensors(file, "x.safetensors");
  EXPECT_EQ(header.metadata, (Metadata{{"format", "pt"}}));
  EXPECT_THAT(header.tensors, ElementsAre(StoredTensor{"a", DType::kI32, {}, 0, 4},
                                          StoredTensor{"b", DType::kBf16, {2, 3}, 4, 16}));
}

TEST(Safetensors, RefusesWhatTheReferenceRefuses) {
  EXPECT_THAT(codes_of([] { parse_safetensors(std::vector<std::byte>(7), "x"); }),
              ElementsAre("safetensors.truncated"));
  EXPECT_THAT(faults("{}", 0, 100'000'001), ElementsAre("safetensors.header"));
  EXPECT_THAT(faults("{}", 0, 3), ElementsAre("safetensors.truncated"));
  EXPECT_THAT(faults(" {}", 0), ElementsAre("safetensors.header"));
  EXPECT_THAT(faults("[]", 0), ElementsAre("safetensors.header"));
  EXPECT_THAT(faults("{\"a\"", 0), ElementsAre("spec.syntax"));
  EXPECT_THAT(faults("{}", 1), ElementsAre("safetensors.hole"));
  const auto one = [](const char* dtype, const char* shape, const char* offsets) {
    return fmt::format(R"({{"a":{{"dtype":"{}","shape":{},"data_offsets":{}}}}})", dtype, shape,
                       offsets);
  };
  EXPECT_TRUE(faults(one("F32", "[2]", "[0,8]"), 8).empty());
  EXPECT_TRUE(faults(one("F32", "[0,9223372036854775807,9]", "[0,0]"), 0).empty());
  EXPECT_THAT(faults(one("F3", "[2]", "[0,8]"), 8), ElementsAre("safetensors.dtype"));
  EXPECT_THAT(faults(one("F32", "[2]", "[0,4]"), 4), ElementsAre("safetensors.size"));
  EXPECT_THAT(faults(one("F32", "[4611686018427387904,4]", "[0,0]"), 0),
              ElementsAre("safetensors.size"));
  EXPECT_THAT(faults(one("F32", "[-2]", "[0,8]"), 8), ElementsAre("safetensors.header"));
  EXPECT_THAT(faults(one("F32", "[2]", "[8,0]"), 8), ElementsAre("safetensors.header"));
  EXPECT_THAT(faults(one("F32", "[2]", "[0,8,8]"), 8), ElementsAre("safetensors.header"));
  EXPECT_THAT(faults(one("F32", "[2]", "[0,8]"), 7), ElementsAre("safetensors.truncated"));
  EXPECT_THAT(faults(one("F32", "[2]", "[1,9]"), 9), ElementsAre("safetensors.hole"));
  // A name twice; two tensors on the same bytes.
  EXPECT_THAT(faults(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                     R"("a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                     2),
              ElementsAre("spec.syntax"));
  EXPECT_THAT(faults(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                     R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                     3),
              ElementsAre("safetensors.overlap"));
  // All that is wrong at once.
  EXPECT_THAT(faults(R"({"a":{"dtype":"U9","shape":[1],"data_offsets":[0,1]},)"
                     R"("b":{"dtype":"U8","shape":"x","data_offsets":[1,2]},"c":3})",
                     2),
              ElementsAre("safetensors.dtype", "safetensors.header", "spec.type"));
}

RC_GTEST_PROP(Safetensors, WhatIsWrittenIsReadBackAndTheSameEveryTime, ()) {
  const TemporaryFolder folder;
  std::vector<StoredTensor> tensors;
  const int count = any_of(0, 8);
  for (int i = 0; i < count; ++i)
    tensors.push_back(
        {fmt::format("t\"\\\n{}ü", i), static_cast<DType>(any_of(0, 15)), testing::random_shape()});
  std::vector<StoredTensor> shuffled(tensors.rbegin(), tensors.rend());
  const Metadata metadata = {{"format", "pt"}, {"step", "3"}};
  const auto write = [&](const std::string& path, const std::vector<StoredTensor>& list) {
    SafetensorsWriter writer(path, list, metadata);
    for (const StoredTensor& tensor : writer.tensors()) {
      const std::vector<std::byte> bytes =
          numbered_bytes(tensor.end - tensor.begin, tensor.name.size() + tensor.name[4]);
      const std::size_t half = bytes.size() / 2;
      writer.write(std::span(bytes).first(half));
      writer.write(std::span(bytes).subspan(half));
    }
    return writer.finish();
  };
  const FileSum sum = write(folder / "a", tensors);
  const FileSum again = write(folder / "b", shuffled);
  RC_ASSERT(sum.checksum == again.checksum);
  RC_ASSERT(read_bytes(folder / "a") == read_bytes(folder / "b"));
  RC_ASSERT(read_bytes(folder / "a").size() == sum.size);
  RC_ASSERT(xxh64(read_bytes(folder / "a")) == sum.checksum);

  const SafetensorsFile file(folder / "a");
  RC_ASSERT(file.header().data_begin % 8 == 0);
  RC_ASSERT(file.header().metadata == metadata);
  RC_ASSERT(file.header().tensors.size() == tensors.size());
  for (const StoredTensor& tensor : tensors) {
    const StoredTensor* found = file.find(tensor.name);
    RC_ASSERT(found != nullptr);
    RC_ASSERT(found->dtype == tensor.dtype);
    RC_ASSERT(found->shape == tensor.shape);
    RC_ASSERT(found->begin % element_size(found->dtype) == 0U);
    const std::span<const std::byte> bytes = file.bytes(*found);
    RC_ASSERT(std::vector(bytes.begin(), bytes.end()) ==
              numbered_bytes(bytes.size(), tensor.name.size() + tensor.name[4]));
  }
  RC_ASSERT(file.find("nothing") == nullptr);
}

TEST(Safetensors, AnUnfinishedFileGoes) {
  const TemporaryFolder folder;
  {
    SafetensorsWriter writer(folder / "a", {{"x", DType::kU8, {4}}}, {});
    writer.write(numbered_bytes(2, 1));
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "a"));
  EXPECT_THAT(codes_of([&] { SafetensorsWriter(folder / "no/such/a", {}, {}); }),
              ElementsAre("checkpoint.write"));
  EXPECT_THAT(codes_of([&] { SafetensorsFile(folder / "none"); }),
              ElementsAre("checkpoint.missing-file"));
}

TEST(Safetensors, TruncatedAnywhereIsAnError) {
  const TemporaryFolder folder;
  SafetensorsWriter writer(folder / "a", {{"x", DType::kF32, {4}}, {"y", DType::kU8, {3}}}, {});
  writer.write(numbered_bytes(19, 1));
  writer.finish();
  const std::vector<std::byte> whole = read_bytes(folder / "a");
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(codes_of([&] { parse_safetensors(std::span(whole).first(size), "a"); }).empty());
}

}  // namespace
}  // namespace nereus::checkpoint::safetensors_test
