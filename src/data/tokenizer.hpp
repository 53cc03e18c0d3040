// Converts text to tokens and back, with one class per kind of tokenizer.
//
//   const auto tokenizer = load_tokenizer("bytes");           // or the path of a tokenizer.json
//   std::vector<std::uint32_t> tokens;
//   tokenizer->encode(text, tokens);
//
// bytes: every byte is a token, 0 ... 255, and 256 ends a document; the vocabulary is 257. It
// accepts any file as text.
//
// Text may be given in pieces: encode_some() consumes the part whose tokens no later text can
// change, and returns its size. The tokens do not depend on how the text was divided.
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
  virtual std::string name() const = 0;         // kind and, if it has a file, its checksum
  virtual std::int64_t vocabulary() const = 0;  // every token is below it
  virtual std::optional<std::uint32_t> end_of_text() const = 0;  // follows each document
  virtual std::optional<std::uint32_t> find_token(std::string_view text) const = 0;
  virtual bool needs_utf8() const = 0;

  // Appends the tokens of the beginning of the text; returns the number of bytes consumed.
  // `at_start`: the text starts a document, or follows a special token; updated for the next text.
  // `last`: nothing follows, so all is consumed. Only one thread at a time, because results are
  // cached.
  virtual std::size_t encode_some(std::string_view text, bool& at_start, bool last,
                                  std::vector<std::uint32_t>& tokens) = 0;
  virtual std::string decode(std::span<const std::uint32_t> tokens) const = 0;

  void encode(std::string_view text, std::vector<std::uint32_t>& tokens) {
    bool at_start = true;
    encode_some(text, at_start, true, tokens);
  }
};

// "bytes", or a file in the form of Hugging Face's tokenizer.json (data/bpe.hpp). `end_of_text`:
// the token that ends a document, if the file does not name it.
std::unique_ptr<Tokenizer> load_tokenizer(const std::string& name_or_file,
                                          const std::string& end_of_text = {});

std::unique_ptr<Tokenizer> make_byte_tokenizer();

}  // namespace nereus::data
