#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/utf8.hpp"
#include "spec/value.hpp"

namespace nereus::spec {

namespace {

struct Writer {
  std::string out;

  void operator()(std::monostate) { out += "null"; }
  void operator()(bool truth) { out += truth ? "true" : "false"; }
  void operator()(std::int64_t number) { fmt::format_to(std::back_inserter(out), "{}", number); }

  void operator()(double number) {
    if (!std::isfinite(number)) return operator()(std::monostate());
    const std::string text = fmt::format("{}", number);
    out += text;
    if (text.find_first_of(".e") == std::string::npos)
      out += ".0";  // stays a number, not an integer
  }

  // Texts come from the system and from other programs, which promise no encoding; JSON is UTF-8:
  // what is not becomes "?".
  void operator()(const std::string& text) {
    out += '"';
    for (std::size_t i = 0, length = 0; i < text.size(); i += std::max<std::size_t>(1, length)) {
      length = decode_utf8(std::string_view(text).substr(i)).length;
      const char c = text[i];
      if (length == 0)
        out += '?';
      else if (c == '"' || c == '\\')
        (out += '\\') += c;
      else if (static_cast<unsigned char>(c) < 0x20)
        fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
      else
        out.append(text, i, length);
    }
    out += '"';
  }

  void operator()(const Array& array) {
    out += '[';
    for (const Value& value : array) {
      if (&value != array.data()) out += ',';
      std::visit(*this, value.data);
    }
    out += ']';
  }

  void operator()(const Table& table) {
    out += '{';
    for (const auto& member : table) {
      if (&member != table.data()) out += ',';
      operator()(member.first);
      out += ':';
      std::visit(*this, member.second.data);
    }
    out += '}';
  }
};

}  // namespace

std::string to_json(const Value& value) {
  Writer writer;
  std::visit(writer, value.data);
  return std::move(writer.out);
}

}  // namespace nereus::spec
