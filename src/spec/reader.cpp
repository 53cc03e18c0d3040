#include "spec/reader.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.hpp"

namespace nereus::spec {

namespace {

// Values know their place, but not that of their key: it is searched before them on the line.
Where where_of_key(const std::string& key, const Value& value) {
  Where where = value.where();
  const int before = std::max(0, where.column - where.text_column);
  const std::size_t at = where.line_text.rfind(key, static_cast<std::size_t>(before));
  if (at != std::string::npos && static_cast<int>(at) < before)
    where.column = where.text_column + static_cast<int>(at);
  return where;
}

}  // namespace

Reader::Reader(const Value& table, ErrorList& errors, Units units)
    : table_(std::get_if<Table>(&table.data)), value_(&table), errors_(&errors), units_(units) {
  if (table_ == nullptr)
    errors.add("spec.type",
               fmt::format("expected a table of keys and values, found {}", table.type_name()),
               table.where());
  else
    read_.resize(table_->size());
}

Reader::Reader(const Value* table, const Reader& parent, std::string_view name, int index)
    : table_(table != nullptr ? std::get_if<Table>(&table->data) : nullptr),
      value_(table),
      errors_(parent.errors_),
      units_(parent.units_),
      name_(name),
      index_(index) {
  if (table_ != nullptr) read_.resize(table_->size());
}

const Value* Reader::look(std::string_view key) {
  if (table_ == nullptr) return nullptr;
  const std::size_t size = table_->size();
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t at = next_ + i < size ? next_ + i : next_ + i - size;
    const auto& [name, value] = (*table_)[at];
    if (name != key) continue;
    read_[at] = true;
    next_ = at + 1 < size ? at + 1 : 0;
    return value.is_null() ? nullptr : &value;
  }
  if (std::find(absent_.begin(), absent_.end(), key) == absent_.end()) absent_.emplace_back(key);
  return nullptr;
}

const Value* Reader::look_required(std::string_view key) {
  const Value* value = look(key);
  if (value == nullptr && table_ != nullptr)
    add("spec.missing-key",
        fmt::format("the key \"{}\" is missing{}", key,
                    name_.empty() ? "" : fmt::format(" in \"{}\"", path())),
        *value_);
  return value;
}

// The time to find a place grows with the file, so a file with errors everywhere would take
// forever.
bool Reader::room_for_error() {
  constexpr std::size_t kMostErrors = 100;
  if (errors_->list().size() == kMostErrors)
    errors_->add("spec.too-many", "there are more errors; these are the first ones");
  return errors_->list().size() <= kMostErrors;
}

void Reader::add(std::string code, std::string message, const Value& at, std::string hint) {
  if (room_for_error())
    errors_->add(std::move(code), std::move(message), at.where(), std::move(hint));
}

std::string Reader::path() const {
  return index_ < 0 ? std::string(name_) : fmt::format("{}[{}]", name_, index_);
}

bool Reader::has(std::string_view key) { return look(key) != nullptr; }
const Value* Reader::raw(std::string_view key) { return look(key); }
void Reader::skip(std::string_view key) { look(key); }
void Reader::skip_rest() { read_.assign(read_.size(), true); }

std::vector<std::string_view> Reader::keys() const {
  std::vector<std::string_view> names;
  if (table_ != nullptr)
    for (const auto& [name, value] : *table_) names.emplace_back(name);
  return names;
}

Where Reader::where(std::string_view key) const {
  if (value_ == nullptr) return {};
  const Value* member = value_->find(key);
  return member != nullptr ? member->where() : value_->where();
}

void Reader::fail(std::string_view key, std::string code, std::string message, std::string hint) {
  errors_->add(std::move(code), std::move(message), where(key), std::move(hint));
}

void Reader::finish() {
  for (std::size_t i = 0; i < read_.size(); ++i) {
    if (read_[i]) continue;
    const auto& [key, value] = (*table_)[i];
    std::string hint;
    std::vector<std::string> known = absent_;
    for (std::size_t j = 0; j < read_.size(); ++j)
      if (read_[j]) known.push_back((*table_)[j].first);
    // A key that is not there yet is the likelier one; a key that is there may be meant by --set.
    auto near = nearest(key, absent_);
    if (!near) near = nearest(key, known);
    if (near) {
      hint = fmt::format("did you mean \"{}\"?", *near);
    } else {
      std::sort(known.begin(), known.end());
      hint = known.empty() ? "no keys are known here"
                           : fmt::format("known: {}", fmt::join(known, ", "));
    }
    if (!room_for_error()) return;
    errors_->add("spec.unknown-key",
                 fmt::format("the key \"{}\" is not known{}", key,
                             name_.empty() ? "" : fmt::format(" in \"{}\"", path())),
                 where_of_key(key, value), hint);
  }
}

}  // namespace nereus::spec
