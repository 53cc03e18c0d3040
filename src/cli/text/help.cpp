// Help of one verb, from the fields of its request.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "api/text/terminal.hpp"
#include "cli/text/parse_words.hpp"

namespace nereus::cli {

using api::display_width;
using api::wrapped;

std::string help_text(const api::Command& command, int width) {
  constexpr int kIndent = 26;
  if (width <= 0) width = 100;
  const int text_width = std::max(20, width - kIndent);
  const auto describe = [&](const std::string& left, const std::string& text) {
    const std::string body = wrapped(text, text_width, kIndent);
    const int gap = kIndent - 2 - display_width(left);
    return gap >= 2 ? fmt::format("  {}{:{}}{}\n", left, "", gap, body)
                    : fmt::format("  {}\n{:{}}{}\n", left, "", kIndent, body);
  };
  std::string out = fmt::format("nereus {}: {}\n\nUsage: {}\n", command.name(), command.summary(),
                                command.usage());
  if (!command.about().empty()) out += "\n" + wrapped(command.about(), width) + "\n";
  std::vector<std::string> groups;
  std::map<std::string, std::string> lines;
  for (const api::Option& option : command.options()) {
    const std::string title = option.positional ? "Arguments" : option.group;
    if (!lines.contains(title)) groups.push_back(title);
    std::string left = option.names;
    if (const size_t comma = left.find(','); comma != std::string::npos)
      left.insert(comma + 1, " ");
    if (!option.positional && !option.value.empty()) left += " " + option.value;
    lines[title] += describe(left, option.help + (option.many ? " (may be repeated)" : ""));
  }
  if (command.rest_target() != nullptr) {
    if (!lines.contains("Arguments")) groups.emplace_back("Arguments");
    lines["Arguments"] += describe("-- " + command.rest_value(), command.rest_help());
  }
  for (const std::string& title : groups) out += fmt::format("\n{}:\n{}", title, lines[title]);
  if (!command.examples().empty()) out += "\nExamples:\n";
  for (const auto& [line, what] : command.examples())
    out += fmt::format("  {}\n      {}\n", line, what);
  return out;
}

}  // namespace nereus::cli
