// Byte-pair encoding as Hugging Face's tokenizer.json describes it, with the tokens that
// Tokenizer.encode(text, add_special_tokens=False) of the library `tokenizers` gives.
//
//   const auto tokenizer = load_bpe("gpt2/tokenizer.json");         // throws Errors
//   tokenizer->encode("Hello world", tokens);
//
// A text is cut at added tokens (leftmost, then longest), each stretch between them is split into
// pieces (data/split.hpp), and each piece is merged (data/merges.hpp). Two kinds:
//
//   byte-level   (GPT-2, LLaMA-3, Qwen 2) a piece starts as its bytes, each written as a character
//                of GPT-2's table of printable ones. ignore_merges: a piece that is a token is one.
//   words        (LLaMA-2) spaces become U+2581, one stands before the text, a piece starts as its
//                characters, and a character without a token as its bytes <0x00> ... <0xFF>.
//
// Whatever changes tokens and is not read (other normalizers, patterns, dropout, prefixes) is an
// error that names the field. post_processor, decoder, truncation and padding are passed over: they
// add to or cut what a model is given, not what a text is made of.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/merges.hpp"
#include "data/split.hpp"
#include "data/tokenizer.hpp"

namespace nereus::data {

// Finds text in hash maps by string_view.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};
template <class Mapped>
using TextMap = std::unordered_map<std::string, Mapped, TextHash, std::equal_to<>>;

inline constexpr std::string_view kWordMark = "\xE2\x96\x81";  // U+2581, a space in SentencePiece's

// What a tokenizer.json says, as far as tokens depend on it.
struct BpeModel {
  std::string name;
  SplitRule split = SplitRule::kGpt2;
  bool byte_level = true;
  bool add_prefix_space = false;  // byte-level: a space before a text that starts with none
  bool ignore_merges = false;
  TextMap<std::uint32_t> vocabulary;             // text as bytes -> token; without added tokens
  std::array<std::uint32_t, 256> byte_tokens{};  // the token each byte starts as, or falls back to
  MergeTable merges;
  struct Added {
    std::string text;
    std::uint32_t token = 0;
  };
  std::vector<Added> added;             // longest first
  std::vector<std::string> token_text;  // of every token, as bytes; empty where there is none
  std::optional<std::uint32_t> end_of_text = {};
};

// `text`: a tokenizer.json. `end_of_text`: its token that ends documents; empty = the first of
// <|endoftext|>, <|end_of_text|>, </s>, <eos> that it has.
BpeModel parse_bpe(std::string_view text, const std::string& file,
                   const std::string& end_of_text = {});

std::unique_ptr<Tokenizer> make_bpe_tokenizer(BpeModel model);
std::unique_ptr<Tokenizer> load_bpe(const std::string& path, const std::string& end_of_text = {});

}  // namespace nereus::data
