#include "api/form/command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <limits>

#include "base/nearest.hpp"
#include "base/parse_number.hpp"

namespace nereus::api {

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

bool Option::is(std::string_view name) const {
  const std::string all = "," + names + ",";
  return all.find("," + std::string(name) + ",") != std::string::npos;
}

std::string Option::long_name() const {
  const size_t dashes = names.find("--");
  return dashes == std::string::npos ? names : names.substr(dashes);
}

std::string Option::key() const {
  std::string key;
  for (const char c : positional ? value : long_name().substr(2)) {
    if (c == '.') break;
    key += c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return key;
}

Command::Command(std::string name, std::string summary)
    : name_(std::move(name)), summary_(std::move(summary)) {}

void Command::about(std::string text) { about_ = std::move(text); }
void Command::example(std::string line, std::string what) {
  examples_.emplace_back(std::move(line), std::move(what));
}
void Command::group(std::string title) { group_ = std::move(title); }

Option& Command::add(std::string names, std::string value, FieldKind kind, std::string help) {
  Option& option = options_.emplace_back();
  option.kind = kind;
  option.names = std::move(names);
  option.value = std::move(value);
  option.help = std::move(help);
  option.group = group_;
  return option;
}

void Command::flag(std::string names, bool& target, std::string help) {
  add(std::move(names), "", FieldKind::kFlag, std::move(help)).take =
      [&target](const std::string&, ErrorList&) { target = true; };
}

void Command::toggle(std::string names, std::optional<bool>& target, std::string help) {
  Option& option = add(std::move(names), "", FieldKind::kToggle, std::move(help));
  const std::string name = option.long_name();
  option.take = [&target, name](const std::string& text, ErrorList& errors) {
    if (text == "true" || text == "on" || text == "yes") {
      target = true;
    } else if (text == "false" || text == "off" || text == "no") {
      target = false;
    } else {
      errors.add("cli.bad-value", fmt::format("{} takes on or off, not '{}'", name, text), {},
                 fmt::format("{0} or {0}=off", name));
    }
  };
}

void Command::text(std::string names, std::string value, std::string& target, std::string help) {
  Option& option = add(std::move(names), std::move(value), FieldKind::kText, std::move(help));
  const std::string name = option.long_name();
  option.take = [&target, name](const std::string& text, ErrorList& errors) {
    if (text.empty()) errors.add("cli.bad-value", fmt::format("{} is given an empty value", name));
    target = text;
  };
}

void Command::texts(std::string names, std::string value, std::vector<std::string>& target,
                    std::string help) {
  Option& option = add(std::move(names), std::move(value), FieldKind::kText, std::move(help));
  option.many = true;
  option.take = [&target](const std::string& text, ErrorList&) { target.push_back(text); };
}

void Command::files(std::string names, std::string value, std::vector<std::string>& target,
                    std::string help) {
  texts(std::move(names), std::move(value), target, std::move(help));
  options_.back().greedy = true;
}

void Command::whole(std::string names, std::optional<int>& target, int least, std::string help) {
  Option& option = add(std::move(names), "N", FieldKind::kWhole, std::move(help));
  option.least = least;
  const std::string name = option.long_name();
  option.take = [&target, least, name](const std::string& text, ErrorList& errors) {
    const std::optional<int> number = parse_number<int>(text);
    if (number && *number >= least) {
      target = number;
      return;
    }
    // If a number is too small or invalid, the upper limit is not interesting.
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
  Option& option = add(std::move(names), "X", FieldKind::kNumber, std::move(help));
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
  Option& option = add(std::move(names), fmt::format("{}", fmt::join(words, "|")),
                       FieldKind::kChoice, std::move(help));
  option.words = words;
  const std::string name = option.long_name();
  option.take = [choices = std::move(choices), words = std::move(words), name](
                    const std::string& text, ErrorList& errors) {
    for (const Choice& choice : choices) {
      if (choice.word == text) return choice.take();
    }
    errors.add(unknown_word("cli.bad-value", fmt::format("{} does not accept '{}'", name, text),
                            text, words));
  };
}

void Command::custom(std::string names, std::string value, Take take, std::string help) {
  Option& option = add(std::move(names), std::move(value), FieldKind::kText, std::move(help));
  option.many = true;
  option.take = std::move(take);
}

void Command::list(std::string names, Take take, std::string help) {
  custom(std::move(names), "LIST", std::move(take), std::move(help));
  options_.back().kind = FieldKind::kList;
}

void Command::pairs(std::string names, std::string value, Take take, std::string help) {
  custom(std::move(names), std::move(value), std::move(take), std::move(help));
  options_.back().kind = FieldKind::kPairs;
}

void Command::quantity(std::string names, std::string value,
                       std::function<std::string(double)> write, Take take, std::string help) {
  custom(std::move(names), std::move(value), std::move(take), std::move(help));
  options_.back().kind = FieldKind::kQuantity;
  options_.back().write = std::move(write);
}

void Command::of_words() { options_.back().of_words = true; }

void Command::give(Option& option, const std::string& text, ErrorList& errors) const {
  option.given.push_back(text);
  option.take(text, errors);
}

void Command::argument(std::string value, std::string& target, std::string help,
                       std::vector<std::string> choices) {
  Option& option = add(value, value, FieldKind::kText, std::move(help));
  option.positional = option.required = true;
  if (!choices.empty()) option.kind = FieldKind::kChoice;
  option.words = choices;
  option.take = [&target, value, choices = std::move(choices)](const std::string& text,
                                                               ErrorList& errors) {
    target = text;
    for (const std::string& choice : choices) {
      if (choice == text) return;
    }
    if (!choices.empty()) {
      errors.add(unknown_word("cli.bad-value", fmt::format("{} does not accept '{}'", value, text),
                              text, choices));
    }
  };
}

void Command::optional_argument(std::string value, std::string& target, std::string help,
                                std::vector<std::string> choices) {
  argument(std::move(value), target, std::move(help), std::move(choices));
  options_.back().required = false;
}

void Command::arguments(std::string value, std::vector<std::string>& target, std::string help) {
  Option& option = add(value, value, FieldKind::kText, std::move(help));
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

Option* Command::find(std::string_view name) {
  for (Option& option : options_) {
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

}  // namespace nereus::api
