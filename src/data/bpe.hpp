// Byte-pair encoding as in Hugging Face's tokenizer.json. Gives the tokens of
// Tokenizer.encode(text, add_special_tokens=False) in the library `tokenizers`.
//
//   const auto tokenizer = load_bpe("gpt2/tokenizer.json");         // throws Errors
//   tokenizer->encode("Hello world", tokens);
//
// A text is cut at added tokens (leftmost, then longest). Each part between them is split into
// pieces (data/split.hpp), and each piece is merged (data/merges.hpp). There are two kinds of
// tokenizer:
//
//   byte-level   (GPT-2, LLaMA-3, Qwen 2) a piece starts as its bytes, each written as a character
//                from GPT-2's table of printable ones. ignore_merges: a piece that is a token is
//                kept.
//   words        (LLaMA-2) spaces become U+2581, one is added before the text, a piece starts as
//                its characters, and a character without a token as its bytes <0x00> ... <0xFF>.
//
// Features that change tokens and are not supported (other normalizers, patterns, dropout,
// prefixes) are errors that name the field. post_processor, decoder, truncation and padding are
// ignored: they affect the input of a model, but not the tokens of a text.
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

// Allows look-ups by string_view in hash maps.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};
template <class Mapped>
using TextMap = std::unordered_map<std::string, Mapped, TextHash, std::equal_to<>>;

inline constexpr std::string_view kWordMark = "\xE2\x96\x81";  // U+2581, SentencePiece's space

// The parts of a tokenizer.json that tokens depend on.
struct BpeModel {
  std::string name;
  SplitRule split = SplitRule::kGpt2;
  bool byte_level = true;
  bool add_prefix_space = false;  // byte-level: add a space if a text does not start with one
  bool ignore_merges = false;
  TextMap<std::uint32_t> vocabulary;             // text as bytes -> token; without added tokens
  std::array<std::uint32_t, 256> byte_tokens{};  // the first token of each byte, or its fallback
  MergeTable merges;
  struct Added {
    std::string text;
    std::uint32_t token = 0;
  };
  std::vector<Added> added;             // longest first
  std::vector<std::string> token_text;  // of every token, as bytes; empty if there is none
  std::optional<std::uint32_t> end_of_text = {};
};

// `text`: a tokenizer.json. `end_of_text`: its token that ends documents; empty = the first that
// exists of <|endoftext|>, <|end_of_text|>, </s>, <eos>.
BpeModel parse_bpe(std::string_view text, const std::string& file,
                   const std::string& end_of_text = {});

std::unique_ptr<Tokenizer> make_bpe_tokenizer(BpeModel model);
std::unique_ptr<Tokenizer> load_bpe(const std::string& path, const std::string& end_of_text = {});

}  // namespace nereus::data
