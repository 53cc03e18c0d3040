#include "checkpoint/flat_tensors.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/base_testing.hpp"
#include "base/temporary_folder.hpp"
#include "checkpoint/checkpoint_testing.hpp"

namespace nereus::checkpoint::flat_tensors_test {
namespace {

using ::nereus::testing::codes_of;
using ::testing::ElementsAre;
using namespace testing;  // of this folder

struct Weight {
  Shape shape;
  int dim = -1;
  int groups = 1;
  std::vector<std::byte> bytes{};
};

std::string name_of(std::size_t weight) { return fmt::format("w.{}", weight); }

// A block's worth of tensors: cut along rows, along columns in groups, and not at all.
std::vector<Weight> block() {
  std::vector<Weight> list = {
      {{any_of(1, 9), 6}, 0}, {{5, 12}, 1, 3}, {{12}, 0, 3}, {{7}}, {{3, 4}}};
  for (std::size_t i = 0; i < list.size(); ++i)
    list[i].bytes = numbered_bytes(*num_bytes(DType::kF32, list[i].shape), i + 1);
  return list;
}

// The layer as slice t of tp holds it, and the bytes of its whole flat buffer.
FlatLayer flat_layer(const std::vector<Weight>& weights, int t, int tp,
                     std::vector<std::byte>& buffer) {
  FlatLayer layer{.layer = 4};
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const SliceSpec slice{t, tp, weights[i].dim, weights[i].groups};
    layer.tensors.push_back({name_of(i), weights[i].shape, slice, layer.end});
    const std::int64_t size = num_elements(slice_shape(weights[i].shape, slice));
    const std::vector<std::byte> part =
        pick_elements(weights[i].bytes, weights[i].shape, slice, 0, size, 4);
    buffer.insert(buffer.end(), part.begin(), part.end());
    layer.end += size;
  }
  return layer;
}

// The same layer, of which one rank keeps [begin, end).
FlatLayer kept(FlatLayer layer, std::int64_t begin, std::int64_t end) {
  layer.begin = begin;
  layer.end = end;
  return layer;
}

RC_GTEST_PROP(Flat, StateGoesFromAnyDivisionToAnyOther, ()) {
  const TemporaryFolder folder;
  const std::vector<Weight> weights = block();
  const int tp = any_of(1, 4);
  std::vector<std::vector<std::byte>> buffers(static_cast<std::size_t>(tp));
  std::vector<Part> parts;  // of all ranks, as if one had written them
  for (int t = 0; t < tp; ++t) {
    std::vector<std::byte>& buffer = buffers[t];
    const FlatLayer layer = flat_layer(weights, t, tp, buffer);
    const std::vector<std::int64_t> cuts = random_cuts(layer.end, any_of(1, 4));
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i)
      add_parts(kept(layer, cuts[i], cuts[i + 1]), TensorKind::kAdamV, DType::kF32,
                std::span(buffer).subspan(static_cast<std::size_t>(cuts[i]) * 4,
                                          static_cast<std::size_t>(cuts[i + 1] - cuts[i]) * 4),
                nullptr, parts);
  }
  {
    Writer writer({.folder = folder.path()});
    writer.save({.step = 1}, small_plan(), parts);
    writer.wait();
  }

  const Checkpoint saved(*find_latest(folder.path()));
  const int other = any_of(1, 5);
  for (int t = 0; t < other; ++t) {
    std::vector<std::byte> expected;
    const FlatLayer layer = flat_layer(weights, t, other, expected);
    const std::int64_t begin = any_of(std::int64_t{0}, layer.end + 1);
    const std::int64_t end = any_of(begin, layer.end + 1);
    std::vector<std::byte> out(static_cast<std::size_t>(end - begin) * 4);
    read_flat(saved, kept(layer, begin, end), TensorKind::kAdamV, DType::kF32, out);
    RC_ASSERT(out == std::vector(expected.begin() + begin * 4, expected.begin() + end * 4));
  }
}

TEST(Flat, SaysAllThatIsNotAsThePlanHasIt) {
  const TemporaryFolder folder;
  const std::vector<std::byte> bytes = numbered_bytes(40, 1);
  FlatLayer layer{0, {{"a", {4}, {}, 0}, {"b", {2, 3}, {}, 4}, {"tied", {9}, {}, -1}}, 0, 10};
  std::vector<Part> parts;
  add_parts(layer, TensorKind::kWeight, DType::kF32, bytes, nullptr, parts);
  EXPECT_EQ(parts.size(), 2U);
  Writer writer({.folder = folder.path()});
  writer.save({.step = 1}, small_plan(), parts);
  writer.wait();
  const Checkpoint saved(writer.last_complete());
  std::vector<std::byte> out(40);
  const auto codes = [&](TensorKind kind, DType dtype) {
    return codes_of([&] { read_flat(saved, layer, kind, dtype, out); });
  };
  EXPECT_TRUE(codes(TensorKind::kWeight, DType::kF32).empty());
  EXPECT_EQ(out, bytes);
  EXPECT_THAT(codes(TensorKind::kWeight, DType::kI32),
              ElementsAre("checkpoint.dtype", "checkpoint.dtype"));
  EXPECT_THAT(codes(TensorKind::kAdamM, DType::kF32),
              ElementsAre("checkpoint.no-tensor", "checkpoint.no-tensor"));
  layer.tensors[1].shape = {3, 2};
  EXPECT_THAT(codes(TensorKind::kWeight, DType::kF32), ElementsAre("checkpoint.shape"));
}

}  // namespace
}  // namespace nereus::checkpoint::flat_tensors_test
