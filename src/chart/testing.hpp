// A small well-formedness checker for what this folder writes, and random text.
//
//   EXPECT_EQ(xml_fault(svg_of(map, "fig1")), "");
//
// It holds XML 1.0's rules for elements, attributes, entities and characters: tags nest, names are
// names, attributes are quoted and unique in their tag, no bare & or <, valid UTF-8. DOCTYPE,
// comments and processing instructions are faults here, since nothing of ours writes them.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <regex>
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

// "" or what is wrong with text between tags or within quotes.
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

inline std::string xml_fault(std::string_view xml) {
  // Escaping replaces what is not UTF-8 and leaves all else alone but < > & " and line ends.
  if (has(escaped(xml), "\uFFFD") && !has(xml, "\uFFFD")) return "not UTF-8";
  static const std::regex kTag(R"(^(/?)([A-Za-z][\w-]*)((?:\s+[A-Za-z][\w:-]*="[^"]*")*)\s*(/?)$)");
  static const std::regex kAttribute(R"re(([A-Za-z][\w:-]*)="([^"]*)")re");
  std::vector<std::string> open;
  std::size_t num_roots = 0;
  while (!xml.empty()) {
    const std::size_t start = std::min(xml.find('<'), xml.size());
    if (const std::string fault = text_fault(xml.substr(0, start)); !fault.empty()) return fault;
    if (open.empty() && xml.substr(0, start).find_first_not_of(" \n") != std::string_view::npos)
      return "text outside the root";
    xml.remove_prefix(start);
    if (xml.empty()) break;
    std::size_t end = 1;  // of the tag; a > may stand in quotes
    for (bool quoted = false; end < xml.size() && (quoted || xml[end] != '>'); ++end)
      if (xml[end] == '"') quoted = !quoted;
    if (end == xml.size()) return "a tag has no end";
    const std::string tag(xml.substr(1, end - 1));
    xml.remove_prefix(end + 1);
    std::smatch parts;
    if (!std::regex_match(tag, parts, kTag)) return "bad tag: " + tag.substr(0, 60);
    const std::string name = parts[2];
    if (parts[1].length() > 0) {
      if (open.empty() || open.back() != name) return "wrong end tag: " + name;
      open.pop_back();
      continue;
    }
    std::set<std::string> seen;
    const std::string attributes = parts[3];
    for (std::sregex_iterator at(attributes.begin(), attributes.end(), kAttribute), none;
         at != none; ++at) {
      if (!seen.insert((*at)[1]).second) return "attribute twice: " + std::string((*at)[1]);
      if (const std::string fault = text_fault(std::string((*at)[2])); !fault.empty()) return fault;
    }
    if (open.empty() && ++num_roots > 1) return "two roots";
    if (parts[4].length() == 0) open.push_back(name);
  }
  if (!open.empty()) return "not closed: " + open.back();
  return num_roots == 1 ? "" : "no root";
}

// Any bytes, often those that need care.
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

// Any double, often one that needs care.
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

// No attribute or path may hold what is not a number.
inline bool numbers_are_finite(const std::string& svg) {
  static const std::regex kBad(R"re(="[^"]*\b(nan|inf)\b[^"]*"( |/|>))re");
  std::string bare;  // without labels, which may say anything
  static const std::regex kLabel(R"re(aria-label="[^"]*")re");
  std::regex_replace(std::back_inserter(bare), svg.begin(), svg.end(), kLabel, "");
  return !std::regex_search(bare, kBad);
}

}  // namespace nereus::chart::testing
