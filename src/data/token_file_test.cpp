#include "data/token_file.hpp"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>

#include "base/base_testing.hpp"
#include "base/temporary_folder.hpp"
#include "data/data_testing.hpp"
#include "data/token_writer.hpp"

namespace nereus::data::token_file_test {
namespace {

using nereus::testing::codes_of;
using testing::append_number;
using ::testing::ElementsAre;
using testing::megatron_files;
using testing::MegatronFiles;

std::vector<std::int64_t> all_tokens(const TokenFile& file) {
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(file.info().num_tokens));
  file.read(0, tokens);
  return tokens;
}

RC_GTEST_PROP(TokenFile, GivesBackWhatWasWritten, ()) {
  const std::int64_t vocabulary =
      *rc::gen::element<std::int64_t>(2, 256, 257, 65536, 65537, 1 << 20);
  const auto token = rc::gen::inRange<std::uint32_t>(0, static_cast<std::uint32_t>(vocabulary));
  const auto documents = *rc::gen::container<std::vector<std::vector<std::uint32_t>>>(
      rc::gen::container<std::vector<std::uint32_t>>(token));
  const TemporaryFolder folder;
  TokenWriter writer(folder / "a.tokens",
                     {.vocabulary = vocabulary, .tokenizer = "mine", .end_of_text = 1});
  std::vector<std::int64_t> expected, starts;
  for (const auto& document : documents) {
    starts.push_back(static_cast<std::int64_t>(expected.size()));
    expected.insert(expected.end(), document.begin(), document.end());
    writer.add(document);
    writer.end_document();
  }
  writer.finish(77);
  RC_ASSERT(folder.num_entries() == 1);

  const TokenFile file = TokenFile::open(folder / "a.tokens");
  RC_ASSERT(all_tokens(file) == expected);
  const int width = vocabulary <= 256 ? 1 : vocabulary <= 65536 ? 2 : 4;
  RC_ASSERT((file.info() == TokenFileInfo{.path = folder / "a.tokens",
                                          .format = TokenFormat::kNereus,
                                          .num_tokens = static_cast<std::int64_t>(expected.size()),
                                          .num_documents = static_cast<std::int64_t>(starts.size()),
                                          .vocabulary = vocabulary,
                                          .token_bytes = width,
                                          .text_bytes = 77,
                                          .end_of_text = 1,
                                          .tokenizer = "mine"}));
  for (std::size_t i = 0; i < starts.size(); ++i)
    RC_ASSERT(file.document_start(static_cast<std::int64_t>(i)) == starts[i]);
  RC_ASSERT(file.intact());
  const auto largest = std::max_element(expected.begin(), expected.end());
  RC_ASSERT(file.largest_token() == (expected.empty() ? -1 : *largest));
  RC_ASSERT(static_cast<std::int64_t>(folder.read("a.tokens").size()) == writer.file_bytes());
}

TEST(TokenFile, HoldsMoreThanTheWriterKeepsInMemory) {
  const TemporaryFolder folder;
  TokenWriter writer(folder / "a.tokens", {.vocabulary = 100000, .tokenizer = "mine"});
  const std::uint32_t count = 700000;  // 2.8 MB, and 1.4 MB of document starts
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t token = i % 100000;
    writer.add({&token, 1});
    if (i % 4 == 3) writer.end_document();
  }
  writer.finish(0);
  const TokenFile file = TokenFile::open(folder / "a.tokens");
  EXPECT_TRUE(file.intact());
  const std::vector<std::int64_t> tokens = all_tokens(file);
  for (std::uint32_t i = 0; i < count; ++i) ASSERT_EQ(tokens[i], i % 100000);
  EXPECT_EQ(file.document_start(100001), 400004);
}

TEST(TokenFile, LeavesNothingBehindUnlessFinished) {
  const TemporaryFolder folder;
  folder.write("a.tokens", "the old one");
  {
    TokenWriter writer(folder / "a.tokens", {.vocabulary = 10});
    writer.add(std::vector<std::uint32_t>{1, 2});
  }
  EXPECT_EQ(folder.read("a.tokens"), "the old one");
  EXPECT_EQ(folder.num_entries(), 1);
  EXPECT_THAT(codes_of([&] { TokenWriter(folder.path(), {.vocabulary = 10}); }),
              ElementsAre("output.path"));
  EXPECT_THAT(codes_of([&] { TokenWriter(folder / "no/a", {.vocabulary = 10}); }),
              ElementsAre("output.path"));
}

std::string small_file(const TemporaryFolder& folder) {
  TokenWriter writer(folder / "small.tokens", {.vocabulary = 300, .tokenizer = "bytes"});
  writer.add(std::vector<std::uint32_t>{1, 299, 3});
  writer.end_document();
  writer.finish(3);
  return folder.read("small.tokens");
}

TEST(TokenFile, SeesEveryDamage) {
  const TemporaryFolder folder;
  const std::string good = small_file(folder);
  ASSERT_EQ(good.size(), kTokenHeaderBytes + 8 + 8);
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x40);
    const std::string path = folder.write("bad.tokens", bad);
    const auto codes = codes_of([&] { TokenFile::open(path); });
    if (i < 8)
      EXPECT_THAT(codes, ElementsAre("data.format")) << i;
    else if (i < kTokenHeaderBytes)
      EXPECT_THAT(codes, ElementsAre("data.header")) << i;
    else
      EXPECT_FALSE(TokenFile::open(path).intact()) << i;
  }
  for (std::size_t size = 8; size < good.size(); ++size)
    EXPECT_THAT(codes_of([&] { TokenFile::open(folder.write("b.tokens", good.substr(0, size))); }),
                ElementsAre("data.truncated"))
        << size;
  EXPECT_THAT(codes_of([&] { TokenFile::open(folder.write("c.tokens", good + "x")); }),
              ElementsAre("data.truncated"));
}

TEST(TokenFile, RefusesAnotherVersionAndImpossibleSizes) {
  const TemporaryFolder folder;
  const std::string good = small_file(folder);
  const auto with = [&](std::size_t offset, std::uint64_t number, int num_bytes) {
    std::string bytes = good;
    store_number(bytes.data() + offset, number, num_bytes);
    store_number(bytes.data() + 124, checksum(0, std::string_view(bytes).substr(0, 124)), 4);
    return codes_of([&] { TokenFile::open(folder.write("d.tokens", bytes)); });
  };
  EXPECT_THAT(with(8, 1, 4), ElementsAre());
  EXPECT_THAT(with(8, 2, 4), ElementsAre("data.version"));
  EXPECT_THAT(with(12, 3, 4), ElementsAre("data.header"));      // bytes of a token
  EXPECT_THAT(with(16, 70000, 8), ElementsAre("data.header"));  // vocabulary of 2 bytes
  EXPECT_THAT(with(24, ~std::uint64_t{0}, 8), ElementsAre("data.header"));
  EXPECT_THAT(with(24, std::uint64_t{1} << 55, 8), ElementsAre("data.truncated"));
  EXPECT_THAT(with(48, 300, 8), ElementsAre("data.header"));  // end of text
}

TEST(TokenFile, ReadsNanoGpt) {
  const TemporaryFolder folder;
  std::string bytes;
  for (const std::uint64_t token : {0, 50256, 7}) append_number(bytes, token, 2);
  const TokenFile file = TokenFile::open(folder.write("train.bin", bytes));
  EXPECT_THAT(all_tokens(file), ElementsAre(0, 50256, 7));
  EXPECT_EQ(file.info().format, TokenFormat::kNanoGpt);
  EXPECT_EQ(file.info().vocabulary, 0);
  EXPECT_EQ(file.largest_token(), 50256);
  // What Python 3.11 writes for {'vocab_size': 50304}.
  using namespace std::string_literals;
  folder.write("meta.pkl",
               "\x80\x04\x95\x14\x00\x00\x00\x00\x00\x00\x00}\x94\x8c\nvocab_size\x94M\x80\xc4s."s);
  EXPECT_EQ(TokenFile::open(folder / "train.bin").info().vocabulary, 50304);
  EXPECT_THAT(codes_of([&] { TokenFile::open(folder.write("odd.bin", bytes + "x")); }),
              ElementsAre("data.truncated"));
  EXPECT_THAT(codes_of([&] { TokenFile::open(folder.write("some.txt", bytes)); }),
              ElementsAre("data.format"));
  EXPECT_THAT(codes_of([&] { TokenFile::open(folder / "trian.bin"); }),
              ElementsAre("spec.no-file"));
  EXPECT_THAT(codes_of([&] { TokenFile::open(folder.path()); }), ElementsAre("spec.is-directory"));
}

TEST(TokenFile, FindsTheVocabularyInAPickle) {
  using namespace std::string_literals;
  // Python 3.11, protocols 2 and 4, and a number of four bytes.
  EXPECT_EQ(vocabulary_in_pickle("\x80\x02}q\x00(X\n\x00\x00\x00vocab_sizeq\x01KAX\x04"s), 65);
  EXPECT_EQ(vocabulary_in_pickle("}\x94(\x8c\nvocab_size\x94KA\x8c\x04itos\x94}\x94K\x00"s), 65);
  EXPECT_EQ(vocabulary_in_pickle("}\x94\x8c\nvocab_size\x94J\x00\xf5\x01\x00s."s), 128256);
  EXPECT_EQ(vocabulary_in_pickle("}\x94\x8c\nvocab_size\x94J\x00\xf5"s), std::nullopt);
  EXPECT_EQ(vocabulary_in_pickle("}\x94\x8c\nvocab_size\x94\x8c\x02no"s), std::nullopt);
  EXPECT_EQ(vocabulary_in_pickle("nothing"), std::nullopt);
}

RC_GTEST_PROP(TokenFile, ReadsMegatron, ()) {
  struct Kind {
    unsigned code;
    int bytes;
  };
  const Kind kind = *rc::gen::elementOf(std::vector<Kind>{{1, 1}, {3, 2}, {8, 2}, {4, 4}, {5, 8}});
  const int gap = *rc::gen::inRange(0, 4);
  const auto sequences = *rc::gen::container<std::vector<std::vector<std::uint64_t>>>(
      rc::gen::container<std::vector<std::uint64_t>>(rc::gen::inRange<std::uint64_t>(0, 128)));
  const MegatronFiles files = megatron_files(sequences, kind.code, kind.bytes, gap);
  const TemporaryFolder folder;
  folder.write("my.bin", files.bin);
  folder.write("my.idx", files.idx);
  std::vector<std::int64_t> expected;
  for (const auto& sequence : sequences)
    expected.insert(expected.end(), sequence.begin(), sequence.end());
  for (const char* name : {"my.bin", "my.idx", "my"}) {
    const TokenFile file = TokenFile::open(folder / name);
    RC_ASSERT(file.info().format == TokenFormat::kMegatron);
    RC_ASSERT(all_tokens(file) == expected);
    RC_ASSERT(file.info().num_documents == static_cast<std::int64_t>(sequences.size()));
  }
  // Any part of it, too.
  const auto size = static_cast<std::int64_t>(expected.size());
  const std::int64_t first = *rc::gen::inRange<std::int64_t>(0, size + 1);
  const std::int64_t last = *rc::gen::inRange<std::int64_t>(first, size + 1);
  std::vector<std::int64_t> part(static_cast<std::size_t>(last - first));
  TokenFile::open(folder / "my").read(first, part);
  RC_ASSERT(std::equal(part.begin(), part.end(), expected.begin() + first));
}

TEST(TokenFile, SeesWhatIsWrongWithMegatronFiles) {
  const TemporaryFolder folder;
  const MegatronFiles good = megatron_files({{1, 2, 3}, {4, 5}}, 8, 2);
  const auto open = [&](const std::string& idx, const std::string& bin) {
    folder.write("my.bin", bin);
    folder.write("my.idx", idx);
    return codes_of([&] { TokenFile::open(folder / "my.bin"); });
  };
  const auto with = [&](std::size_t offset, std::uint64_t number, int num_bytes) {
    std::string idx = good.idx;
    store_number(idx.data() + offset, number, num_bytes);
    return open(idx, good.bin);
  };
  EXPECT_THAT(open(good.idx, good.bin), ElementsAre());
  EXPECT_THAT(open(good.idx + "mm", good.bin), ElementsAre());  // modes, a byte a sequence
  EXPECT_THAT(open(good.idx + "x", good.bin), ElementsAre("data.format"));
  EXPECT_THAT(open(good.idx, good.bin.substr(1)), ElementsAre("data.truncated"));
  for (std::size_t size = 9; size < good.idx.size(); ++size)
    EXPECT_THAT(open(good.idx.substr(0, size), good.bin), ElementsAre("data.truncated")) << size;
  EXPECT_THAT(open("TNTIDX" + good.idx, good.bin), ElementsAre("data.format"));
  EXPECT_THAT(with(9, 2, 8), ElementsAre("data.version"));
  EXPECT_THAT(with(17, 6, 1), ElementsAre("data.format"));                     // float64
  EXPECT_THAT(with(18, ~std::uint64_t{0}, 8), ElementsAre("data.truncated"));  // sequences
  EXPECT_THAT(with(26, ~std::uint64_t{0}, 8), ElementsAre("data.truncated"));  // documents
  EXPECT_THAT(with(34, 0xFFFFFFFF, 4), ElementsAre("data.format"));            // a length
  EXPECT_THAT(with(42, ~std::uint64_t{0}, 8), ElementsAre("data.truncated"));  // an offset
  EXPECT_THAT(with(58, 9, 8), ElementsAre("data.format"));                     // a document
}

TEST(TokenFile, ChecksThatAModelCanBeTrainedOnIt) {
  const TemporaryFolder folder;
  small_file(folder);
  const TokenFile file = TokenFile::open(folder / "small.tokens");
  EXPECT_THAT(codes_of([&] { check_tokens(file, 300, 2); }), ElementsAre());
  EXPECT_THAT(codes_of([&] { check_tokens(file, 299, 3); }),
              ElementsAre("data.too-short", "data.vocabulary"));
  // -1 as a 64-bit number is no token, however large the vocabulary.
  const MegatronFiles files = megatron_files({{1, ~std::uint64_t{0}}}, 5, 8);
  folder.write("my.bin", files.bin);
  folder.write("my.idx", files.idx);
  EXPECT_THAT(codes_of([&] { check_tokens(TokenFile::open(folder / "my"), 1 << 30, 1); }),
              ElementsAre("data.vocabulary"));
}

}  // namespace
}  // namespace nereus::data::token_file_test
