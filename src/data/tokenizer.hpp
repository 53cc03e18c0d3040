// Text to tokens and back, one class a kind of tokenizer.
//
//   const auto tokenizer = load_tokenizer("bytes");           // or the path of a tokenizer.json
//   std::vector<std::uint32_t> tokens;
//   tokenizer->encode(text, tokens);
//
// bytes: every byte is a token, 0 ... 255, and 256 ends a document; the vocabulary is 257. Any file
// is text to it.
//
// A text may come in pieces: encode_some() takes what no later text can change and says how much
// that was. The tokens are the same however the text was cut.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nereus::data {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  virtual std::string name() const = 0;  // of the kind and, where it has a file, its checksum
  virtual std::int64_t vocabulary() const = 0;                   // every token is below it
  virtual std::optional<std::uint32_t> end_of_text() const = 0;  // follows each document
  virtual std::optional<std::uint32_t> find_token(std::string_view text) const = 0;
  virtual bool needs_utf8() const = 0;

  // Appends the tokens of the text's beginning; returns its bytes. `at_start`: the text starts a
  // document, or what follows a special token; set for the text that comes next. `last`: nothing
  // follows, all is taken. One thread at a time: what was encoded before is remembered.
  virtual std::size_t encode_some(std::string_view text, bool& at_start, bool last,
                                  std::vector<std::uint32_t>& tokens) = 0;
  virtual std::string decode(std::span<const std::uint32_t> tokens) const = 0;

  void encode(std::string_view text, std::vector<std::uint32_t>& tokens) {
    bool at_start = true;
    encode_some(text, at_start, true, tokens);
  }
};

// "bytes", or a file of the form of Hugging Face's tokenizer.json (data/bpe.hpp). `end_of_text`:
// the text of the token that ends a document, where the file does not say.
std::unique_ptr<Tokenizer> load_tokenizer(const std::string& name_or_file,
                                          const std::string& end_of_text = {});

std::unique_ptr<Tokenizer> make_byte_tokenizer();

}  // namespace nereus::data
