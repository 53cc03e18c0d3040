#include <fmt/format.h>

#include "checkpoint/manifest.hpp"
#include "plan/plan_json.hpp"
#include "spec/value.hpp"

namespace nereus::checkpoint {

namespace {

using spec::Table;
using spec::Value;

Value make(std::string_view text) { return {.data = std::string(text)}; }
Value make(std::int64_t number) { return {.data = number}; }
Value make(double number) { return {.data = number}; }
Value make(const Shape& shape) {
  spec::Array array;
  for (const std::int64_t length : shape) array.push_back({.data = length});
  return {.data = std::move(array)};
}

std::string hex_bytes(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

Value to_value(const StoredFile& file) {
  Table table;
  table.emplace_back("name", make(file.name));
  table.emplace_back("size", make(static_cast<std::int64_t>(file.size)));
  table.emplace_back("checksum", make(to_hex(file.checksum)));
  return {.data = std::move(table)};
}

Value to_value(const Piece& piece) {
  Table table;
  table.emplace_back("file", make(piece.file));
  table.emplace_back("name", make(piece.name));
  table.emplace_back("slice", make(std::int64_t{piece.part.slice}));
  table.emplace_back("of", make(std::int64_t{piece.part.of}));
  table.emplace_back("dim", make(std::int64_t{piece.part.dim}));
  table.emplace_back("groups", make(std::int64_t{piece.part.groups}));
  table.emplace_back("begin", make(piece.begin));
  table.emplace_back("end", make(piece.end));
  table.emplace_back("checksum", make(to_hex(piece.checksum)));
  return {.data = std::move(table)};
}

Value to_value(const LogicalTensor& tensor) {
  Table table;
  table.emplace_back("name", make(tensor.name));
  table.emplace_back("kind", make(to_string(tensor.kind)));
  table.emplace_back("dtype", make(to_string(tensor.dtype)));
  table.emplace_back("shape", make(tensor.shape));
  spec::Array pieces;
  for (const Piece& piece : tensor.pieces) pieces.push_back(to_value(piece));
  table.emplace_back("pieces", Value{.data = std::move(pieces)});
  return {.data = std::move(table)};
}

// One a line, so that a place in an error means something.
template <class T>
std::string list_of(const std::vector<T>& items) {
  std::string text = "[";
  for (const T& item : items) {
    text += &item == items.data() ? "\n " : ",\n ";
    text += spec::to_json(to_value(item));
  }
  return text + "]";
}

std::string optimizer_json(const Progress& progress) {
  Table values;
  for (const auto& [name, number] : progress.optimizer_values)
    values.emplace_back(name, make(number));
  Table table;
  table.emplace_back("kind", make(progress.optimizer));
  table.emplace_back("values", Value{.data = std::move(values)});
  return spec::to_json({.data = std::move(table)});
}

std::string notes_json(const Progress& progress) {
  Table notes;
  for (const auto& [name, text] : progress.notes) notes.emplace_back(name, make(text));
  return spec::to_json({.data = std::move(notes)});
}

}  // namespace

std::string seal(std::string body) {
  const std::string checksum = to_hex(xxh64(body));
  return std::move(body) + fmt::format("\"checksum\": \"{}\"}}\n", checksum);
}

std::string manifest_to_json(const Manifest& manifest) {
  const Progress& progress = manifest.progress;
  std::string plan_text = plan::plan_to_json(manifest.plan);
  while (plan_text.ends_with('\n')) plan_text.pop_back();
  return seal(
      fmt::format("{{\"schema_version\": {},\n"
                  "\"step\": {},\n"
                  "\"samples\": {},\n"
                  "\"seed\": \"{}\",\n"  // a string: JSON's readers keep 53 or 63 bits
                  "\"random_state\": \"{}\",\n"
                  "\"optimizer\": {},\n"
                  "\"notes\": {},\n"
                  "\"plan\": {},\n"
                  "\"files\": {},\n"
                  "\"tensors\": {},\n",
                  kManifestSchemaVersion, progress.step, progress.samples, progress.seed,
                  hex_bytes(progress.random_state), optimizer_json(progress), notes_json(progress),
                  plan_text, list_of(manifest.files), list_of(manifest.tensors)));
}

std::string report_to_json(const RankReport& report) {
  return fmt::format("{{\"error\": {},\n\"files\": {},\n\"tensors\": {}}}\n",
                     spec::to_json(make(report.error)), list_of(report.files),
                     list_of(report.tensors));
}

}  // namespace nereus::checkpoint
