// TOML through toml++, turned into our tree in file order.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "spec/value.hpp"

#define TOML_MAX_NESTED_VALUES 64
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

namespace nereus::spec {

namespace {

static_assert(TOML_MAX_NESTED_VALUES == kMostNesting);

constexpr std::size_t kLargestText = std::size_t{16} << 20;

[[noreturn]] void fail(const Source& source, const std::string& message, int line, int column) {
  throw_input_error("spec.syntax", message, where_in(source, line, column));
}

// toml++ limits the nesting of values but not of dotted keys: 100,000 parts in one key make a tree
// so deep that its destructor overflows the stack. So the parts are counted before it sees the
// text. The scan needs to agree with TOML only up to the first syntax error, since toml++ stops
// there.
class DottedKeyCheck {
 public:
  explicit DottedKeyCheck(const Source& source) : source_(source), text_(source.text) {}

  void run() {
    while (at_ < text_.size()) step();
  }

 private:
  void step() {
    const char c = text_[at_];
    if (c == '"' || c == '\'') return skip_string(c);
    ++at_;
    if (c == '#') {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else if (c == '.') {
      if (++num_dots_ >= kMostNesting) {
        const auto line = 1 + std::count(text_.begin(), text_.begin() + at_, '\n');
        fail(source_, fmt::format("a key of more than {} parts", kMostNesting),
             static_cast<int>(line), 0);
      }
    } else if (c == '\n' || c == '=' || c == ',' || c == '[' || c == ']' || c == '{' || c == '}') {
      num_dots_ = 0;
    }
  }

  void skip_string(char quote) {
    const std::string_view rest = text_.substr(at_);
    const std::string three(3, quote);
    const std::string closing = rest.starts_with(three) ? three : three.substr(0, 1);
    at_ += closing.size();
    for (; at_ < text_.size(); ++at_) {
      if (quote == '"' && text_[at_] == '\\') {
        ++at_;
      } else if (text_.substr(at_).starts_with(closing)) {
        at_ += closing.size();
        // Up to two quotes may stand before the closing three: """a""""" holds a"".
        for (int i = 0; closing.size() == 3 && i < 2 && at_ < text_.size() && text_[at_] == quote;
             ++i)
          ++at_;
        return;
      } else if (closing.size() == 1 && text_[at_] == '\n') {
        return;  // never closed: toml++ will say so
      }
    }
  }

  const Source& source_;
  const std::string_view text_;
  std::size_t at_ = 0;
  int num_dots_ = 0;
};

class Converter {
 public:
  explicit Converter(const SourcePtr& source) : source_(source) {}

  Value convert(const toml::node& node, int depth) {
    Value value;
    value.source = source_;
    value.line = static_cast<int>(node.source().begin.line);
    value.column = static_cast<int>(node.source().begin.column);
    if (depth >= kMostNesting && !node.is_value())
      fail(*source_, fmt::format("nested deeper than {} levels", kMostNesting), value.line,
           value.column);
    node.visit([&](const auto& typed) { fill(value, typed, depth); });
    return value;
  }

 private:
  void fill(Value& value, const toml::table& table, int depth) {
    Table& out = value.data.emplace<Table>();
    out.reserve(table.size());
    // toml++ sorts by name; the place of the key gives back the order of the file.
    std::vector<std::pair<toml::source_position, const toml::key*>> order;
    for (auto&& [key, member] : table) order.emplace_back(key.source().begin, &key);
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return std::pair(a.first.line, a.first.column) < std::pair(b.first.line, b.first.column);
    });
    for (const auto& [position, key] : order) {
      Value member = convert(*table.get(key->str()), depth + 1);
      if (member.line == 0) {  // a table that only a dotted key implies
        member.line = static_cast<int>(position.line);
        member.column = static_cast<int>(position.column);
      }
      out.emplace_back(std::string(key->str()), std::move(member));
    }
  }

  void fill(Value& value, const toml::array& array, int depth) {
    Array& out = value.data.emplace<Array>();
    out.reserve(array.size());
    for (const toml::node& element : array) out.push_back(convert(element, depth + 1));
  }

  void fill(Value& value, const toml::value<std::string>& text, int) { value.data = text.get(); }
  void fill(Value& value, const toml::value<std::int64_t>& number, int) {
    value.data = number.get();
  }
  void fill(Value& value, const toml::value<double>& number, int) { value.data = number.get(); }
  void fill(Value& value, const toml::value<bool>& truth, int) { value.data = truth.get(); }

  // Dates and times: whoever wants one reads it as text.
  template <class Time>
  void fill(Value& value, const toml::value<Time>& time, int) {
    std::ostringstream text;
    text << time.get();
    value.data = text.str();
  }

  const SourcePtr source_;
};

}  // namespace

Value parse_toml(std::string_view text, const std::string& file) {
  const SourcePtr source = make_source(text, file);
  if (source->text.size() > kLargestText)
    throw_input_error("spec.unreadable",
                      fmt::format("TOML of more than {} MiB", kLargestText >> 20), {file},
                      "write it as JSON");
  DottedKeyCheck(*source).run();
  try {
    const toml::table table = toml::parse(std::string_view(source->text));
    Value root = Converter(source).convert(table, 0);
    root.line = root.column = 1;
    return root;
  } catch (const toml::parse_error& error) {
    fail(*source, std::string(error.description()), static_cast<int>(error.source().begin.line),
         static_cast<int>(error.source().begin.column));
  }
}

}  // namespace nereus::spec
