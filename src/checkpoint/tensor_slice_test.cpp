#include "checkpoint/tensor_slice.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "checkpoint/checkpoint_testing.hpp"
#include "checkpoint/checksum.hpp"

namespace nereus::checkpoint::tensor_slice_test {
namespace {

using testing::any_of;
using testing::numbered_bytes;
using testing::pick_elements;
using testing::random_cut;
using testing::random_shape;

TEST(Slice, FusedWeightTakesAPartOfEveryGroup) {
  // [2, 12] as three groups of four columns; slice 1 of 2 has the last two columns of each.
  const SliceMap map({2, 12}, {1, 2, 1, 3});
  EXPECT_EQ(map.size(), 12);
  std::vector<std::int64_t> elements;
  for (std::int64_t i = 0; i < map.size(); ++i) elements.push_back(map.element(i));
  EXPECT_EQ(elements, (std::vector<std::int64_t>{2, 3, 6, 7, 10, 11, 14, 15, 18, 19, 22, 23}));
  EXPECT_EQ(slice_shape({2, 12}, {1, 2, 1, 3}), (Shape{2, 6}));
}

TEST(Slice, TheFirstSlicesOfUnevenLengthsAreTheLongOnes) {
  EXPECT_EQ(slice_shape({7, 3}, {0, 2, 0, 1}), (Shape{4, 3}));
  EXPECT_EQ(slice_shape({7, 3}, {1, 2, 0, 1}), (Shape{3, 3}));
  EXPECT_EQ(slice_shape({5}, {2, 4, 0, 1}), (Shape{1}));
  EXPECT_EQ(slice_shape({5}, {3, 4, 0, 1}), (Shape{0}));
}

TEST(Slice, SaysWhatCannotBe) {
  EXPECT_EQ(fault_of({0, 1, 9, 7}, {4}), "");   // one slice is the whole, whatever else it says
  EXPECT_EQ(fault_of({5, 2, -1, 7}, {4}), "");  // not cut
  EXPECT_NE(fault_of({2, 2, 0, 1}, {4}), "");
  EXPECT_NE(fault_of({0, 2, 1, 1}, {4}), "");
  EXPECT_NE(fault_of({0, 2, 0, 3}, {4}), "");
}

RC_GTEST_PROP(Slice, ElementsAreThoseOfTheDefinition, ()) {
  const Shape shape = random_shape();
  SliceSpec spec = random_cut(shape);
  spec.slice = any_of(0, spec.of);
  const auto total = static_cast<std::size_t>(num_elements(shape));
  const std::vector<std::byte> whole = numbered_bytes(total, 3);
  const SliceMap map(shape, spec);
  const std::vector<std::byte> picked = pick_elements(whole, shape, spec, 0, map.size(), 1);
  RC_ASSERT(static_cast<std::int64_t>(picked.size()) == map.size());
  RC_ASSERT(num_elements(slice_shape(shape, spec)) == map.size());
  for (std::int64_t i = 0; i < map.size(); ++i) RC_ASSERT(whole[map.element(i)] == picked[i]);
  // index_from is the inverse of element, rounded up.
  for (std::int64_t element = 0; element < static_cast<std::int64_t>(total); ++element) {
    std::int64_t first = 0;
    while (first < map.size() && map.element(first) < element) ++first;
    if (map.size() > 0) RC_ASSERT(std::min(map.index_from(element), map.size()) == first);
  }
}

RC_GTEST_PROP(Slice, CopiesWhatBothHaveAndNothingElse, ()) {
  const Shape shape = random_shape();
  const auto width = static_cast<std::size_t>(*rc::gen::element(1, 2, 4, 8));
  const std::vector<std::byte> whole =
      numbered_bytes(static_cast<std::size_t>(num_elements(shape)) * width, 5);
  const auto random_range = [&](SliceSpec& spec, std::int64_t& begin, std::int64_t& end) {
    spec = random_cut(shape);
    spec.slice = any_of(0, spec.of);
    const std::int64_t size = num_elements(slice_shape(shape, spec));
    begin = any_of(std::int64_t{0}, size + 1);
    end = any_of(begin, size + 1);
  };
  SliceSpec from_spec, to_spec;
  std::int64_t from_begin, from_end, to_begin, to_end;
  random_range(from_spec, from_begin, from_end);
  random_range(to_spec, to_begin, to_end);
  const SliceMap from(shape, from_spec), to(shape, to_spec);
  const std::vector<std::byte> source =
      pick_elements(whole, shape, from_spec, from_begin, from_end, width);
  const std::vector<std::byte> wanted =
      pick_elements(whole, shape, to_spec, to_begin, to_end, width);

  // Elements that only the target has stay as they were.
  std::vector<std::byte> target = numbered_bytes(wanted.size(), 99);
  std::vector<std::byte> expected = target;
  std::int64_t shared = 0;
  for (std::int64_t j = to_begin; j < to_end; ++j)
    for (std::int64_t i = from_begin; i < from_end; ++i)
      if (from.element(i) == to.element(j)) {
        const auto at = static_cast<std::size_t>(j - to_begin) * width;
        std::memcpy(&expected[at], &wanted[at], width);
        ++shared;
      }
  const SourceRange source_range{from, from_begin, from_end, source.data()};
  const TargetRange target_range{to, to_begin, to_end, target.data()};
  RC_ASSERT(overlap(source_range, target_range) == (shared > 0));
  RC_ASSERT(copy_overlap(source_range, target_range, width) == shared);
  RC_ASSERT(target == expected);
}

TEST(Checksum, IsXxh64) {
  // The published test vector of the empty input, and what xxhsum -H64 prints for the others.
  EXPECT_EQ(to_hex(xxh64("")), "ef46db3751d8e999");
  EXPECT_EQ(to_hex(xxh64("a")), "d24ec4f1a98c6e5b");
  EXPECT_EQ(to_hex(xxh64("abc")), "44bc2cf5ad770999");
  EXPECT_EQ(parse_hex("44bc2cf5ad770999"), 0x44bc2cf5ad770999ULL);
  EXPECT_EQ(parse_hex("44bc2cf5ad77099"), std::nullopt);
  EXPECT_EQ(parse_hex("44bc2cf5ad77099g"), std::nullopt);
}

RC_GTEST_PROP(Checksum, DoesNotDependOnHowBytesCome, ()) {
  const std::vector<std::byte> bytes = numbered_bytes(any_of<std::size_t>(0, 300), 11);
  Xxh64 sum;
  std::span<const std::byte> rest(bytes);
  while (!rest.empty()) {
    const std::size_t n = any_of<std::size_t>(1, rest.size() + 1);
    sum.add(rest.first(n));
    rest = rest.subspan(n);
  }
  RC_ASSERT(sum.value() == xxh64(bytes));
  if (bytes.empty()) return;
  std::vector<std::byte> broken = bytes;
  broken[any_of<std::size_t>(0, bytes.size())] ^= std::byte{1};
  RC_ASSERT(xxh64(broken) != sum.value());
}

}  // namespace
}  // namespace nereus::checkpoint::tensor_slice_test
