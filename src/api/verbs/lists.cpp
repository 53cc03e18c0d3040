#include "api/verbs/lists.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace nereus::api {

namespace {

constexpr int kMost = 1 << 20;          // of any number
constexpr std::size_t kLongest = 4096;  // of a list

std::optional<int> whole(std::string_view text) {
  int value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size() || value > kMost) return std::nullopt;
  return value;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t comma = text.find(',', begin);
    parts.push_back(text.substr(begin, comma - begin));
    if (comma == std::string::npos) return parts;
    begin = comma + 1;
  }
}

// "a..b", "a..b*f" or "a..b+s" with f of at least 2 and s of at least 1; returns false for other
// text.
bool add_range(const std::string& part, std::vector<int>& out) {
  const std::size_t dots = part.find("..");
  if (dots == std::string::npos) return false;
  const std::size_t sign = part.find_first_of("*+", dots + 2);
  const std::optional<int> first = whole(part.substr(0, dots));
  const std::optional<int> last = whole(part.substr(dots + 2, sign - dots - 2));
  std::optional<int> by = 1;
  const bool times = sign != std::string::npos && part[sign] == '*';
  if (sign != std::string::npos) by = whole(part.substr(sign + 1));
  if (!first || !last || !by || *last < *first || *by < (times ? 2 : 1)) return false;
  if (times && *first < 1) return false;
  for (std::int64_t i = *first; i <= *last && out.size() <= kLongest; i = times ? i * *by : i + *by)
    out.push_back(static_cast<int>(i));
  return true;
}

}  // namespace

std::vector<int> parse_whole_list(const std::string& option, const std::string& text, int least,
                                  ErrorList& errors) {
  std::vector<int> list;
  for (const std::string& part : split(text)) {
    if (add_range(part, list)) continue;
    if (const std::optional<int> value = whole(part)) {
      list.push_back(*value);
      continue;
    }
    errors.add("cli.bad-value",
               fmt::format("{} takes whole numbers, lists and ranges, not '{}'", option, part), {},
               fmt::format("{0} 1,2,4 or {0} 2..64*2", option));
    return {};
  }
  if (list.size() > kLongest) {
    errors.add("cli.bad-value", fmt::format("{} takes at most {} numbers", option, kLongest), {},
               "a range with steps: 1..1024*2");
    return {};
  }
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  if (list.front() < least) {
    errors.add("cli.bad-value",
               fmt::format("{} takes numbers of at least {}, not {}", option, least, list.front()));
    return {};
  }
  return list;
}

Take whole_list(std::string option, std::vector<int>& target, int least) {
  return [option = std::move(option), &target, least](const std::string& text, ErrorList& errors) {
    target = parse_whole_list(option, text, least, errors);
  };
}

Take word_list(std::string option, std::vector<std::string> words,
               std::function<void(std::size_t)> take) {
  return [option = std::move(option), words = std::move(words), take = std::move(take)](
             const std::string& text, ErrorList& errors) {
    for (const std::string& part : split(text)) {
      const auto at = std::find(words.begin(), words.end(), part);
      if (at != words.end())
        take(static_cast<std::size_t>(at - words.begin()));
      else
        errors.add(unknown_word("cli.bad-value",
                                fmt::format("{} does not accept '{}'", option, part), part, words));
    }
  };
}

}  // namespace nereus::api
