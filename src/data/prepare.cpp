#include "data/prepare.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/format.hpp"
#include "data/token_writer.hpp"

namespace nereus::data {

namespace {

class TokenSink : public DocumentSink {
 public:
  TokenSink(Tokenizer& tokenizer, TokenWriter& writer, const PrepareHooks& hooks, double total)
      : tokenizer_(tokenizer), writer_(writer), hooks_(hooks), total_(total) {}

  void text(std::string_view piece) override {
    text_bytes += static_cast<std::int64_t>(piece.size());
    pending_ += piece;
    encode(false);
  }

  void end() override {
    encode(true);
    if (const auto token = tokenizer_.end_of_text()) writer_.add({&*token, 1});
    writer_.end_document();
    at_start_ = true;
    at_ = 0;
  }

  bool go_on(std::int64_t bytes_read) override {
    if (hooks_.progress) hooks_.progress(static_cast<double>(bytes_read), total_);
    return !hooks_.stop || !hooks_.stop();
  }

  std::int64_t text_bytes = 0;

 private:
  void encode(bool last) {
    std::string_view text = pending_;
    if (tokenizer_.needs_utf8()) {
      std::size_t whole = 0;
      const std::size_t bad = find_bad_utf8(text, last, whole);
      if (bad != std::string_view::npos)
        throw_input_error(
            "data.utf8",
            fmt::format("byte 0x{:02x}, {} into document {} (counted from 0), is no UTF-8 text",
                        static_cast<unsigned char>(text[bad]), counted(at_ + bad, "byte"),
                        writer_.num_documents()),
            {}, "convert the file, e.g. with iconv -c -t utf-8; --tokenizer bytes takes any bytes");
      text = text.substr(0, whole);
    }
    tokens_.clear();
    const std::size_t taken = tokenizer_.encode_some(text, at_start_, last, tokens_);
    writer_.add(tokens_);
    at_ += taken;
    pending_.erase(0, taken);
  }

  Tokenizer& tokenizer_;
  TokenWriter& writer_;
  const PrepareHooks& hooks_;
  double total_;
  std::string pending_;  // text that later text may still change
  std::vector<std::uint32_t> tokens_;
  bool at_start_ = true;
  std::size_t at_ = 0;  // bytes of the document that are encoded
};

}  // namespace

Prepared prepare_tokens(const std::vector<std::string>& files, const DocumentOptions& documents,
                        Tokenizer& tokenizer, const std::string& output,
                        const PrepareHooks& hooks) {
  const auto total = static_cast<double>(total_bytes(files));
  TokenWriterOptions options{.vocabulary = tokenizer.vocabulary(), .tokenizer = tokenizer.name()};
  if (tokenizer.end_of_text()) options.end_of_text = *tokenizer.end_of_text();
  TokenWriter writer(output, options);
  TokenSink sink(tokenizer, writer, hooks, total);
  if (!read_documents(files, documents, sink)) return {.complete = false};
  if (writer.num_documents() == 0)
    throw_input_error("data.empty", "the input holds no text", {files.empty() ? "" : files[0]});
  writer.finish(sink.text_bytes);
  return {.complete = true,
          .num_tokens = writer.num_tokens(),
          .num_documents = writer.num_documents(),
          .text_bytes = sink.text_bytes,
          .file_bytes = writer.file_bytes()};
}

}  // namespace nereus::data
