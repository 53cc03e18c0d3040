// Splits text into the pieces within which byte pairs are merged: the regular expressions of GPT-2
// and LLaMA-3 as hand-written scanners, with the alternatives in the order of the expression.
//
//   const Piece piece = next_piece(SplitRule::kGpt2, text, at);    // text[at, piece.end)
//
// gpt2    's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//         (Radford et al., github.com/openai/gpt-2, src/encoder.py)
// llama3  (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}
//         | ?[^\s\p{L}\p{N}]+[\r\n]*
//         |\s*[\r\n]+|\s+(?!\S)|\s+        (also GPT-4's cl100k as Hugging Face writes it)
// qwen2   as llama3, with \p{N} for \p{N}{1,3}
// words   a run of U+2581 or spaces, then all up to the next one: if SentencePiece's merges never
//         cross the beginning of a word, these pieces can be merged separately
//
// \s+(?!\S) matches white space up to the last one before another character: the run without its
// last character, or all of it at the end of the text. The scan goes left to right, and reads no
// further than Piece::seen, so that a text can be cut as long as `seen` is within the text read so
// far.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace nereus::data {

enum class SplitRule { kGpt2, kLlama3, kQwen2, kWords };

// The rule of a regular expression in a tokenizer.json; empty if it is unknown.
std::optional<SplitRule> split_rule_of(std::string_view expression);

struct Piece {
  std::size_t end = 0;   // > at
  std::size_t seen = 0;  // end of what was examined; text.size() + 1 if the text's end was, too
};

Piece next_piece(SplitRule rule, std::string_view text, std::size_t at);  // at < text.size()

}  // namespace nereus::data
