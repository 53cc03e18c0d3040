// A small checker of well-formedness for the output of this folder, and random text.
//
//   EXPECT_EQ(xml_fault(svg_of(map, "fig1")), "");
//
// It checks XML 1.0's rules for elements, attributes, entities and characters: tags nest, names are
// valid, attributes are quoted and unique in their tag, no bare & or <, valid UTF-8. DOCTYPE,
// comments and processing instructions are faults here, because our code never writes them.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "chart/text.hpp"

namespace nereus::chart::testing {

inline bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

inline std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

// Empty, or what is wrong with text between tags or within quotes.
inline std::string text_fault(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '<') return "bare <";
    if (c < 0x20 && c != '\n') return "control character";
    if (c != '&') continue;
    const std::string_view rest = text.substr(i, 7);
    if (!rest.starts_with("&lt;") && !rest.starts_with("&gt;") && !rest.starts_with("&amp;") &&
        !rest.starts_with("&quot;"))
      return "bare &";
  }
  return "";
}

// Removes a name from the front of `text` and returns it; empty if there is none.
inline std::string take_name(std::string_view& text) {
  const auto letter = [](char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; };
  std::size_t end = 0;
  while (end < text.size() &&
         (letter(text[end]) || (end > 0 && (has("0123456789_:-", text.substr(end, 1))))))
    ++end;
  const std::string name(text.substr(0, end));
  text.remove_prefix(end);
  return name;
}

// Empty, or what is wrong with ` name="value" name="value"`. Written by hand, because std::regex
// recurses once per character and overflows the stack on long values.
inline std::string attributes_fault(std::string_view text) {
  std::set<std::string> seen;
  while (!text.empty()) {
    const std::size_t space = std::min(text.find_first_not_of(" \n"), text.size());
    text.remove_prefix(space);
    if (text.empty()) break;
    const std::string name = take_name(text);
    const std::size_t end = text.find('"', 2);
    if (space == 0 || name.empty() || !text.starts_with("=\"") || end == std::string_view::npos)
      return "bad attribute: " + name + std::string(text.substr(0, 40));
    if (!seen.insert(name).second) return "attribute twice: " + name;
    if (const std::string fault = text_fault(text.substr(2, end - 2)); !fault.empty()) return fault;
    text.remove_prefix(end + 1);
  }
  return "";
}

inline std::string xml_fault(std::string_view xml) {
  // Escaping replaces invalid UTF-8, and leaves everything unchanged except < > & " and line ends.
  if (has(escaped(xml), "\uFFFD") && !has(xml, "\uFFFD")) return "not UTF-8";
  std::vector<std::string> open;
  std::size_t num_roots = 0;
  while (!xml.empty()) {
    const std::size_t start = std::min(xml.find('<'), xml.size());
    if (const std::string fault = text_fault(xml.substr(0, start)); !fault.empty()) return fault;
    if (open.empty() && xml.substr(0, start).find_first_not_of(" \n") != std::string_view::npos)
      return "text outside the root";
    xml.remove_prefix(start);
    if (xml.empty()) break;
    std::size_t end = 1;  // of the tag; a > may be in quotes
    for (bool quoted = false; end < xml.size() && (quoted || xml[end] != '>'); ++end)
      if (xml[end] == '"') quoted = !quoted;
    if (end == xml.size()) return "a tag has no end";
    std::string_view tag = xml.substr(1, end - 1);
    xml.remove_prefix(end + 1);
    const bool ends = tag.starts_with("/"), whole = !ends && tag.ends_with("/");
    tag = tag.substr(ends ? 1 : 0, tag.size() - (ends || whole ? 1 : 0));
    const std::string name = take_name(tag);
    if (name.empty()) return "bad tag: " + std::string(tag.substr(0, 60));
    if (ends) {
      if (!tag.empty()) return "an end tag with attributes: " + name;
      if (open.empty() || open.back() != name) return "wrong end tag: " + name;
      open.pop_back();
      continue;
    }
    if (const std::string fault = attributes_fault(tag); !fault.empty()) return fault;
    if (open.empty() && ++num_roots > 1) return "two roots";
    if (!whole) open.push_back(name);
  }
  if (!open.empty()) return "not closed: " + open.back();
  return num_roots == 1 ? "" : "no root";
}

// Any bytes, often special ones.
inline std::string any_text() {
  const std::vector<std::string> pieces = *rc::gen::container<std::vector<std::string>>(
      rc::gen::oneOf(rc::gen::element<std::string>("<", "&amp;", "\"", "'", "]]>", "tp 8", "\n",
                                                   "\xff", "\xed\xa0\x80", "\u00e9", "\u4e2d",
                                                   "a long word", std::string(1, '\0')),
                     rc::gen::string<std::string>()));
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

// Any double, often a special one.
inline double any_number() {
  return *rc::gen::oneOf(rc::gen::element(0.0, -0.0, 1.0, -1.0, 1e-300, 5e-324, 1e300, -1e300, 1e99,
                                          1e100, 1e-99, std::numeric_limits<double>::infinity(),
                                          -std::numeric_limits<double>::infinity(),
                                          std::numeric_limits<double>::quiet_NaN()),
                         rc::gen::arbitrary<double>(),
                         rc::gen::map(rc::gen::inRange(0, 1000), [](int i) { return i / 7.0; }));
}

// Numbers after `key` in a picture, e.g. numbers_of(svg, " x=\"").
inline std::vector<double> numbers_of(const std::string& svg, const std::string& key) {
  std::vector<double> numbers;
  for (std::size_t at = svg.find(key); at != std::string::npos; at = svg.find(key, at + 1))
    numbers.push_back(std::strtod(svg.c_str() + at + key.size(), nullptr));
  return numbers;
}

// Attributes and paths must not contain non-finite numbers; labels may contain anything.
inline bool numbers_are_finite(std::string_view svg) {
  const auto letter = [](char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; };
  const auto word_in = [&](std::string_view value, std::string_view word) {
    for (std::size_t at = value.find(word); at != std::string_view::npos;
         at = value.find(word, at + 1)) {
      const std::size_t end = at + word.size();
      if ((at == 0 || !letter(value[at - 1])) && (end == value.size() || !letter(value[end])))
        return true;
    }
    return false;
  };
  for (std::size_t at = svg.find("=\""); at != std::string_view::npos; at = svg.find("=\"", at)) {
    const bool label = svg.substr(0, at).ends_with("aria-label");
    const std::size_t end = std::min(svg.find('"', at + 2), svg.size());
    const std::string_view value = svg.substr(at + 2, end - at - 2);
    if (!label && (word_in(value, "nan") || word_in(value, "inf"))) return false;
    at = end;
  }
  return true;
}

}  // namespace nereus::chart::testing
