#include "cli/text/parse_words.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

namespace nereus::cli {

namespace {

using api::Command;
using api::FieldKind;
using api::Option;
using api::unknown_word;

bool looks_like_option(std::string_view word) {
  // "-" is stdin, "-3" and "-.5" are numbers.
  return word.size() > 1 && word[0] == '-' && (word[1] < '0' || word[1] > '9') && word[1] != '.';
}

std::string_view before_equals(std::string_view word) { return word.substr(0, word.find('=')); }

// "--files a b" as "--files a --files b".
std::vector<std::string> one_value_each(Command& command, const std::vector<std::string>& words) {
  std::vector<std::string> result;
  const Option* open = nullptr;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") {
      result.insert(result.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
      break;
    }
    if (looks_like_option(words[i])) {
      const Option* option = command.find(before_equals(words[i]));
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

// Finds every unknown option before CLI11 stops at the first thing it dislikes.
void check_names(Command& command, const std::vector<std::string>& words, ErrorList& errors) {
  for (size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    if (!looks_like_option(words[i])) continue;
    const bool is_long = words[i].starts_with("--");
    // A short option may carry its value: -oFILE.
    const std::string name = is_long ? std::string(before_equals(words[i])) : words[i].substr(0, 2);
    const Option* option = command.find(name);
    if (option == nullptr) {
      const std::string& word = is_long ? name : words[i];
      errors.add(unknown_word("cli.unknown-option",
                              fmt::format("nereus {} has no option {}", command.name(), word), word,
                              command.option_names()));
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
    } else if (option->value.empty() && option->kind != FieldKind::kToggle && words[i] != name) {
      errors.add("cli.bad-value", fmt::format("{} takes no value", name));
    }
  }
}

}  // namespace

bool asks_for_help(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--") return false;
    if (word == "-h" || word == "--help") return true;
  }
  return false;
}

void parse_words(Command& command, const std::vector<std::string>& given_words) {
  ErrorList errors;
  std::vector<std::string> words = one_value_each(command, given_words);
  std::vector<std::string>* const rest = command.rest_target();
  if (const auto dashes = std::find(words.begin(), words.end(), "--");
      rest != nullptr && dashes != words.end()) {
    rest->assign(dashes + 1, words.end());
    words.erase(dashes, words.end());
    if (rest->empty())
      errors.add(
          "cli.missing-argument",
          fmt::format("{} is missing after --: {}", command.rest_value(), command.rest_help()), {},
          command.usage());
  }
  check_names(command, words, errors);
  errors.throw_if_any();

  std::vector<Option>& options = command.options();
  CLI::App parser;
  parser.set_help_flag();
  parser.allow_extras();
  std::vector<std::vector<std::string>> given(options.size());
  for (size_t i = 0; i < options.size(); ++i) {
    const Option& option = options[i];
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
    throw_input_error("cli.usage", error.what(), {},
                      fmt::format("nereus {} --help", command.name()));
  } catch (const std::logic_error&) {
    // CLI11 turns the value of a flag into a number without looking.
    throw_input_error("cli.bad-value", "a flag is given a value that is neither on nor off", {},
                      "--flag, --flag=on or --flag=off");
  }
  for (const std::string& extra : parser.remaining()) {
    errors.add("cli.unexpected-argument", fmt::format("unexpected argument '{}'", extra), {},
               command.usage());
  }
  for (size_t i = 0; i < options.size(); ++i) {
    Option& option = options[i];
    std::vector<std::string>& values = given[i];
    if (option.value.empty()) {
      values = parser.get_option(option.long_name())->results();
    }
    if (values.empty() && option.required) {
      errors.add("cli.missing-argument",
                 fmt::format("{} is missing: {}", option.value, option.help), {}, command.usage());
    }
    if (values.size() > 1 && !option.many && !option.value.empty()) {
      errors.add("cli.repeated", fmt::format("{} is given {} times", option.names, values.size()));
      continue;
    }
    for (const std::string& value : values) command.give(option, value, errors);
  }
  errors.throw_if_any();
}

}  // namespace nereus::cli
