// Manifests and reports into JSON and out of it.
#include <fmt/format.h>

#include <charconv>

#include "checkpoint/manifest.hpp"
#include "plan/plan_json.hpp"
#include "spec/fields.hpp"

namespace nereus::checkpoint {

using spec::Like;
using spec::put_value;
using spec::Reader;
using spec::Table;
using spec::Value;

namespace {

Value write_checksum(std::uint64_t checksum) { return put_value(to_hex(checksum)); }
std::uint64_t read_checksum(Reader& r) {
  const std::string text = r.required_string("checksum");
  const std::optional<std::uint64_t> number = parse_hex(text);
  if (!number && !text.empty())
    r.fail("checksum", "checkpoint.manifest",
           fmt::format("\"{}\" is no checksum of 16 hexadecimal digits", text));
  return number.value_or(0);
}

Value write_dtype(DType dtype) { return put_value(std::string(to_string(dtype))); }
DType read_dtype(Reader& r) {
  const std::string text = r.required_string("dtype");
  const std::optional<DType> dtype = parse_dtype(text);
  if (!dtype && !text.empty())
    r.fail("dtype", "checkpoint.manifest", fmt::format("the dtype \"{}\" is not known", text),
           fmt::format("known: {}", fmt::join(dtype_names(), ", ")));
  return dtype.value_or(DType::kU8);
}

Shape read_tensor_shape(Reader& r) {
  Shape shape;
  const spec::Value* value = r.raw("shape");
  const auto* array = value == nullptr ? nullptr : std::get_if<spec::Array>(&value->data);
  bool right = array != nullptr;
  for (std::size_t i = 0; right && i < array->size(); ++i) {
    const auto* length = std::get_if<std::int64_t>(&(*array)[i].data);
    right = length != nullptr && *length >= 0;
    if (right) shape.push_back(*length);
  }
  if (!right || !num_bytes(DType::kF64, shape))
    r.fail("shape", "checkpoint.manifest", "\"shape\" must be a list of lengths that fit a disk");
  return shape;
}

}  // namespace

template <class V>
void visit_fields(V& v, Like<StoredFile> auto& file) {
  v.needed("name", file.name);
  v.needed("size", file.size, 0);
  v.by_hand("checksum", file.checksum, write_checksum, read_checksum);
}

template <class V>
void visit_fields(V& v, Like<Piece> auto& piece) {
  v.needed("file", piece.file);
  v.needed("name", piece.name);
  v.needed("slice", piece.part.slice);
  v.needed("of", piece.part.of, 1);
  v.needed("dim", piece.part.dim);
  v.needed("groups", piece.part.groups, 1);
  v.needed("begin", piece.begin);
  v.needed("end", piece.end);
  v.by_hand("checksum", piece.checksum, write_checksum, read_checksum);
}

template <class V>
void visit_fields(V& v, Like<LogicalTensor> auto& tensor) {
  v.needed("name", tensor.name);
  v.needed("kind", tensor.kind);
  v.by_hand("dtype", tensor.dtype, write_dtype, read_dtype);
  v.by_hand("shape", tensor.shape, put_value<Shape>, read_tensor_shape);
  v.always("pieces", tensor.pieces);
}

template <class V>
void visit_fields(V& v, Like<RankReport> auto& report) {
  v.always("error", report.error);
  v.always("files", report.files);
  v.always("tensors", report.tensors);
}

namespace {

std::string read_random_state(Reader& r) {
  const std::string text = r.optional_string("random_state");
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    unsigned byte = 0;
    const auto [end, error] = std::from_chars(&text[i], &text[i] + 2, byte, 16);
    if (error != std::errc{} || end != &text[i] + 2) break;
    bytes += static_cast<char>(byte);
  }
  if (2 * bytes.size() != text.size())
    r.fail("random_state", "checkpoint.manifest", "\"random_state\" must be hexadecimal");
  return bytes;
}

std::uint64_t read_seed(Reader& r) {
  const std::string text = r.required_string("seed");
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (!text.empty() && (error != std::errc{} || end != text.data() + text.size()))
    r.fail("seed", "checkpoint.manifest", "\"seed\" must be a whole number written as a string");
  return seed;
}

Progress read_progress(Reader& r) {
  Progress progress;
  progress.step = r.required_int64("step", 0);
  progress.samples = r.required_int64("samples", 0);
  progress.seed = read_seed(r);
  progress.random_state = read_random_state(r);
  Reader optimizer = r.required_table("optimizer");
  progress.optimizer = optimizer.optional_string("kind");
  Reader values = optimizer.required_table("values");
  for (const std::string_view key : values.keys())
    progress.optimizer_values[std::string(key)] = values.required_double(key);
  optimizer.finish();
  Reader notes = r.optional_table("notes");
  if (notes.present())
    for (const std::string_view key : notes.keys())
      progress.notes[std::string(key)] = notes.optional_string(key);
  return progress;
}

// The text without its last line; throws if that line does not have the text's checksum.
void check_seal(std::string_view text, const std::string& file) {
  const std::size_t line =
      text.size() < 2 ? std::string_view::npos : text.rfind('\n', text.size() - 2);
  const std::string body(text.substr(0, line == std::string_view::npos ? 0 : line + 1));
  if (seal(body) != text)
    throw_input_error("checkpoint.checksum",
                      fmt::format("{} is not what was written: its checksum is another", file),
                      {file}, "resume from another checkpoint");
}

std::string hex_bytes(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

// One a line, so that a place in an error means something.
template <class T>
std::string list_of(const std::vector<T>& items) {
  std::string text = "[";
  for (const T& item : items) {
    text += &item == items.data() ? "\n " : ",\n ";
    text += spec::to_json(put_value(item));
  }
  return text + "]";
}

std::string optimizer_json(const Progress& progress) {
  Table values;
  for (const auto& [name, number] : progress.optimizer_values)
    values.emplace_back(name, put_value(number));
  Table table;
  table.emplace_back("kind", put_value(progress.optimizer));
  table.emplace_back("values", Value{.data = std::move(values)});
  return spec::to_json({.data = std::move(table)});
}

std::string notes_json(const Progress& progress) {
  Table notes;
  for (const auto& [name, text] : progress.notes) notes.emplace_back(name, put_value(text));
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
                     spec::to_json(put_value(report.error)), list_of(report.files),
                     list_of(report.tensors));
}

Manifest parse_manifest(std::string_view text, const std::string& file) {
  const spec::Value root = spec::parse_json(text, file);
  ErrorList errors;
  Reader r(root, errors, spec::Units::kRawSi);
  const int version = r.required_int("schema_version", 0);
  errors.throw_if_any();
  if (version != kManifestSchemaVersion)
    throw_input_error("checkpoint.schema-version",
                      fmt::format("this checkpoint has schema_version {}; this program reads {}",
                                  version, kManifestSchemaVersion),
                      r.where("schema_version"));
  check_seal(text, file);
  Manifest manifest;
  manifest.progress = read_progress(r);
  if (const spec::Value* plan = r.raw("plan"))
    manifest.plan = plan::plan_from_value(*plan, errors);
  else
    r.fail("plan", "spec.missing-key", "the key \"plan\" is missing");
  spec::TakeFields take(r);
  take.always("files", manifest.files);
  take.always("tensors", manifest.tensors);
  r.skip("checksum");
  r.finish();
  errors.throw_if_any();
  check_manifest(manifest, file, errors);
  errors.throw_if_any();
  return manifest;
}

RankReport parse_report(std::string_view text, const std::string& from) {
  RankReport report;
  spec::parse_fields(text, from, report);
  return report;
}

}  // namespace nereus::checkpoint
