#include <fmt/format.h>

#include <charconv>

#include "checkpoint/manifest.hpp"
#include "plan/plan_json.hpp"
#include "spec/reader.hpp"

namespace nereus::checkpoint {

namespace {

using spec::Reader;

std::uint64_t read_checksum(Reader& r) {
  const std::string text = r.required_string("checksum");
  const std::optional<std::uint64_t> number = parse_hex(text);
  if (!number && !text.empty())
    r.fail("checksum", "checkpoint.manifest",
           fmt::format("\"{}\" is no checksum of 16 hexadecimal digits", text));
  return number.value_or(0);
}

StoredFile read_file(Reader& r) {
  StoredFile file;
  file.name = r.required_string("name");
  file.size = static_cast<std::uint64_t>(r.required_int64("size", 0));
  file.checksum = read_checksum(r);
  r.finish();
  return file;
}

Piece read_piece(Reader& r) {
  Piece piece;
  piece.file = r.required_string("file");
  piece.name = r.required_string("name");
  piece.part.slice = r.required_int("slice", 0);
  piece.part.of = r.required_int("of", 1);
  piece.part.dim = r.required_int("dim", 0);
  piece.part.groups = r.required_int("groups", 1);
  piece.begin = r.required_int64("begin", 0);
  piece.end = r.required_int64("end", 0);
  piece.checksum = read_checksum(r);
  r.finish();
  return piece;
}

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

LogicalTensor read_tensor(Reader& r) {
  LogicalTensor tensor;
  tensor.name = r.required_string("name");
  spec::Choices<TensorKind> kinds;
  for (int kind = 0; kind <= static_cast<int>(TensorKind::kRunningStatistic); ++kind)
    kinds.emplace_back(to_string(static_cast<TensorKind>(kind)), static_cast<TensorKind>(kind));
  tensor.kind = r.required_enum("kind", kinds);
  tensor.dtype = read_dtype(r);
  tensor.shape = read_tensor_shape(r);
  for (Reader& piece : r.optional_tables("pieces")) tensor.pieces.push_back(read_piece(piece));
  r.finish();
  return tensor;
}

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

}  // namespace

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
  for (Reader& item : r.optional_tables("files")) manifest.files.push_back(read_file(item));
  for (Reader& item : r.optional_tables("tensors")) manifest.tensors.push_back(read_tensor(item));
  r.skip("checksum");
  r.finish();
  errors.throw_if_any();
  check_manifest(manifest, file, errors);
  errors.throw_if_any();
  return manifest;
}

RankReport parse_report(std::string_view text, const std::string& from) {
  const spec::Value root = spec::parse_json(text, from);
  ErrorList errors;
  Reader r(root, errors, spec::Units::kRawSi);
  RankReport report;
  report.error = r.optional_string("error");
  for (Reader& item : r.optional_tables("files")) report.files.push_back(read_file(item));
  for (Reader& item : r.optional_tables("tensors")) report.tensors.push_back(read_tensor(item));
  r.finish();
  errors.throw_if_any();
  return report;
}

}  // namespace nereus::checkpoint
