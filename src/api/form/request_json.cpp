#include "api/form/request_json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <cmath>

#include "base/parse_number.hpp"

namespace nereus::api {

namespace {

constexpr const char* kRest = "command";  // words after "--"

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

const char* expected(const Option& option) {
  switch (option.kind) {
    case FieldKind::kFlag:
    case FieldKind::kToggle:
      return "true or false";
    case FieldKind::kWhole:
      return "a whole number";
    case FieldKind::kNumber:
      return "a number";
    case FieldKind::kList:
      return "an array, or text as in \"1,2,4\"";
    case FieldKind::kQuantity:
      return "text with a unit, or a number in SI units";
    case FieldKind::kPairs:
      return "an object, or text NAME=VALUE";
    case FieldKind::kText:
    case FieldKind::kChoice:
      return option.many ? "text, or an array of texts" : "text";
  }
  return "";
}

// A text, a number or a truth value as a word of a command line; none for anything else.
std::optional<std::string> word_of(const Option& option, const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (!value.is_number()) return std::nullopt;
  if (option.kind == FieldKind::kQuantity) return option.write(value.get<double>());
  return value.dump();
}

// The words of a value; empty if it has the wrong kind.
std::optional<std::vector<std::string>> words_of(const Option& option, const Json& value) {
  const bool truth = option.kind == FieldKind::kFlag || option.kind == FieldKind::kToggle;
  if (truth != value.is_boolean() && !(value.is_string() && option.kind == FieldKind::kToggle))
    return std::nullopt;
  if (option.kind == FieldKind::kFlag)
    return value.get<bool>() ? std::vector<std::string>{""} : std::vector<std::string>{};
  const bool number = option.kind == FieldKind::kWhole || option.kind == FieldKind::kNumber;
  if (number && !value.is_number()) return std::nullopt;
  std::vector<std::string> words;
  if (value.is_object()) {
    if (option.kind != FieldKind::kPairs && !option.many) return std::nullopt;
    for (const auto& [name, own] : value.items()) {
      const auto word = word_of(option, own);
      if (!word) return std::nullopt;
      words.push_back(fmt::format("{}={}", name, *word));
    }
    return words;
  }
  if (!value.is_array()) {
    const auto word = word_of(option, value);
    if (!word) return std::nullopt;
    return std::vector<std::string>{*word};
  }
  if (option.kind != FieldKind::kList && !option.many) return std::nullopt;
  for (const Json& own : value) {
    const auto word = word_of(option, own);
    if (!word) return std::nullopt;
    words.push_back(*word);
  }
  if (option.kind == FieldKind::kList)
    return std::vector<std::string>{fmt::format("{}", fmt::join(words, ","))};
  return words;
}

void fill_field(const Command& command, Option& option, const Json& value, ErrorList& errors) {
  const auto words = words_of(option, value);
  if (!words) {
    errors.add({"api.bad-value",
                fmt::format("{} takes {}, not {}", option.key(), expected(option), value.dump()),
                {option.key()}});
    return;
  }
  if (words->size() > 1 && !option.many)
    errors.add({"api.bad-value", fmt::format("{} takes one value", option.key()), {option.key()}});
  else
    for (const std::string& word : *words) {
      ErrorList own;
      command.give(option, word, own);
      for (Error error : own.list()) {
        if (error.where.file.empty()) error.where.file = option.key();
        errors.add(std::move(error));
      }
    }
}

void fill_rest(const Command& command, const Json& value, ErrorList& errors) {
  bool texts = value.is_array() && !value.empty();
  if (texts)
    for (const Json& own : value) texts = texts && own.is_string();
  if (texts)
    *command.rest_target() = value.get<std::vector<std::string>>();
  else
    errors.add({"api.bad-value", "command takes an array of words", {kRest}});
}

Json value_json(const Option& option, const std::string& text) {
  switch (option.kind) {
    case FieldKind::kFlag:
      return true;
    case FieldKind::kToggle:
      return text == "true" || text == "on" || text == "yes";
    case FieldKind::kWhole:
      if (const auto number = parse_number<std::int64_t>(text)) return *number;
      return text;
    case FieldKind::kNumber:
      if (const auto number = parse_number<double>(text)) return *number;
      return text;
    default:
      return text;
  }
}

Json type_schema(const Option& option) {
  Json text = {{"type", "string"}};
  switch (option.kind) {
    case FieldKind::kFlag:
    case FieldKind::kToggle:
      return {{"type", "boolean"}};
    case FieldKind::kWhole:
      return {{"type", "integer"}, {"minimum", option.least}};
    case FieldKind::kNumber:
      return {{"type", "number"}};
    case FieldKind::kChoice:
      return {{"enum", option.words}};
    case FieldKind::kQuantity:
      return {{"type", {"string", "number"}}};
    case FieldKind::kList:
      return {{"type", {"array", "string", "integer"}},
              {"items", {{"type", {"integer", "string"}}}}};
    case FieldKind::kPairs:
      return {{"type", {"object", "string", "array"}},
              {"items", text},
              {"additionalProperties", {{"type", {"string", "number", "boolean"}}}}};
    case FieldKind::kText:
      break;
  }
  if (!option.many) return text;
  return {{"type", {"array", "string"}}, {"items", text}};
}

}  // namespace

void fill(Command& command, const Json& request) {
  if (!request.is_object())
    throw_input_error("api.bad-request", "a request must be a JSON object", {},
                      R"({"model": "llama3-8b", "cluster": "4xdgx-h100"})");
  ErrorList errors;
  std::vector<std::string> known;
  for (const Option& option : command.options())
    if (!option.of_words) known.push_back(option.key());
  if (command.rest_target() != nullptr) known.emplace_back(kRest);
  for (const auto& [name, value] : request.items()) {
    if (value.is_null()) continue;  // as if it were not there
    if (name == kRest && command.rest_target() != nullptr) {
      fill_rest(command, value, errors);
      continue;
    }
    Option* field = nullptr;
    for (Option& option : command.options())
      if (!option.of_words && option.key() == name) field = &option;
    if (field != nullptr) {
      fill_field(command, *field, value, errors);
      continue;
    }
    Error unknown =
        unknown_word("api.unknown-field", fmt::format("{} has no field '{}'", command.name(), name),
                     lower(name), known);
    unknown.where.file = name;
    errors.add(std::move(unknown));
  }
  for (const Option& option : command.options())
    if (option.required && option.given.empty() && !request.contains(option.key()))
      errors.add({"api.missing-field",
                  fmt::format("{} is missing: {}", option.key(), option.help),
                  {option.key()}});
  errors.throw_if_any();
}

Json request_json(const Command& command) {
  Json request = Json::object();
  for (const Option& option : command.options()) {
    if (option.given.empty() || option.of_words) continue;
    if (!option.many || option.given.size() == 1) {
      request[option.key()] = value_json(option, option.given.back());
      continue;
    }
    Json& values = request[option.key()] = Json::array();
    for (const std::string& text : option.given) values.push_back(value_json(option, text));
  }
  if (command.rest_target() != nullptr && !command.rest_target()->empty())
    request[kRest] = *command.rest_target();
  return request;
}

Json request_schema(const Command& command) {
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                 {"title", fmt::format("{} request", command.name())},
                 {"description", command.summary()},
                 {"type", "object"},
                 {"properties", Json::object()},
                 {"additionalProperties", false}};
  Json required = Json::array();
  for (const Option& option : command.options()) {
    if (option.of_words) continue;
    Json field = type_schema(option);
    field["description"] = option.help;
    schema["properties"][option.key()] = std::move(field);
    if (option.required) required.push_back(option.key());
  }
  if (command.rest_target() != nullptr)
    schema["properties"][kRest] = {
        {"type", "array"}, {"items", {{"type", "string"}}}, {"description", command.rest_help()}};
  if (!required.empty()) schema["required"] = std::move(required);
  return schema;
}

}  // namespace nereus::api
