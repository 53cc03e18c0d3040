#include "data/documents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "base/error.hpp"
#include "spec/source.hpp"
#include "spec/value.hpp"

namespace nereus::data {

namespace {

constexpr std::size_t kPieceBytes = 1 << 18;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// Reads one file in pieces, or in lines if the rule needs lines.
class FileReader {
 public:
  FileReader(const std::string& path, std::int64_t& bytes_read)
      : path_(path), file_(std::fopen(path.c_str(), "rb")), bytes_read_(bytes_read) {
    if (file_ == nullptr) broken();
  }

  // An empty piece is the end.
  std::string_view piece() {
    buffer_.resize(kPieceBytes);
    errno = 0;
    const std::size_t got = std::fread(buffer_.data(), 1, kPieceBytes, file_.get());
    if (got == 0 && std::ferror(file_.get()) != 0) broken();
    bytes_read_ += static_cast<std::int64_t>(got);
    return std::string_view(buffer_).substr(0, got);
  }

  // The next line with its end, if it has one; false at the end of the file.
  bool line(std::string& line) {
    line.clear();
    for (;;) {
      const std::size_t end = rest_.find('\n');
      if (end != std::string_view::npos) {
        line += rest_.substr(0, end + 1);
        rest_.remove_prefix(end + 1);
        ++number_;
        return true;
      }
      line += rest_;
      rest_ = piece();
      if (rest_.empty()) {
        ++number_;
        return !line.empty();
      }
    }
  }
  int line_number() const { return number_; }

 private:
  [[noreturn]] void broken() const {
    throw_input_error("data.unreadable",
                      fmt::format("cannot read \"{}\": {}", path_, std::strerror(errno)));
  }

  std::string path_;
  std::unique_ptr<std::FILE, CloseFile> file_;
  std::int64_t& bytes_read_;
  std::string buffer_;
  std::string_view rest_;
  int number_ = 0;
};

std::string_view without_end(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string text_of_json(std::string_view line, const std::string& path, int number) {
  const auto where = [&] { return Where{path, number, 0, {}}; };
  spec::Value value;
  try {
    value = spec::parse_json(line, path);
  } catch (const Errors& errors) {
    throw_input_error("data.jsonl",
                      fmt::format("the line is no JSON: {}", errors.list().front().message),
                      where());
  }
  const spec::Value* text = value.find("text");
  if (text == nullptr || !std::holds_alternative<std::string>(text->data))
    throw_input_error("data.jsonl", "the line has no member \"text\" that is a string", where(),
                      "{\"text\": \"...\"} on every line");
  return std::get<std::string>(text->data);
}

bool read_file(const std::string& path, const DocumentOptions& options, std::int64_t& bytes_read,
               DocumentSink& sink) {
  FileReader reader(path, bytes_read);
  bool open = false;  // a document that has text
  const auto put = [&](std::string_view text) {
    if (text.empty()) return;
    sink.text(text);
    open = true;
  };
  const auto end = [&] {
    if (open) sink.end();
    open = false;
  };
  if (options.rule == DocumentRule::kFile) {
    for (std::string_view piece = reader.piece(); !piece.empty(); piece = reader.piece()) {
      put(piece);
      if (!sink.go_on(bytes_read)) return false;
    }
    end();
    return true;
  }
  std::string line;
  while (reader.line(line)) {
    const std::string_view content = without_end(line);
    if (options.rule == DocumentRule::kSeparator) {
      if (content == options.separator)
        end();
      else
        put(line);
    } else {
      if (options.rule == DocumentRule::kLine)
        put(content);
      else if (!content.empty())
        put(text_of_json(content, path, reader.line_number()));
      end();
    }
    if (!sink.go_on(bytes_read)) return false;
  }
  end();
  return true;
}

}  // namespace

std::int64_t total_bytes(const std::vector<std::string>& files) {
  ErrorList errors;
  std::int64_t total = 0;
  for (const std::string& path : files) {
    std::error_code code;
    if (std::filesystem::is_regular_file(path, code)) {
      total += static_cast<std::int64_t>(std::filesystem::file_size(path, code));
      const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
      if (file == nullptr)
        errors.add("data.unreadable",
                   fmt::format("cannot read \"{}\": {}", path, std::strerror(errno)));
    } else if (std::filesystem::is_directory(path, code)) {
      errors.add("spec.is-directory", fmt::format("\"{}\" is a directory, files are needed", path),
                 {}, fmt::format("name its files: {}/*.txt", path));
    } else if (std::filesystem::exists(path, code)) {
      errors.add("data.unreadable", fmt::format("\"{}\" is no regular file", path));
    } else {
      try {
        spec::read_text_file(path);  // says it with the nearest name
      } catch (const Errors& missing) {
        for (const Error& error : missing.list()) errors.add(error);
      }
    }
  }
  errors.throw_if_any();
  return total;
}

bool read_documents(const std::vector<std::string>& files, const DocumentOptions& options,
                    DocumentSink& sink) {
  total_bytes(files);
  std::int64_t bytes_read = 0;
  return std::all_of(files.begin(), files.end(), [&](const std::string& path) {
    return read_file(path, options, bytes_read, sink);
  });
}

std::size_t find_bad_utf8(std::string_view text, bool last, std::size_t& whole) {
  const auto* const p = reinterpret_cast<const unsigned char*>(text.data());
  std::size_t at = 0;
  while (at < text.size()) {
    const unsigned char c = p[at];
    whole = at;
    if (c < 0x80) {
      ++at;
      continue;
    }
    const std::size_t length = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;
    if (c < 0xC2 || c > 0xF4) return at;
    // The second byte's range excludes overlong forms, surrogates and what lies beyond U+10FFFF.
    const unsigned low = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
    const unsigned high = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
    for (std::size_t i = 1; i < length; ++i) {
      if (at + i == text.size()) return last ? at : std::string_view::npos;
      const unsigned char next = p[at + i];
      if (next < (i == 1 ? low : 0x80) || next > (i == 1 ? high : 0xBF)) return at;
    }
    at += length;
  }
  whole = at;
  return std::string_view::npos;
}

}  // namespace nereus::data
