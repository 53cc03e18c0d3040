#include "data/tokenizer.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "data/bpe.hpp"
#include "spec/source.hpp"

namespace nereus::data {

namespace {

constexpr std::uint32_t kEndOfText = 256;

class ByteTokenizer : public Tokenizer {
 public:
  std::string name() const override { return "bytes"; }
  std::int64_t vocabulary() const override { return 257; }
  std::optional<std::uint32_t> end_of_text() const override { return kEndOfText; }
  std::optional<std::uint32_t> find_token(std::string_view text) const override {
    if (text.size() != 1) return {};
    return static_cast<unsigned char>(text[0]);
  }
  bool needs_utf8() const override { return false; }

  std::size_t encode_some(std::string_view text, bool&, bool,
                          std::vector<std::uint32_t>& tokens) override {
    const std::size_t at = tokens.size();
    tokens.resize(at + text.size());
    for (std::size_t i = 0; i < text.size(); ++i)
      tokens[at + i] = static_cast<unsigned char>(text[i]);
    return text.size();
  }

  std::string decode(std::span<const std::uint32_t> tokens) const override {
    std::string text;
    for (const std::uint32_t token : tokens)
      if (token < kEndOfText) text += static_cast<char>(token);
    return text;
  }
};

}  // namespace

std::unique_ptr<Tokenizer> make_byte_tokenizer() { return std::make_unique<ByteTokenizer>(); }

std::unique_ptr<Tokenizer> load_tokenizer(const std::string& name_or_file,
                                          const std::string& end_of_text) {
  if (name_or_file != "bytes") return load_bpe(name_or_file, end_of_text);
  if (!end_of_text.empty())
    throw_input_error("data.end-of-text", "the tokenizer bytes ends documents with its token 256",
                      {}, "leave --end-of-text out");
  return make_byte_tokenizer();
}

}  // namespace nereus::data
