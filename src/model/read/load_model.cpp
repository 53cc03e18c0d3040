#include "model/read/load_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <unordered_map>

#include "base/embedded.hpp"
#include "base/error.hpp"
#include "base/nearest.hpp"
#include "model/model_io.hpp"
#include "model/read/import_hf.hpp"
#include "model/read/import_onnx.hpp"
#include "model/script_model.hpp"
#include "spec/csv.hpp"
#include "spec/fields.hpp"
#include "spec/reader.hpp"

namespace nereus::model {

namespace {

std::string text_of(const spec::Value& table, std::string_view key) {
  const spec::Value* value = table.find(key);
  const auto* text = value != nullptr ? std::get_if<std::string>(&value->data) : nullptr;
  return text != nullptr ? *text : "";
}

const spec::Value* find_named(const std::vector<spec::Value>& tables, std::string_view name) {
  for (const spec::Value& table : tables)
    if (text_of(table, "name") == name) return &table;
  return nullptr;
}

// The keys of `table` over those of `entry`.
spec::Value merge(spec::Value table, const spec::Value& entry) {
  spec::Value merged = entry;
  merged.source = table.source;
  merged.line = table.line;
  merged.column = table.column;
  auto& target = std::get<spec::Table>(merged.data);
  for (spec::Member& member : std::get<spec::Table>(table.data)) {
    if (member.first == "base") continue;
    const auto at = std::find_if(target.begin(), target.end(),
                                 [&](const spec::Member& m) { return m.first == member.first; });
    if (at == target.end()) {
      target.push_back(std::move(member));
    } else {
      at->second = std::move(member.second);
    }
  }
  return merged;
}

// The [[model]] tables of every catalogue file; `base` names an earlier one that a table changes.
const std::vector<spec::Value>& catalogue_tables() {
  static const std::vector<spec::Value> kTables = [] {
    std::vector<spec::Value> list;
    for (const EmbeddedFile& file : embedded_files()) {
      if (!file.path.starts_with("catalog/models/") || !file.path.ends_with(".toml")) continue;
      const spec::Value root = spec::parse_toml(file.text, std::string(file.path));
      const spec::Value* models = root.find("model");
      NEREUS_CHECK(models != nullptr && std::holds_alternative<spec::Array>(models->data),
                   "a catalogue file holds [[model]] tables");
      for (const spec::Value& model : std::get<spec::Array>(models->data)) {
        if (model.find("base") == nullptr) {
          list.push_back(model);
          continue;
        }
        const spec::Value* base = find_named(list, text_of(model, "base"));
        NEREUS_CHECK(base != nullptr, "a base stands before the entries that change it");
        list.push_back(merge(model, *base));
      }
    }
    return list;
  }();
  return kTables;
}

// Letters and digits only, in lower case: "Qwen3_30B_a3B" and "qwen3-30b-a3b" are one name.
std::string plain(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

const spec::Value* find_in_catalogue(std::string_view name) {
  if (const spec::Value* exact = find_named(catalogue_tables(), name)) return exact;
  const std::string* known = catalogue_name(name);
  return known == nullptr ? nullptr : find_named(catalogue_tables(), *known);
}

[[noreturn]] void unknown_model(std::string_view name, Where where = {}) {
  const auto near = nearest(name, catalogue_model_names());
  throw_input_error(
      "model.unknown",
      fmt::format("no model of the catalogue is called \"{}\", and no file either", name),
      std::move(where),
      near ? fmt::format("did you mean \"{}\"?", *near)
           : "`nereus catalog models` lists the names; files end in .toml, .yaml, .json or .onnx");
}

// "model.layers" and "layers" mean the same.
std::string_view without_prefix(std::string_view path) {
  constexpr std::string_view kPrefix = "model.";
  return path.starts_with(kPrefix) ? path.substr(kPrefix.size()) : path;
}

// `base` names a catalogue entry whose keys the table's own replace.
spec::Value with_base(spec::Value table) {
  const spec::Value* base = table.find("base");
  if (!std::holds_alternative<spec::Table>(table.data) || base == nullptr) return table;
  const std::string name = text_of(table, "base");
  const spec::Value* entry = find_in_catalogue(name);
  if (entry == nullptr) unknown_model(name, base->where());
  return merge(std::move(table), *entry);
}

Model build(spec::Value table, const Overrides& overrides, const std::string& default_name) {
  for (const auto& [path, text] : overrides) spec::set_path(table, without_prefix(path), text);
  if (auto* members = std::get_if<spec::Table>(&table.data);
      members != nullptr && table.find("name") == nullptr)
    members->emplace_back("name", spec::put_value(default_name));
  ErrorList errors;
  Model model = model_from_value(table, errors);
  errors.throw_if_any();
  return model;
}

Model build_onnx(std::string_view bytes, const std::string& file, const Overrides& overrides) {
  spec::Value table{.data = spec::Table{}};
  for (const auto& [path, text] : overrides) spec::set_path(table, without_prefix(path), text);
  ErrorList errors;
  spec::Reader reader(table, errors);
  constexpr std::int64_t kLongest = 1'000'000'000;
  OnnxOptions options;
  options.seq = reader.optional_int64("seq", 0, 1, kLongest);
  const std::string name = reader.optional_string("name");
  spec::Reader dims = reader.optional_table("dims");
  if (dims.present())
    for (std::string_view key : dims.keys())
      options.dims.emplace_back(std::string(key), dims.required_int64(key, 1, kLongest));
  reader.finish();
  errors.throw_if_any();
  Model model = import_onnx(bytes, file, options);
  if (!name.empty()) model.name = name;
  return model;
}

std::string extension_of(const std::string& file) {
  std::string extension = std::filesystem::path(file).extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension;
}

spec::Value parse(std::string_view text, const std::string& file) {
  const std::string extension = extension_of(file);
  if (extension == ".toml") return spec::parse_toml(text, file);
  if (extension == ".yaml" || extension == ".yml") return spec::parse_yaml(text, file);
  if (extension == ".json") return spec::parse_json(text, file);
  throw_input_error("model.format",
                    fmt::format("\"{}\" is no kind of file that holds a model", extension),
                    {.file = file}, ".toml, .yaml, .json or .onnx");
}

// A file is the table itself, or has it under [model].
spec::Value model_table(spec::Value root) {
  const spec::Value* inner = root.find("model");
  if (inner == nullptr) return root;
  ErrorList errors;
  spec::Reader reader(root, errors);
  reader.required_table("model");
  reader.finish();
  errors.throw_if_any();
  return *inner;
}

}  // namespace

const std::vector<CatalogueModel>& catalogue_models() {
  static const std::vector<CatalogueModel> kModels = [] {
    std::vector<CatalogueModel> list;
    for (const spec::Value& table : catalogue_tables())
      list.push_back({text_of(table, "name"), text_of(table, "family"), text_of(table, "source")});
    return list;
  }();
  return kModels;
}

const std::string* catalogue_name(std::string_view written) {
  static const auto kNames = [] {
    std::unordered_map<std::string, std::string> names;
    for (const CatalogueModel& model : catalogue_models())
      names.emplace(plain(model.name), model.name);
    for (const EmbeddedFile& file : embedded_files()) {
      if (file.path != "catalog/models/aliases.csv") continue;
      const spec::Csv csv = spec::parse_csv(file.text, std::string(file.path));
      const int alias = csv.find("name_in_tables");
      const int canonical = csv.find("model");
      for (const spec::CsvRow& row : csv.rows)
        names.emplace(plain(csv.cell(row, alias)), csv.cell(row, canonical));
    }
    return names;
  }();
  const auto found = kNames.find(plain(written));
  return found == kNames.end() ? nullptr : &found->second;
}

std::vector<std::string> catalogue_model_names() {
  std::vector<std::string> names;
  for (const CatalogueModel& model : catalogue_models()) names.push_back(model.name);
  return names;
}

Model load_model_text(std::string_view text, const std::string& file, const Overrides& overrides) {
  if (extension_of(file) == ".onnx") return build_onnx(text, file, overrides);
  const spec::Value root = parse(text, file);
  const std::filesystem::path path(file);
  if (root.find("nereus_export") != nullptr) {
    if (!overrides.empty())
      throw_input_error("model.fixed",
                        fmt::format("{} = {}: an exported model is as it is",
                                    overrides.front().first, overrides.front().second),
                        {file}, "change it in Python and export it again");
    return build_script(script_from_value(root, path.parent_path().string()));
  }
  if (root.find("model_type") != nullptr) {
    // A config.json is best known by its folder.
    const std::string name = text_of(root, "_name_or_path");
    const std::string folder = path.parent_path().filename().string();
    return build(import_hf(root), overrides,
                 !name.empty()     ? name
                 : !folder.empty() ? folder
                                   : text_of(root, "model_type"));
  }
  return build(with_base(model_table(root)), overrides, path.stem().string());
}

Model load_model(std::string_view name_or_path, const Overrides& overrides) {
  if (const spec::Value* table = find_in_catalogue(name_or_path))
    return build(*table, overrides, "");
  std::string path(name_or_path);
  if (is_script_folder(path)) path = (std::filesystem::path(path) / "model.json").string();
  std::error_code ignored;
  const bool looks_like_file = path.find('/') != std::string::npos ||
                               std::filesystem::exists(path, ignored) ||
                               extension_of(path) == ".onnx" || extension_of(path) == ".toml" ||
                               extension_of(path) == ".yaml" || extension_of(path) == ".yml" ||
                               extension_of(path) == ".json";
  if (!looks_like_file) unknown_model(name_or_path);
  return load_model_text(spec::read_text_file(path), path, overrides);
}

}  // namespace nereus::model
