// The two little languages inside Megatron-LM's flags: pipeline layouts and lists of layers.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "export/megatron.hpp"

namespace nereus::exporting {

namespace {

constexpr std::size_t kMost = 200'000;  // characters or elements of an expansion
constexpr int kMostNesting = 16;

// sequence = { item [ * number ] }; item = a letter, |, or ( sequence ).
class Layout {
 public:
  explicit Layout(std::string_view text) : text_(text) {}

  std::optional<std::string> expand() {
    std::string result = sequence(0);
    if (failed_ || at_ != text_.size()) return std::nullopt;
    return result;
  }

 private:
  std::string sequence(int depth) {
    std::string result;
    if (depth > kMostNesting) failed_ = true;
    while (!failed_ && at_ < text_.size() && text_[at_] != ')') {
      std::string item;
      const char c = text_[at_++];
      if (c == '(') {
        item = sequence(depth + 1);
        if (at_ >= text_.size() || text_[at_] != ')') failed_ = true;
        ++at_;
      } else if (c == 'E' || c == 't' || c == 'm' || c == 'L' || c == '|') {
        item = c;
      } else if (c != ',' && c != ' ') {
        failed_ = true;
      }
      const std::size_t times = multiplier();
      if (item.size() * times + result.size() > kMost) failed_ = true;
      for (std::size_t i = 0; i < times && !failed_; ++i) result += item;
    }
    return result;
  }

  std::size_t multiplier() {
    if (at_ >= text_.size() || text_[at_] != '*') return 1;
    ++at_;
    std::size_t value = 0;
    const std::size_t begin = at_;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) &&
           value < kMost)
      value = value * 10 + static_cast<std::size_t>(text_[at_++] - '0');
    if (at_ == begin || value > kMost) failed_ = true;
    return value;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

// sum = product { + product }; product = atom { * number }; atom = [ numbers ] or ( sum ).
class ListExpression {
 public:
  explicit ListExpression(std::string_view text) : text_(text) {}

  std::optional<std::vector<int>> value() {
    std::vector<int> result = sum(0);
    if (failed_ || at_ != text_.size()) return std::nullopt;
    return result;
  }

 private:
  char peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  std::vector<int> sum(int depth) {
    std::vector<int> result = product(depth);
    while (!failed_ && take('+')) {
      const std::vector<int> more = product(depth);
      if (result.size() + more.size() > kMost)
        failed_ = true;
      else
        result.insert(result.end(), more.begin(), more.end());
    }
    return result;
  }

  std::vector<int> product(int depth) {
    std::vector<int> result = atom(depth);
    while (!failed_ && take('*')) {
      const int times = number();
      if (times < 0 || result.size() * static_cast<std::size_t>(times) > kMost) {
        failed_ = true;
        break;
      }
      const std::vector<int> once = result;
      result.clear();
      for (int i = 0; i < times; ++i) result.insert(result.end(), once.begin(), once.end());
    }
    return result;
  }

  std::vector<int> atom(int depth) {
    std::vector<int> result;
    if (depth > kMostNesting) failed_ = true;
    if (failed_) return result;
    if (take('(')) {
      result = sum(depth + 1);
      if (!take(')')) failed_ = true;
    } else if (take('[')) {
      while (!failed_ && peek() != ']') {
        result.push_back(number());
        if (!take(',') && peek() != ']') failed_ = true;
      }
      if (!take(']')) failed_ = true;
    } else {
      failed_ = true;
    }
    return result;
  }

  int number() {
    int value = 0;
    bool any = false;
    for (char c = peek(); std::isdigit(static_cast<unsigned char>(c)) && value < 1'000'000;
         c = at_ < text_.size() ? text_[at_] : '\0') {
      value = value * 10 + (c - '0');
      any = true;
      ++at_;
    }
    if (!any) failed_ = true;
    return value;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

}  // namespace

std::optional<std::vector<int>> blocks_of_layout(std::string_view layout) {
  const std::optional<std::string> flat = Layout(layout).expand();
  if (!flat || flat->empty()) return std::nullopt;
  std::vector<int> blocks = {0};
  for (char c : *flat) {
    if (c == '|') blocks.push_back(0);
    if (c == 't' || c == 'm') ++blocks.back();
  }
  // Megatron-LM drops a bar at the very end.
  if (flat->back() == '|') blocks.pop_back();
  return blocks;
}

std::string layout_of_blocks(const std::vector<int>& blocks, int further) {
  int plain = -further;  // blocks that are left to write as t
  for (int count : blocks) plain += count;
  const auto letters = [](char letter, int count) {
    if (count <= 0) return std::string();
    return count == 1 ? std::string(1, letter) + "," : fmt::format("{}*{},", letter, count);
  };
  std::string text = "E";
  for (std::size_t s = 0; s < blocks.size(); ++s) {
    const int t = std::clamp(plain, 0, blocks[s]);
    plain -= t;
    std::string stage = letters('t', t) + letters('m', blocks[s] - t);
    const bool last = s + 1 == blocks.size();
    if (!last && !stage.empty()) stage.pop_back();  // a comma before the bar says nothing
    text += stage + (last ? "L" : "|");
  }
  return text;
}

std::vector<int> expert_list(const model::TransformerShape& shape) {
  std::vector<int> list;
  for (int i = 0; i < shape.layers; ++i) {
    const int after = i - shape.dense_layers;
    list.push_back(after >= 0 && (after + 1) % shape.expert_interval == 0 ? 1 : 0);
  }
  return list;
}

std::optional<std::vector<int>> python_list(std::string_view expression) {
  return ListExpression(expression).value();
}

}  // namespace nereus::exporting
