// YAML from the events of yaml-cpp, so that depth and aliases can be limited while it parses.
//
// Plain scalars follow the core schema of YAML 1.2 (null, true/false, integers, floats, else a
// string); quoted ones stay strings. `yes`, `no`, `on`, `off` are strings. A file has one document.
// An alias is a copy; all copies together may have at most kMostAliasedValues values, which stops
// an "alias bomb". Merge keys are not special.
#ifndef NEREUS_WITHOUT_YAML

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <charconv>
#include <limits>
#include <sstream>
#include <unordered_map>

#include "base/decimal.hpp"
#include "base/utf8.hpp"
#include "spec/unique_keys.hpp"
#include "spec/value.hpp"

namespace nereus::spec {

namespace {

constexpr std::size_t kLargestText = std::size_t{16} << 20;
constexpr std::size_t kMostAliasedValues = 100000;
constexpr std::string_view kStandardTag = "tag:yaml.org,2002:";

bool is_number_start(std::string_view text) {
  const char c = text.empty() ? '\0' : text[0];
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.';
}

// Reads all of the text as a number of T, or nothing.
template <class T>
bool read_number(std::string_view text, Value& value, int base = 10) {
  T number{};
  const auto read = [&] {
    const char* const last = text.data() + text.size();
    if constexpr (std::is_floating_point_v<T>)
      return read_decimal(text.data(), last, number);
    else
      return std::from_chars(text.data(), last, number, base);
  };
  const auto [end, code] = read();
  if (code != std::errc() || end != text.data() + text.size()) return false;
  value.data = number;
  return true;
}

void resolve_number(std::string_view text, Value& value) {
  std::string_view digits = text;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  if (digits.starts_with('-') && text.starts_with('+')) return;  // "+-1"
  if (text.starts_with("0x") || text.starts_with("0o")) {
    if (text.size() > 2 && text[2] != '-')
      read_number<std::int64_t>(text.substr(2), value, text[1] == 'x' ? 16 : 8);
    return;
  }
  std::string_view unsigned_part = digits;
  if (unsigned_part.starts_with('-')) unsigned_part.remove_prefix(1);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (unsigned_part == ".inf" || unsigned_part == ".Inf" || unsigned_part == ".INF") {
    value.data = digits.starts_with('-') ? -kInfinity : kInfinity;
  } else if (text == ".nan" || text == ".NaN" || text == ".NAN") {
    value.data = std::numeric_limits<double>::quiet_NaN();
  } else if (unsigned_part.find_first_not_of("0123456789.eE+-") == std::string_view::npos) {
    // The letters are checked, because from_chars accepts "inf" and "nan", which are words in YAML.
    if (!read_number<std::int64_t>(digits, value)) read_number<double>(digits, value);
  }
}

// The meaning of a plain scalar in the core schema.
void resolve_plain(const std::string& text, Value& value) {
  value.data = text;
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL")
    value.data = std::monostate();
  else if (text == "true" || text == "True" || text == "TRUE")
    value.data = true;
  else if (text == "false" || text == "False" || text == "FALSE")
    value.data = false;
  else if (is_number_start(text))
    resolve_number(text, value);
}

struct Extent {
  std::size_t num_values = 1;
  int depth = 0;
};

Extent extent_of(const Value& value) {
  Extent extent;
  const auto include = [&extent](const Value& child) {
    const Extent inner = extent_of(child);
    extent.num_values += inner.num_values;
    extent.depth = std::max(extent.depth, inner.depth + 1);
  };
  if (const auto* array = std::get_if<Array>(&value.data)) {
    extent.depth = 1;
    for (const Value& child : *array) include(child);
  } else if (const auto* table = std::get_if<Table>(&value.data)) {
    extent.depth = 1;
    for (const auto& [key, child] : *table) include(child);
  }
  return extent;
}

class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(const SourcePtr& source) : source_(source) {}

  Value take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(make(mark), anchor, mark);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    Value value = make(mark);
    if (expects_key() || tag == "!" || tag == std::string(kStandardTag) + "str")
      value.data = text;
    else if (tag == "?" || tag.empty() || tag.starts_with(kStandardTag))
      resolve_plain(text, value);
    else
      fail(fmt::format("the tag {} is not known", tag), mark);
    add(std::move(value), anchor, mark);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto it = anchors_.find(anchor);
    if (it == anchors_.end()) fail("an alias inside of what it stands for", mark);
    const Extent extent = extent_of(it->second);
    num_aliased_ += extent.num_values;
    if (num_aliased_ > kMostAliasedValues)
      fail(fmt::format("aliases stand for more than {} values", kMostAliasedValues), mark);
    if (static_cast<int>(open_.size()) + extent.depth > kMostNesting) fail_depth(mark);
    add(it->second, 0, mark);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, anchor, Array());
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, anchor, Table());
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

  [[noreturn]] void fail(const std::string& message, const YAML::Mark& mark) {
    const Value at = make(mark);
    throw_input_error("spec.syntax", message, at.where());
  }

 private:
  // A collection whose end has not come. A table reads key and value in turn.
  struct Open {
    Value value;
    YAML::anchor_t anchor = 0;
    bool has_key = false;
    int key_line = 0, key_column = 0;
    UniqueKeys keys = {};
  };

  Value make(const YAML::Mark& mark) {
    Value value;
    value.source = source_;
    value.line = mark.line + 1;  // yaml-cpp counts from 0, and gives -1 for no place
    value.column = column_of(mark);
    return value;
  }

  // yaml-cpp counts columns in bytes, we count characters. Continues from the last place on the
  // same line, so that a long line is scanned once.
  int column_of(const YAML::Mark& mark) {
    const std::string& text = source_->text;
    const int line_begin = mark.pos - mark.column;
    if (line_begin < 0 || mark.pos > static_cast<int>(text.size())) return mark.column + 1;
    if (mark.line != last_.line || mark.pos < last_.pos) last_ = {line_begin, mark.line, 0};
    for (; last_.pos < mark.pos; ++last_.pos)
      if (!continues_utf8(text[last_.pos])) ++last_.column;
    return last_.column + 1;
  }

  bool expects_key() const {
    return !open_.empty() && std::holds_alternative<Table>(open_.back().value.data) &&
           !open_.back().has_key;
  }

  void open(const YAML::Mark& mark, YAML::anchor_t anchor, auto collection) {
    if (expects_key()) fail("a key must be a plain word or a string", mark);
    if (static_cast<int>(open_.size()) >= kMostNesting) fail_depth(mark);
    open_.push_back({make(mark), anchor});
    open_.back().value.data = std::move(collection);
  }

  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    const YAML::Mark nowhere = YAML::Mark::null_mark();
    add(std::move(done.value), done.anchor, nowhere);
  }

  void add(Value value, YAML::anchor_t anchor, const YAML::Mark& mark) {
    if (anchor != 0) anchors_.insert_or_assign(anchor, value);
    if (open_.empty()) {
      root_ = std::move(value);
      return;
    }
    Open& parent = open_.back();
    if (auto* array = std::get_if<Array>(&parent.value.data)) {
      array->push_back(std::move(value));
    } else if (!parent.has_key) {
      take_key(parent, value, mark);
    } else {
      // A block collection starts on a separate line; the place of its key is more useful.
      const bool is_collection = value.data.index() >= 5;
      if (is_collection) value.line = parent.key_line, value.column = parent.key_column;
      std::get<Table>(parent.value.data).back().second = std::move(value);
      parent.has_key = false;
    }
  }

  void take_key(Open& parent, Value& value, const YAML::Mark& mark) {
    auto* key = std::get_if<std::string>(&value.data);
    if (key == nullptr) fail("a key must be a plain word or a string", mark);
    Table& table = std::get<Table>(parent.value.data);
    table.emplace_back().first = std::move(*key);
    if (!parent.keys.last_is_new(table))
      fail(fmt::format("the key \"{}\" is given twice", table.back().first), mark);
    parent.has_key = true;
    parent.key_line = value.line;
    parent.key_column = value.column;
  }

  [[noreturn]] void fail_depth(const YAML::Mark& mark) {
    fail(fmt::format("nested deeper than {} levels", kMostNesting), mark);
  }

  struct Place {
    int pos = 0, line = -1, column = 0;
  };

  const SourcePtr source_;
  Place last_;
  Value root_;
  std::vector<Open> open_;
  std::unordered_map<YAML::anchor_t, Value> anchors_;
  std::size_t num_aliased_ = 0;
};

}  // namespace

Value parse_yaml(std::string_view text, const std::string& file) {
  const SourcePtr source = make_source(text, file);
  if (source->text.size() > kLargestText)
    throw_input_error("spec.unreadable",
                      fmt::format("YAML of more than {} MiB", kLargestText >> 20), {file},
                      "write it as JSON");
  TreeBuilder builder(source);
  // yaml-cpp 0.7 accepts a quoted scalar as closed if the file ends in it right after a line end.
  // An additional line with a comment turns this into the syntax error that it is: a truncated
  // file.
  std::istringstream in(source->text + (source->text.ends_with('\n') ? "#" : "\n#"));
  Value root;
  try {
    YAML::Parser parser(in);
    const bool has_document = parser.HandleNextDocument(builder);
    root = builder.take();
    if (has_document && parser) {
      TreeBuilder second(source);
      if (parser.HandleNextDocument(second))
        throw_input_error("spec.syntax", "more than one YAML document", {file},
                          "keep one per file");
    }
  } catch (const YAML::Exception& error) {
    builder.fail(error.msg, error.mark);
  }
  if (root.is_null())
    root = Value{Table(), 1, 1, source};  // an empty file is an empty table, as in TOML
  return root;
}

}  // namespace nereus::spec

#endif
