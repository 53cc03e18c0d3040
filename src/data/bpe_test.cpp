#include "data/bpe.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "base/base_testing.hpp"
#include "base/utf8.hpp"
#include "data/unicode.hpp"

namespace nereus::data::bpe_test {
namespace {

using nereus::testing::codes_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Pair = std::pair<std::uint32_t, std::uint32_t>;

// The definition, word for word.
std::vector<std::uint32_t> merged(std::vector<std::uint32_t> symbols,
                                  const std::map<Pair, MergeTable::Merge>& rules) {
  for (;;) {
    std::uint32_t best = MergeTable::kNone;
    std::size_t place = 0;
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
      const auto rule = rules.find({symbols[i], symbols[i + 1]});
      if (rule != rules.end() && rule->second.rank < best) best = rule->second.rank, place = i;
    }
    if (best == MergeTable::kNone) return symbols;
    symbols[place] = rules.at({symbols[place], symbols[place + 1]}).joined;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(place) + 1);
  }
}

RC_GTEST_PROP(MergeTable, BothWaysGiveWhatTheDefinitionGives, ()) {
  // Any rules at all, also some that no training would give: few symbols, so that they meet.
  const auto symbol = rc::gen::inRange<std::uint32_t>(0, 6);
  const auto rules =
      *rc::gen::container<std::vector<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>>>(
          rc::gen::tuple(symbol, symbol, symbol));
  std::map<Pair, MergeTable::Merge> known;
  MergeTable table;
  for (std::uint32_t rank = 0; rank < rules.size(); ++rank) {
    const auto& [left, right, joined] = rules[rank];
    known[{left, right}] = {rank, joined};
    table.add(left, right, rank, joined);
  }
  const auto symbols = *rc::gen::container<std::vector<std::uint32_t>>(symbol);
  const auto expected = merged(symbols, known);
  auto a = symbols, b = symbols;
  table.apply_short(a);
  table.apply_long(b);
  RC_ASSERT(a == expected);
  RC_ASSERT(b == expected);
}

// A byte-level file with the 256 bytes as tokens 0 ... 255, then "he", "ll", "hell", " w".
std::string small_file(const std::string& change_from = {}, const std::string& change_to = {}) {
  std::string vocab;
  std::uint32_t next = 256;
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    const bool plain = (byte >= 33 && byte < 127) || (byte >= 161 && byte < 173) || byte >= 174;
    std::string character;
    append_utf8(character, plain ? byte : next++);
    if (character == "\"" || character == "\\") character = "\\" + character;
    vocab += fmt::format("\"{}\": {}, ", character, byte);
  }
  std::string text = fmt::format(
      R"({{"added_tokens": [
  {{"id": 260, "content": "<|endoftext|>", "lstrip": false, "special": true}},
  {{"id": 261, "content": "<|end", "special": true}}],
"normalizer": null,
"pre_tokenizer": {{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true}},
"model": {{"type": "BPE", "dropout": null, "byte_fallback": false,
"vocab": {{{}"he": 256, "ll": 257, "hell": 258, "Ġw": 259}},
"merges": ["h e", "l l", ["he", "ll"], "Ġ w"]}}}})",
      vocab);
  if (!change_from.empty()) {
    const std::size_t at = text.find(change_from);
    EXPECT_NE(at, std::string::npos) << change_from;
    text.replace(at, change_from.size(), change_to);
  }
  return text;
}

std::vector<std::uint32_t> encode(Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::uint32_t> tokens;
  tokenizer.encode(text, tokens);
  return tokens;
}

TEST(Bpe, EncodesAndDecodes) {
  const auto tokenizer = make_bpe_tokenizer(parse_bpe(small_file(), "dir/tokenizer.json"));
  EXPECT_EQ(tokenizer->vocabulary(), 262);
  EXPECT_EQ(tokenizer->end_of_text(), 260U);
  EXPECT_THAT(tokenizer->name(), ::testing::MatchesRegex("tokenizer.json [0-9a-f]{8}"));
  EXPECT_THAT(encode(*tokenizer, "hello world"), ElementsAre(258, 'o', 259, 'o', 'r', 'l', 'd'));
  EXPECT_THAT(encode(*tokenizer, "a<|endoftext|>b<|endo"), ElementsAre('a', 260, 'b', 261, 'o'));
  EXPECT_THAT(encode(*tokenizer, "\u00e9\n"), ElementsAre(0xC3, 0xA9, '\n'));
  EXPECT_TRUE(encode(*tokenizer, "").empty());
  for (const std::string text : {"hello world", "\u4e2d \U0001f600\n\n  x", "<|endoftext|>"})
    EXPECT_EQ(tokenizer->decode(encode(*tokenizer, text)), text);
  EXPECT_EQ(tokenizer->find_token(" w"), 259U);
  EXPECT_EQ(tokenizer->find_token("<|end"), 261U);
  EXPECT_EQ(tokenizer->find_token("none"), std::nullopt);
}

TEST(Bpe, TakesAWholePieceWhereMergesAreIgnored) {
  const auto plain = make_bpe_tokenizer(
      parse_bpe(small_file("\"he\": 256", "\"he\": 256, \"zyx\": 262"), "t.json"));
  EXPECT_THAT(encode(*plain, "zyx"), ElementsAre('z', 'y', 'x'));
  const auto ignoring = make_bpe_tokenizer(
      parse_bpe(small_file("\"byte_fallback\": false,\n\"vocab\": {",
                           "\"ignore_merges\": true, \"vocab\": {\"zyx\": 262, "),
                "t.json"));
  EXPECT_THAT(encode(*ignoring, "zyx zyx"), ElementsAre(262, ' ', 'z', 'y', 'x'));
}

RC_GTEST_PROP(Bpe, GivesTheSameHoweverTheTextIsCut, ()) {
  static const auto kTokenizer = make_bpe_tokenizer(parse_bpe(small_file(), "t.json"));
  static const auto kWithSpace = make_bpe_tokenizer(
      parse_bpe(small_file("\"add_prefix_space\": false", "\"add_prefix_space\": true"), "t.json"));
  Tokenizer& used = *rc::gen::arbitrary<bool>() ? *kTokenizer : *kWithSpace;
  const auto parts = *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(
      std::vector<std::string>{"hello", " w", " ", "\n", "'", "s", "<|end", "oftext|>",
                               "<|endoftext|>", "<", "1", "\u3000", "\u00e9", "!", "llll"}));
  std::string text;
  for (const std::string& part : parts) text += part;
  const std::vector<std::uint32_t> expected = encode(used, text);

  std::vector<std::uint32_t> tokens;
  std::string pending;
  bool at_start = true;
  std::size_t given = 0;
  while (given < text.size()) {
    std::size_t count = *rc::gen::inRange<std::size_t>(1, 20);
    // Whole characters, as the sink of documents hands them on.
    while (given + count < text.size() &&
           (static_cast<unsigned char>(text[given + count]) & 0xC0) == 0x80)
      ++count;
    pending += text.substr(given, count);
    given = std::min(given + count, text.size());
    pending.erase(0, used.encode_some(pending, at_start, false, tokens));
  }
  RC_ASSERT(used.encode_some(pending, at_start, true, tokens) == pending.size());
  RC_ASSERT(tokens == expected);
}

std::string message_of(const std::string& from, const std::string& to) {
  try {
    parse_bpe(small_file(from, to), "t.json");
  } catch (const Errors& errors) {
    EXPECT_TRUE(errors.list()[0].code == "data.tokenizer") << errors.list()[0].code;
    EXPECT_EQ(errors.list()[0].where.file, "t.json");
    EXPECT_GT(errors.list()[0].where.line, 0);
    return errors.list()[0].message;
  }
  return "";
}

TEST(Bpe, NamesTheFieldItDoesNotRead) {
  EXPECT_THAT(message_of("\"BPE\"", "\"Unigram\""), HasSubstr("model.type"));
  EXPECT_THAT(message_of("\"normalizer\": null", "\"normalizer\": {\"type\": \"NFC\"}"),
              HasSubstr("normalizer"));
  EXPECT_THAT(message_of("\"ByteLevel\"", "\"Whitespace\""), HasSubstr("pre_tokenizer"));
  EXPECT_THAT(message_of("\"trim_offsets\": true", "\"use_regex\": false"),
              HasSubstr("pre_tokenizer.use_regex"));
  EXPECT_THAT(message_of("\"dropout\": null", "\"dropout\": 0.1"), HasSubstr("model.dropout"));
  EXPECT_THAT(message_of("\"dropout\": null", "\"end_of_word_suffix\": \"</w>\""),
              HasSubstr("model.end_of_word_suffix"));
  EXPECT_THAT(message_of("\"byte_fallback\": false", "\"byte_fallback\": true"),
              HasSubstr("model.byte_fallback"));
  EXPECT_THAT(message_of("\"A\": 65, ", ""), HasSubstr("no token for 1 of the 256 bytes"));
  EXPECT_THAT(message_of("\"he\": 256", "\"he\": -1"), HasSubstr("model.vocab.he"));
  EXPECT_THAT(message_of("\"he\": 256", "\"he\": \"x\""), HasSubstr("model.vocab.he"));
  EXPECT_THAT(message_of("\"h e\"", "\"h e l\""), HasSubstr("model.merges[0]"));
  EXPECT_THAT(message_of("\"h e\"", "\"h x\""), HasSubstr("\"hx\""));
  EXPECT_THAT(message_of("\"lstrip\": false", "\"lstrip\": true"),
              HasSubstr("added_tokens[0].lstrip"));
  EXPECT_THAT(message_of("\"content\": \"<|end\", ", ""), HasSubstr("added_tokens[1]"));
  EXPECT_THAT(codes_of([] { parse_bpe("[1]", "t.json"); }), ElementsAre("data.tokenizer"));
  EXPECT_THAT(codes_of([] { parse_bpe("{", "t.json"); }), ElementsAre("spec.syntax"));
  EXPECT_THAT(codes_of([] { parse_bpe(small_file(), "t.json", "<eot>"); }),
              ElementsAre("data.end-of-text"));
}

TEST(Bpe, ReadsWordsWithByteFallback) {
  std::string vocab = R"("<unk>": 0, "<s>": 1, "</s>": 2)";
  for (int byte = 0; byte < 256; ++byte)
    vocab += fmt::format(", \"<0x{:02X}>\": {}", byte, byte + 3);
  const auto file = [&](const std::string& merges) {
    return fmt::format(
        R"({{"added_tokens": [{{"id": 2, "content": "</s>", "normalized": false}}],
"normalizer": {{"type": "Sequence", "normalizers": [{{"type": "Prepend", "prepend": "▁"}},
  {{"type": "Replace", "pattern": {{"String": " "}}, "content": "▁"}}]}}, "pre_tokenizer": null,
"model": {{"type": "BPE", "byte_fallback": true, "unk_token": "<unk>", "fuse_unk": true,
"vocab": {{{}, "▁": 259, "a": 260, "b": 261, "▁a": 262, "▁▁": 263, "ab": 264, "b▁": 265}}, "merges": [{}]}}}})",
        vocab, merges);
  };
  const auto tokenizer =
      make_bpe_tokenizer(parse_bpe(file(R"("▁ ▁", "▁ a", "a b")"), "llama2.json"));
  EXPECT_THAT(encode(*tokenizer, "ab a"), ElementsAre(262, 261, 262));
  EXPECT_THAT(encode(*tokenizer, " a  b"), ElementsAre(263, 260, 263, 261));
  EXPECT_THAT(encode(*tokenizer, "b\u00e9"), ElementsAre(259, 261, 0xC3 + 3, 0xA9 + 3));
  EXPECT_THAT(encode(*tokenizer, "a</s>a"), ElementsAre(262, 2, 262));
  EXPECT_EQ(tokenizer->decode(encode(*tokenizer, "ab \u00e9")), " ab \u00e9");
  // A merge across a word's beginning makes pieces depend on each other.
  EXPECT_THAT(codes_of([&] { parse_bpe(file(R"("b ▁")"), "llama2.json"); }),
              ElementsAre("data.tokenizer"));
}

}  // namespace
}  // namespace nereus::data::bpe_test
