#include "data/prepare.hpp"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "base/base_testing.hpp"
#include "base/temporary_folder.hpp"
#include "data/token_file.hpp"

namespace nereus::data::prepare_test {
namespace {

using nereus::testing::codes_of;
using ::testing::ElementsAre;

// The documents of files of bytes, by reading back what was prepared.
std::vector<std::string> documents_of(const TemporaryFolder& folder,
                                      const std::vector<std::string>& files,
                                      const DocumentOptions& options) {
  const auto tokenizer = make_byte_tokenizer();
  const Prepared done = prepare_tokens(files, options, *tokenizer, folder / "out.tokens", {});
  const TokenFile file = TokenFile::open(folder / "out.tokens");
  EXPECT_TRUE(file.intact());
  EXPECT_EQ(file.info().num_documents, done.num_documents);
  EXPECT_EQ(file.info().text_bytes, done.text_bytes);
  EXPECT_EQ(file.info().num_tokens, done.text_bytes + done.num_documents);
  std::vector<std::string> documents;
  for (std::int64_t i = 0; i < done.num_documents; ++i) {
    const std::int64_t begin = file.document_start(i);
    const std::int64_t end =
        i + 1 < done.num_documents ? file.document_start(i + 1) : file.info().num_tokens;
    std::vector<std::int64_t> tokens(static_cast<std::size_t>(end - begin));
    file.read(begin, tokens);
    EXPECT_EQ(tokens.back(), 256);
    tokens.pop_back();
    std::string& text = documents.emplace_back();
    for (const std::int64_t token : tokens) text += static_cast<char>(token);
  }
  return documents;
}

TEST(Prepare, DocumentsFollowTheirRule) {
  const TemporaryFolder folder;
  const std::string a = folder.write("a.txt", "one\r\n\ntwo\n--\nthree");
  const std::string b = folder.write("b.txt", "");
  const std::string c = folder.write("c.txt", "\xFF four\n");
  EXPECT_THAT(documents_of(folder, {a, b, c}, {}),
              ElementsAre("one\r\n\ntwo\n--\nthree", "\xFF four\n"));
  EXPECT_THAT(documents_of(folder, {a, c}, {DocumentRule::kLine}),
              ElementsAre("one", "two", "--", "three", "\xFF four"));
  EXPECT_THAT(documents_of(folder, {a, c}, {DocumentRule::kSeparator, "--"}),
              ElementsAre("one\r\n\ntwo\n", "three", "\xFF four\n"));
  EXPECT_THAT(documents_of(folder, {a}, {DocumentRule::kSeparator, ""}),
              ElementsAre("one\r\n", "two\n--\nthree"));
  const std::string d =
      folder.write("d.jsonl", "{\"id\": 1, \"text\": \"a\\nb\"}\n\n{\"text\": \"c\"}");
  EXPECT_THAT(documents_of(folder, {d}, {DocumentRule::kJsonLines}), ElementsAre("a\nb", "c"));
}

TEST(Prepare, TakesFilesLargerThanItsPieces) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; text.size() < 1000000; ++i) text += std::to_string(i) + (i % 7 == 0 ? "\n" : " ");
  const std::string path = folder.write("long.txt", text);
  EXPECT_THAT(documents_of(folder, {path}, {}), ElementsAre(text));
  std::string joined;
  for (const std::string& line : documents_of(folder, {path}, {DocumentRule::kLine}))
    joined += line + "\n";
  EXPECT_EQ(joined.substr(0, text.size()), text);
}

TEST(Prepare, WritesTheSameBytesAgain) {
  const TemporaryFolder folder;
  const std::string a = folder.write("a.txt", "some text");
  const auto tokenizer = make_byte_tokenizer();
  prepare_tokens({a, a}, {}, *tokenizer, folder / "1.tokens", {});
  prepare_tokens({a, a}, {}, *tokenizer, folder / "2.tokens", {});
  EXPECT_EQ(folder.read("1.tokens"), folder.read("2.tokens"));
}

TEST(Prepare, StopsWithoutATrace) {
  const TemporaryFolder folder;
  const std::string a = folder.write("a.txt", "some text");
  const auto tokenizer = make_byte_tokenizer();
  double seen = 0;
  const Prepared done = prepare_tokens({a, a}, {}, *tokenizer, folder / "1.tokens",
                                       {.stop = [] { return true; },
                                        .progress =
                                            [&](double bytes, double total) {
                                              seen = bytes;
                                              EXPECT_EQ(total, 18);
                                            }});
  EXPECT_FALSE(done.complete);
  EXPECT_EQ(seen, 9);
  EXPECT_EQ(folder.num_entries(), 1);
}

TEST(Prepare, SaysAllThatIsWrong) {
  const TemporaryFolder folder;
  const std::string a = folder.write("a.txt", "");
  const auto tokenizer = make_byte_tokenizer();
  const auto prepare = [&](const std::vector<std::string>& files, DocumentRule rule) {
    return codes_of([&] { prepare_tokens(files, {rule}, *tokenizer, folder / "o.tokens", {}); });
  };
  EXPECT_THAT(prepare({folder / "x", a, folder.path()}, DocumentRule::kFile),
              ElementsAre("spec.no-file", "spec.is-directory"));
  EXPECT_THAT(prepare({a}, DocumentRule::kFile), ElementsAre("data.empty"));
  for (const char* line : {"{", "{\"txt\": \"a\"}", "{\"text\": 1}", "[]"})
    EXPECT_THAT(prepare({folder.write("b.jsonl", line)}, DocumentRule::kJsonLines),
                ElementsAre("data.jsonl"))
        << line;
  EXPECT_EQ(folder.num_entries(), 2);
}

RC_GTEST_PROP(Utf8, IsCheckedWhereverTheTextIsCut, ()) {
  const auto parts = *rc::gen::container<std::vector<std::string>>(
      rc::gen::elementOf(std::vector<std::string>{"a", "\u00e9", "\u4e2d", "\U0001f600", "\xC3(",
                                                  "\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80"}));
  std::string text;
  std::size_t bad = std::string::npos;
  for (const std::string& part : parts) {
    std::size_t whole = 0;
    if (bad == std::string::npos && find_bad_utf8(part, true, whole) != std::string::npos)
      bad = text.size();
    text += part;
  }
  std::size_t whole = 0;
  RC_ASSERT(find_bad_utf8(text, true, whole) == bad);
  // A beginning is good as far as it goes: the fault is found, or lies in what is not whole yet.
  const auto cut = *rc::gen::inRange<std::size_t>(0, text.size() + 1);
  const std::size_t found = find_bad_utf8(text.substr(0, cut), false, whole);
  if (found == std::string::npos)
    RC_ASSERT(whole <= std::min(bad, cut) && cut - whole < 4);
  else
    RC_ASSERT(found == bad);
}

}  // namespace
}  // namespace nereus::data::prepare_test
