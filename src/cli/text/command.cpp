#include "cli/text/command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <memory>

#include "base/nearest.hpp"
#include "base/parse_number.hpp"
#include "cli/text/terminal.hpp"

namespace nereus::cli {

namespace {

bool looks_like_option(std::string_view word) {
  // "-" is stdin, "-3" and "-.5" are numbers.
  return word.size() > 1 && word[0] == '-' && (word[1] < '0' || word[1] > '9') && word[1] != '.';
}

std::string_view before_equals(std::string_view word) { return word.substr(0, word.find('=')); }

}  // namespace

Error unknown_word(std::string code, std::string message, std::string_view word,
                   const std::vector<std::string>& known) {
  std::string hint;
  if (const auto near = nearest(word, known)) {
    hint = fmt::format("did you mean {}?", *near);
  } else if (known.size() <= 20) {
    hint = fmt::format("known: {}", fmt::join(known, ", "));
  }
  return {std::move(code), std::move(message), {}, hint, ErrorKind::kInput};
}

bool Command::Option::is(std::string_view name) const {
  const std::string all = "," + names + ",";
  return all.find("," + std::string(name) + ",") != std::string::npos;
}

std::string Command::Option::long_name() const {
  const size_t dashes = names.find("--");
  return dashes == std::string::npos ? names : names.substr(dashes);
}

Command::Command(std::string name, std::string summary)
    : name_(std::move(name)), summary_(std::move(summary)) {}

void Command::about(std::string text) { about_ = std::move(text); }
void Command::example(std::string line, std::string what) {
  examples_.emplace_back(std::move(line), std::move(what));
}
void Command::group(std::string title) { group_ = std::move(title); }

Command::Option& Command::add(std::string names, std::string value, std::string help) {
  Option& option = options_.emplace_back();
  option.names = std::move(names);
  option.value = std::move(value);
  option.help = std::move(help);
  option.group = group_;
  return option;
}

void Command::flag(std::string names, bool& target, std::string help) {
  add(std::move(names), "", std::move(help)).take = [&target](const std::string&, ErrorList&) {
    target = true;
  };
}

void Command::toggle(std::string names, std::optional<bool>& target, std::string help) {
  Option& option = add(std::move(names), "", std::move(help));
  option.may_equal = true;
  const std::string name = option.long_name();
  option.take = [&target, name](const std::string& text, ErrorList& errors) {
    if (text == "true" || text == "on" || text == "yes") {
      target = true;
    } else if (text == "false" || text == "off" || text == "no") {
      target = false;
    } else {
      errors.add("cli.bad-value", fmt::format("{} is on or off, not '{}'", name, text), {},
                 fmt::format("{0} or {0}=off", name));
    }
  };
}

void Command::text(std::string names, std::string value, std::string& target, std::string help) {
  Option& option = add(std::move(names), std::move(value), std::move(help));
  const std::string name = option.long_name();
  option.take = [&target, name](const std::string& text, ErrorList& errors) {
    if (text.empty()) errors.add("cli.bad-value", fmt::format("{} is given an empty value", name));
    target = text;
  };
}

void Command::texts(std::string names, std::string value, std::vector<std::string>& target,
                    std::string help) {
  Option& option = add(std::move(names), std::move(value), std::move(help));
  option.many = true;
  option.take = [&target](const std::string& text, ErrorList&) { target.push_back(text); };
}

void Command::files(std::string names, std::string value, std::vector<std::string>& target,
                    std::string help) {
  texts(std::move(names), std::move(value), target, std::move(help));
  options_.back().greedy = true;
}

void Command::whole(std::string names, std::optional<int>& target, int least, std::string help) {
  Option& option = add(std::move(names), "N", std::move(help));
  const std::string name = option.long_name();
  option.take = [&target, least, name](const std::string& text, ErrorList& errors) {
    const std::optional<int> number = parse_number<int>(text);
    if (number && *number >= least) {
      target = number;
      return;
    }
    // Of a number that is too small, or of none, nobody wants to know how large one may be.
    const bool too_large =
        !number && !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
    errors.add("cli.bad-value",
               fmt::format(
                   "{} takes a whole number of at least {}{}, not '{}'", name, least,
                   too_large ? fmt::format(" and at most {}", std::numeric_limits<int>::max()) : "",
                   text));
  };
}

void Command::number(std::string names, std::optional<double>& target, std::string help) {
  Option& option = add(std::move(names), "X", std::move(help));
  const std::string name = option.long_name();
  option.take = [&target, name](const std::string& text, ErrorList& errors) {
    target = parse_number<double>(text);
    if (!target)
      errors.add("cli.bad-value", fmt::format("{} takes a number, not '{}'", name, text));
  };
}

void Command::choice(std::string names, std::vector<Choice> choices, std::string help) {
  std::vector<std::string> words;
  for (const Choice& choice : choices) words.push_back(choice.word);
  Option& option = add(std::move(names), fmt::format("{}", fmt::join(words, "|")), std::move(help));
  const std::string name = option.long_name();
  option.take = [choices = std::move(choices), words = std::move(words), name](
                    const std::string& text, ErrorList& errors) {
    for (const Choice& choice : choices) {
      if (choice.word == text) return choice.take();
    }
    errors.add(
        unknown_word("cli.bad-value", fmt::format("{} cannot be '{}'", name, text), text, words));
  };
}

void Command::custom(std::string names, std::string value, Take take, std::string help) {
  Option& option = add(std::move(names), std::move(value), std::move(help));
  option.many = true;
  option.take = std::move(take);
}

void Command::argument(std::string value, std::string& target, std::string help,
                       std::vector<std::string> choices) {
  Option& option = add(value, value, std::move(help));
  option.positional = option.required = true;
  option.take = [&target, value, choices = std::move(choices)](const std::string& text,
                                                               ErrorList& errors) {
    target = text;
    for (const std::string& choice : choices) {
      if (choice == text) return;
    }
    if (!choices.empty()) {
      errors.add(unknown_word("cli.bad-value", fmt::format("{} cannot be '{}'", value, text), text,
                              choices));
    }
  };
}

void Command::optional_argument(std::string value, std::string& target, std::string help) {
  argument(std::move(value), target, std::move(help));
  options_.back().required = false;
}

void Command::arguments(std::string value, std::vector<std::string>& target, std::string help) {
  Option& option = add(value, value, std::move(help));
  option.positional = option.required = option.many = true;
  option.take = [&target](const std::string& text, ErrorList&) { target.push_back(text); };
}

void Command::optional_arguments(std::string value, std::vector<std::string>& target,
                                 std::string help) {
  arguments(std::move(value), target, std::move(help));
  options_.back().required = false;
}

void Command::rest(std::string value, std::vector<std::string>& target, std::string help) {
  rest_value_ = std::move(value);
  rest_help_ = std::move(help);
  rest_ = &target;
}

// "--files a b" as "--files a --files b".
std::vector<std::string> Command::one_value_each(const std::vector<std::string>& words) const {
  std::vector<std::string> result;
  const Option* open = nullptr;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") {
      result.insert(result.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
      break;
    }
    if (looks_like_option(words[i])) {
      const Option* option = find(before_equals(words[i]));
      open = option != nullptr && option->greedy ? option : nullptr;
      result.push_back(words[i]);
      if (open != nullptr && words[i] == before_equals(words[i]) && i + 1 < words.size() &&
          !looks_like_option(words[i + 1]))
        result.push_back(words[++i]);
      continue;
    }
    if (open != nullptr) result.push_back(open->long_name());
    result.push_back(words[i]);
  }
  return result;
}

const Command::Option* Command::find(std::string_view name) const {
  for (const Option& option : options_) {
    if (!option.positional && option.is(name)) return &option;
  }
  return nullptr;
}

std::vector<std::string> Command::option_names() const {
  std::vector<std::string> names = {"--help"};
  for (const Option& option : options_) {
    if (!option.positional) names.push_back(option.long_name());
  }
  return names;
}

bool Command::asks_for_help(const std::vector<std::string>& words) const {
  for (const std::string& word : words) {
    if (word == "--") return false;
    if (word == "-h" || word == "--help") return true;
  }
  return false;
}

// Finds every unknown option before CLI11 stops at the first thing it dislikes.
void Command::check_names(const std::vector<std::string>& words, ErrorList& errors) const {
  for (size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    if (!looks_like_option(words[i])) continue;
    const bool is_long = words[i].starts_with("--");
    // A short option may carry its value: -oFILE.
    const std::string name = is_long ? std::string(before_equals(words[i])) : words[i].substr(0, 2);
    const Option* option = find(name);
    if (option == nullptr) {
      const std::string& word = is_long ? name : words[i];
      errors.add(unknown_word("cli.unknown-option",
                              fmt::format("nereus {} has no option {}", name_, word), word,
                              option_names()));
    } else if (!option->value.empty() && words[i] == name + "=") {
      errors.add("cli.bad-value", fmt::format("{} is given an empty value", name), {},
                 fmt::format("{} {}", name, option->value));
    } else if (!option->value.empty() && words[i] == name) {
      if (i + 1 == words.size() || looks_like_option(words[i + 1])) {
        errors.add("cli.missing-value", fmt::format("{} needs a value", name), {},
                   fmt::format("{} {}", name, option->value));
      } else {
        ++i;
      }
    } else if (option->value.empty() && !option->may_equal && words[i] != name) {
      errors.add("cli.bad-value", fmt::format("{} takes no value", name));
    }
  }
}

void Command::parse(const std::vector<std::string>& given_words) const {
  ErrorList errors;
  std::vector<std::string> words = one_value_each(given_words);
  if (const auto dashes = std::find(words.begin(), words.end(), "--");
      rest_ != nullptr && dashes != words.end()) {
    rest_->assign(dashes + 1, words.end());
    words.erase(dashes, words.end());
    if (rest_->empty())
      errors.add("cli.missing-argument",
                 fmt::format("{} is missing after --: {}", rest_value_, rest_help_), {}, usage());
  }
  check_names(words, errors);
  errors.throw_if_any();

  CLI::App parser;
  parser.set_help_flag();
  parser.allow_extras();
  std::vector<std::vector<std::string>> given(options_.size());
  for (size_t i = 0; i < options_.size(); ++i) {
    const Option& option = options_[i];
    if (option.value.empty()) {
      parser.add_flag_function(option.names, [](std::int64_t) {})
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    } else if (option.positional) {
      if (option.many) {
        parser.add_option(option.names, given[i]);
      } else {
        parser.add_option_function<std::string>(
            option.names, [&given, i](const std::string& text) { given[i] = {text}; });
      }
    } else {
      parser.add_option(option.names, given[i])->expected(1)->take_all()->allow_extra_args(false);
    }
  }
  std::vector<std::string> reversed(words.rbegin(), words.rend());
  try {
    parser.parse(std::move(reversed));
  } catch (const CLI::ParseError& error) {
    throw_input_error("cli.usage", error.what(), {}, fmt::format("nereus {} --help", name_));
  } catch (const std::logic_error&) {
    // CLI11 turns the value of a flag into a number without looking.
    throw_input_error("cli.bad-value", "a flag is given a value that is neither on nor off", {},
                      "--flag, --flag=on or --flag=off");
  }
  for (const std::string& extra : parser.remaining()) {
    errors.add("cli.unexpected-argument", fmt::format("unexpected argument '{}'", extra), {},
               usage());
  }
  for (size_t i = 0; i < options_.size(); ++i) {
    const Option& option = options_[i];
    std::vector<std::string>& values = given[i];
    if (option.value.empty()) {
      values = parser.get_option(option.long_name())->results();
    }
    if (values.empty() && option.required) {
      errors.add("cli.missing-argument",
                 fmt::format("{} is missing: {}", option.value, option.help), {}, usage());
    }
    if (values.size() > 1 && !option.many && !option.value.empty()) {
      errors.add("cli.repeated", fmt::format("{} is given {} times", option.names, values.size()));
      continue;
    }
    for (const std::string& value : values) option.take(value, errors);
  }
  errors.throw_if_any();
}

std::string Command::usage() const {
  std::string line = "nereus " + name_;
  bool has_options = false;
  for (const Option& option : options_) {
    if (!option.positional) {
      has_options = true;
      continue;
    }
    const std::string value = option.value + (option.many ? "..." : "");
    line += option.required ? " " + value : " [" + value + "]";
  }
  if (has_options) line += " [options]";
  return rest_ != nullptr ? line + " [-- " + rest_value_ + "...]" : line;
}

std::string Command::help(int width) const {
  constexpr int kIndent = 26;
  if (width <= 0) width = 100;
  const int text_width = std::max(20, width - kIndent);
  const auto describe = [&](const std::string& left, const std::string& text) {
    const std::string body = wrapped(text, text_width, kIndent);
    const int gap = kIndent - 2 - display_width(left);
    return gap >= 2 ? fmt::format("  {}{:{}}{}\n", left, "", gap, body)
                    : fmt::format("  {}\n{:{}}{}\n", left, "", kIndent, body);
  };
  std::string out = fmt::format("nereus {}: {}\n\nUsage: {}\n", name_, summary_, usage());
  if (!about_.empty()) out += "\n" + wrapped(about_, width) + "\n";
  std::vector<std::string> groups;
  std::map<std::string, std::string> lines;
  for (const Option& option : options_) {
    const std::string title = option.positional ? "Arguments" : option.group;
    if (!lines.contains(title)) groups.push_back(title);
    std::string left = option.names;
    if (const size_t comma = left.find(','); comma != std::string::npos)
      left.insert(comma + 1, " ");
    if (!option.positional && !option.value.empty()) left += " " + option.value;
    lines[title] += describe(left, option.help + (option.many ? " (may be repeated)" : ""));
  }
  if (rest_ != nullptr) {
    if (!lines.contains("Arguments")) groups.emplace_back("Arguments");
    lines["Arguments"] += describe("-- " + rest_value_, rest_help_);
  }
  for (const std::string& title : groups) out += fmt::format("\n{}:\n{}", title, lines[title]);
  if (!examples_.empty()) out += "\nExamples:\n";
  for (const auto& [line, what] : examples_) out += fmt::format("  {}\n      {}\n", line, what);
  return out;
}

}  // namespace nereus::cli
