// Write on one division, read on another; what is broken is found and named.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>

#include "base/base_testing.hpp"
#include "base/temporary_folder.hpp"
#include "checkpoint/checkpoint_reader.hpp"
#include "checkpoint/saving_testing.hpp"

namespace nereus::checkpoint::checkpoint_test {
namespace {

namespace fs = std::filesystem;
using ::nereus::testing::codes_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace testing;  // of this folder

Whole random_whole(int index) {
  Whole whole{fmt::format("layers.{}.weight", index), static_cast<TensorKind>(any_of(0, 6)),
              *rc::gen::element(DType::kF64, DType::kF32, DType::kBf16, DType::kU8),
              random_shape()};
  whole.bytes =
      numbered_bytes(*num_bytes(whole.dtype, whole.shape), static_cast<std::uint64_t>(index) + 1);
  return whole;
}

// Divides the tensor by a random cut and random ranges among the ranks.
void divide(const Whole& whole, int layer, std::vector<std::vector<Part>>& ranks) {
  SliceSpec slice = random_cut(whole.shape);
  for (slice.slice = 0; slice.slice < slice.of; ++slice.slice) {
    const std::int64_t size = num_elements(slice_shape(whole.shape, slice));
    const std::vector<std::int64_t> cuts = random_cuts(size, any_of(1, 4));
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i)
      if (cuts[i] < cuts[i + 1] || size == 0)
        ranks[any_of<std::size_t>(0, ranks.size())].push_back(
            part_of(whole, slice, cuts[i], cuts[i + 1], layer));
  }
}

RC_GTEST_PROP(Checkpoint, IsReadOnAnyOtherDivision, ()) {
  const TemporaryFolder folder;
  std::vector<std::vector<Part>> ranks(any_of<std::size_t>(1, 5));
  std::vector<Whole> wholes;
  const int count = any_of(1, 5);
  for (int i = 0; i < count; ++i) {
    wholes.push_back(random_whole(i));
    divide(wholes.back(), i / 2, ranks);
  }
  const plan::Plan plan = small_plan();
  save_all(folder.path(), at_step(7), plan, ranks);

  const Checkpoint saved(*find_latest(folder.path()));
  RC_ASSERT(saved.folder() == folder / "step-000007");
  RC_ASSERT(saved.manifest().progress == at_step(7));
  RC_ASSERT(saved.manifest().plan == plan);
  RC_ASSERT(parse_manifest(manifest_to_json(saved.manifest()), "again") == saved.manifest());
  saved.verify();
  for (const Whole& whole : wholes) {
    for (int reading = 0; reading < 4; ++reading) {
      SliceSpec slice = random_cut(whole.shape);
      slice.slice = any_of(0, slice.of);
      const std::int64_t size = num_elements(slice_shape(whole.shape, slice));
      const auto begin = any_of(std::int64_t{0}, size + 1);
      const auto end = any_of(begin, size + 1);
      const std::size_t width = element_size(whole.dtype);
      std::vector<std::byte> out(static_cast<std::size_t>(end - begin) * width);
      saved.read_range(whole.name, whole.kind, slice, begin, end, out);
      RC_ASSERT(out == pick_elements(whole.bytes, whole.shape, slice, begin, end, width));
    }
  }
}

void read_everything(const std::string& folder) {
  const Checkpoint saved(folder);
  for (const LogicalTensor& tensor : saved.manifest().tensors) {
    std::vector<std::byte> out(*num_bytes(tensor.dtype, tensor.shape));
    saved.read_range(tensor.name, tensor.kind, {}, 0, num_elements(tensor.shape), out);
  }
}

TEST(Checkpoint, EveryFlippedByteIsFoundAndItsFileNamed) {
  const TemporaryFolder folder;
  save_all(folder.path(), at_step(1), small_plan(), small_parts());
  const std::string complete = folder / "step-000001";
  read_everything(complete);
  int files = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(complete)) {
    ++files;
    const std::string path = entry.path().string();
    const std::vector<std::byte> good = read_bytes(path);
    const std::size_t step = path.ends_with("json") ? 37 : 1;
    for (std::size_t at = 0; at < good.size(); at += step) {
      std::vector<std::byte> bad = good;
      bad[at] ^= std::byte{0x04};
      write_bytes(path, bad);
      std::string said;
      try {
        read_everything(complete);
        Checkpoint(complete).verify();  // padding and unread bytes of a file
      } catch (const Errors& errors) {
        said = to_text(errors.list().front());
      }
      EXPECT_THAT(said, HasSubstr(entry.path().filename().string())) << "byte " << at;
    }
    write_bytes(path, good);
  }
  EXPECT_EQ(files, 5);  // two layers x two ranks, and the manifest
}

TEST(Checkpoint, MissingAndShortFilesAreSaidAllAtOnce) {
  const TemporaryFolder folder;
  save_all(folder.path(), at_step(1), small_plan(), small_parts());
  const std::string complete = folder / "step-000001";
  fs::remove(complete + "/layer-0000.rank-0001.safetensors");
  fs::resize_file(complete + "/layer-0001.rank-0000.safetensors", 20);
  EXPECT_THAT(codes_of([&] { Checkpoint{complete}; }),
              ElementsAre("checkpoint.missing-file", "checkpoint.file-size"));
  EXPECT_THAT(codes_of([&] { Checkpoint{folder.path()}; }), ElementsAre("checkpoint.none"));
  EXPECT_THAT(codes_of([&] { Checkpoint{folder / "nowhere"}; }), ElementsAre("checkpoint.none"));
}

TEST(Checkpoint, AsksForWhatIsNotThere) {
  const TemporaryFolder folder;
  save_all(folder.path(), at_step(1), small_plan(), small_parts());
  const Checkpoint saved(folder / "step-000001");
  std::vector<std::byte> out(4);
  const auto code = [&](const char* name, TensorKind kind, SliceSpec slice, std::int64_t begin) {
    return codes_of([&] { saved.read_range(name, kind, slice, begin, begin + 1, out); });
  };
  EXPECT_TRUE(code("a", TensorKind::kWeight, {}, 23).empty());
  EXPECT_THAT(code("a", TensorKind::kWeight, {}, 24), ElementsAre("checkpoint.no-tensor"));
  EXPECT_THAT(code("a", TensorKind::kAdamV, {}, 0), ElementsAre("checkpoint.no-tensor"));
  EXPECT_THAT(code("c", TensorKind::kWeight, {}, 0), ElementsAre("checkpoint.no-tensor"));
  EXPECT_THAT(code("a", TensorKind::kWeight, {0, 2, 1, 4}, 0), ElementsAre("checkpoint.no-tensor"));
}

TEST(Checkpoint, PiecesMustMakeWholeTensors) {
  const TemporaryFolder folder;
  const auto code = [&](const std::function<void(std::vector<std::vector<Part>>&)>& change) {
    std::vector<std::vector<Part>> ranks = small_parts();
    change(ranks);
    return codes_of([&] { save_all(folder.path(), at_step(1), small_plan(), ranks); });
  };
  using Ranks = std::vector<std::vector<Part>>;
  EXPECT_TRUE(code([](Ranks&) {}).empty());
  fs::remove_all(folder / "step-000001");
  // Nobody has the second half; both have all; shapes that differ; cuts that differ.
  EXPECT_THAT(code([](Ranks& r) { r[1].pop_back(); }), ElementsAre("checkpoint.manifest"));
  EXPECT_THAT(code([](Ranks& r) { r[1].push_back(part_of(small_wholes()[2], {}, 0, 5, 1)); }),
              ElementsAre("checkpoint.manifest"));
  EXPECT_THAT(code([](Ranks& r) { r[0][2].shape = {1, 5}; }), ElementsAre("checkpoint.disagree"));
  EXPECT_THAT(code([](Ranks& r) {
                r[0][0] = part_of(small_wholes()[0], {0, 2, 0, 1}, 0, 12, 0);
              }),
              ElementsAre("checkpoint.manifest"));
  EXPECT_TRUE(fs::is_empty(folder.path()));  // nothing looks like a checkpoint, nothing is left
}

// A rank that was voted out continues to write until it learns of it, while others continue from
// the known step: neither may remove what the other needs.
TEST(Checkpoint, RemovesNothingThatOthersCountOn) {
  const TemporaryFolder folder;
  const std::vector<Part> parts = {part_of(small_wholes()[2], {}, 0, 5, 0)};
  const auto names = [&] {
    std::vector<std::int64_t> list;
    for (const auto& [step, path] : list_checkpoints(folder.path())) list.push_back(step);
    return list;
  };
  std::int64_t known_of_old = 20, known_of_new = 20;
  WriterOptions options{.folder = folder.path(), .keep = 2};
  options.attempt = "old";
  options.known = [&] { return known_of_old; };
  Writer old(options);
  const auto save = [&](Writer& writer, std::int64_t step) {
    writer.save(at_step(step), small_plan(), parts);
    writer.wait();
  };
  for (const int step : {10, 20, 30, 40, 50}) save(old, step);
  // Up to 20 others would start from; of its own later ones two.
  EXPECT_THAT(names(), ElementsAre(10, 20, 40, 50));
  options.attempt = "new";
  options.known = [&] { return known_of_new; };
  Writer fresh(options);
  save(fresh, 30);
  known_of_new = 30;
  save(fresh, 40);  // takes the place of the old one's
  known_of_new = 40;
  EXPECT_THAT(names(), ElementsAre(20, 30, 40, 50));
  for (const int step : {60, 70, 80}) save(old, step);
  EXPECT_THAT(names(), ElementsAre(20, 30, 40, 70, 80));
  save(fresh, 50);
  EXPECT_THAT(names(), ElementsAre(30, 40, 50, 70, 80));
}

TEST(Checkpoint, KeepsTheLastOnesAndRemovesLeftovers) {
  const TemporaryFolder folder;
  const auto names = [&] {
    std::vector<std::string> list;
    for (const auto& [step, path] : list_checkpoints(folder.path()))
      list.push_back(fs::path(path).filename());
    return list;
  };
  EXPECT_EQ(find_latest(folder.path()), std::nullopt);
  for (const int step : {1, 2, 3, 4})
    save_all(folder.path(), at_step(step), small_plan(), small_parts());
  EXPECT_THAT(names(), ElementsAre("step-000003", "step-000004"));
  // Again from step 3: the later one stays, the same one is replaced.
  Progress again = at_step(3);
  again.notes["again"] = "yes";
  save_all(folder.path(), again, small_plan(), small_parts());
  EXPECT_THAT(names(), ElementsAre("step-000003", "step-000004"));
  EXPECT_EQ(Checkpoint(folder / "step-000003").manifest().progress, again);
  EXPECT_EQ(find_latest(folder.path()), folder / "step-000004");
  EXPECT_EQ(find_latest(folder / "step-000003"), folder / "step-000003");
  save_all(folder.path(), at_step(5), small_plan(), small_parts(), 1);
  EXPECT_THAT(names(), ElementsAre("step-000005"));

  fs::create_directories(folder / "step-000006.partial");
  write_bytes(folder / "step-000006.partial/layer-0000.rank-0009.safetensors", {});
  fs::create_directories(folder / "step-x");
  EXPECT_THAT(names(), ElementsAre("step-000005"));
  Writer writer({.folder = folder.path()});
  EXPECT_FALSE(fs::exists(folder / "step-000006.partial"));
  EXPECT_TRUE(fs::exists(folder / "step-x"));  // not ours
}

TEST(Checkpoint, AFullDiskIsAnErrorAndTheLastOneStays) {
  const TemporaryFolder folder;
  save_all(folder.path(), at_step(1), small_plan(), small_parts());
  // Files beyond 64 KiB fail as on a full disk (EFBIG in the place of ENOSPC).
  struct rlimit before {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old = std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit tight { 65536, before.rlim_max };
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  const std::vector<std::byte> big = numbered_bytes(100'000, 1);
  Writer writer({.folder = folder.path()});
  const auto parts = [&](std::size_t size) {
    return std::vector<Part>{own_copy({"big",
                                       TensorKind::kWeight,
                                       DType::kU8,
                                       {static_cast<std::int64_t>(size)},
                                       {},
                                       0,
                                       static_cast<std::int64_t>(size),
                                       0,
                                       std::span(big).first(size)})};
  };
  writer.save(at_step(2), small_plan(), parts(100'000));
  EXPECT_THAT(codes_of([&] { writer.save(at_step(3), small_plan(), parts(10)); }),
              ElementsAre("checkpoint.write"));
  EXPECT_FALSE(writer.busy());
  EXPECT_EQ(writer.last_complete(), "");
  EXPECT_FALSE(fs::exists(folder / "step-000002.partial"));
  EXPECT_EQ(find_latest(folder.path()), folder / "step-000001");
  writer.save(at_step(3), small_plan(), parts(10));  // there is room again
  writer.wait();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old);
  EXPECT_EQ(writer.last_complete(), folder / "step-000003");
  read_everything(writer.last_complete());
}

TEST(Checkpoint, ARankThatCannotWriteIsNamedByRankZero) {
  const TemporaryFolder folder;
  Meeting meeting(2);
  Writer zero({folder.path(), 0, 2, 2, meeting.gather_of(0)});
  Writer one({"/proc/nowhere", 1, 2, 2, meeting.gather_of(1)});
  const std::vector<std::vector<Part>> ranks = small_parts();
  zero.save(at_step(1), small_plan(), ranks[0]);
  one.save(at_step(1), small_plan(), ranks[1]);
  EXPECT_THAT(codes_of([&] { one.wait(); }), ElementsAre("checkpoint.write"));
  try {
    zero.wait();
    ADD_FAILURE() << "half a checkpoint was taken for a whole one";
  } catch (const Errors& errors) {
    EXPECT_EQ(errors.list().front().kind, ErrorKind::kEnvironment);
    EXPECT_THAT(errors.list().front().message, HasSubstr("rank 1 could not write step 1"));
  }
  EXPECT_EQ(find_latest(folder.path()), std::nullopt);
}

}  // namespace
}  // namespace nereus::checkpoint::checkpoint_test
