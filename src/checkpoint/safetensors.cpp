#include "checkpoint/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <tuple>

#include "base/error.hpp"
#include "base/format.hpp"
#include "spec/reader.hpp"
#include "spec/value.hpp"

namespace nereus::checkpoint {

namespace {

struct DTypeRow {
  DType dtype;
  std::string_view name;
  std::size_t size;
};
constexpr DTypeRow kDTypes[] = {
    {DType::kBool, "BOOL", 1},      {DType::kU8, "U8", 1},          {DType::kI8, "I8", 1},
    {DType::kF8E4m3, "F8_E4M3", 1}, {DType::kF8E5m2, "F8_E5M2", 1}, {DType::kU16, "U16", 2},
    {DType::kI16, "I16", 2},        {DType::kF16, "F16", 2},        {DType::kBf16, "BF16", 2},
    {DType::kU32, "U32", 4},        {DType::kI32, "I32", 4},        {DType::kF32, "F32", 4},
    {DType::kU64, "U64", 8},        {DType::kI64, "I64", 8},        {DType::kF64, "F64", 8},
};

const DTypeRow& row_of(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)]; }

constexpr std::size_t kMostHeaderErrors = 20;  // more of the same do not help

// An array of whole numbers that are not negative.
std::vector<std::int64_t> whole_numbers(spec::Reader& r, std::string_view key) {
  std::vector<std::int64_t> numbers;
  const spec::Value* value = r.raw(key);
  const auto* array = value == nullptr ? nullptr : std::get_if<spec::Array>(&value->data);
  bool right = array != nullptr;
  for (std::size_t i = 0; right && i < array->size(); ++i) {
    const auto* number = std::get_if<std::int64_t>(&(*array)[i].data);
    right = number != nullptr && *number >= 0;
    if (right) numbers.push_back(*number);
  }
  if (!right)
    r.fail(key, "safetensors.header",
           fmt::format("\"{}\" must be a list of whole numbers from 0 on", key));
  return numbers;
}

StoredTensor read_tensor(const spec::Member& member, ErrorList& errors) {
  StoredTensor tensor{.name = member.first};
  const std::size_t before = errors.list().size();
  spec::Reader r(member.second, errors);
  if (!r.present()) return tensor;
  const std::string dtype = r.required_string("dtype");
  const std::optional<DType> known = parse_dtype(dtype);
  if (!known && !dtype.empty())
    r.fail("dtype", "safetensors.dtype", fmt::format("the dtype \"{}\" is not known", dtype),
           fmt::format("known: {}", fmt::join(dtype_names(), ", ")));
  tensor.dtype = known.value_or(DType::kU8);
  tensor.shape = whole_numbers(r, "shape");
  const std::vector<std::int64_t> offsets = whole_numbers(r, "data_offsets");
  r.finish();
  if (errors.list().size() > before) return tensor;
  if (offsets.size() != 2 || offsets[0] > offsets[1]) {
    r.fail("data_offsets", "safetensors.header",
           fmt::format("\"data_offsets\" of {} must be [begin, end] in order", tensor.name));
    return tensor;
  }
  tensor.begin = static_cast<std::uint64_t>(offsets[0]);
  tensor.end = static_cast<std::uint64_t>(offsets[1]);
  const std::optional<std::uint64_t> bytes = num_bytes(tensor.dtype, tensor.shape);
  if (bytes != tensor.end - tensor.begin)
    r.fail("data_offsets", "safetensors.size",
           fmt::format("{} has {}, but {} of shape [{}] needs {}", tensor.name,
                       counted(tensor.end - tensor.begin, "byte"), to_string(tensor.dtype),
                       fmt::join(tensor.shape, ", "),
                       bytes ? std::to_string(*bytes) : "more than there can be"));
  return tensor;
}

Metadata read_metadata(const spec::Value& value, ErrorList& errors) {
  Metadata metadata;
  spec::Reader r(value, errors);
  for (const std::string_view key : r.keys()) metadata[std::string(key)] = r.optional_string(key);
  return metadata;
}

// Tensors in the order of their bytes must follow one another without a gap, to the end.
void check_layout(const std::vector<StoredTensor>& tensors, std::uint64_t data_size,
                  const std::string& path, ErrorList& errors) {
  std::uint64_t at = 0;
  const std::string* last = nullptr;
  for (const StoredTensor& tensor : tensors) {
    if (tensor.begin < at)
      errors.add("safetensors.overlap",
                 fmt::format("{} begins at byte {}, before {} ends at {}", tensor.name,
                             tensor.begin, last == nullptr ? "" : *last, at),
                 {path});
    else if (tensor.begin > at)
      errors.add("safetensors.hole",
                 fmt::format("bytes {} to {} before {} belong to no tensor", at, tensor.begin,
                             tensor.name),
                 {path});
    if (errors.list().size() >= kMostHeaderErrors) return;
    at = std::max(at, tensor.end);
    last = &tensor.name;
  }
  if (at > data_size)
    errors.add("safetensors.truncated",
               fmt::format("the tensors take {}, the file has {} for them", counted(at, "byte"),
                           data_size),
               {path}, "the file was cut off: write or fetch it again");
  else if (at < data_size)
    errors.add("safetensors.hole",
               fmt::format("{} to no tensor", counted(data_size - at, "byte at the end belongs",
                                                      "bytes at the end belong")),
               {path});
}

}  // namespace

std::size_t element_size(DType dtype) { return row_of(dtype).size; }
std::string_view to_string(DType dtype) { return row_of(dtype).name; }

std::optional<DType> parse_dtype(std::string_view text) {
  for (const DTypeRow& row : kDTypes)
    if (row.name == text) return row.dtype;
  return std::nullopt;
}

std::vector<std::string> dtype_names() {
  std::vector<std::string> names;
  for (const DTypeRow& row : kDTypes) names.emplace_back(row.name);
  return names;
}

std::optional<std::uint64_t> num_bytes(DType dtype, const Shape& shape) {
  // An empty tensor is empty whatever its other lengths.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  auto product = static_cast<std::int64_t>(element_size(dtype));
  for (const std::int64_t length : shape)
    if (length < 0 || __builtin_mul_overflow(product, length, &product)) return std::nullopt;
  return static_cast<std::uint64_t>(product);
}

SafetensorsHeader parse_safetensors(std::span<const std::byte> file, const std::string& path) {
  std::uint64_t length = 0;
  if (file.size() < sizeof(length))
    throw_input_error("safetensors.truncated",
                      fmt::format("{} too few for a safetensors file",
                                  counted(file.size(), "byte is", "bytes are")),
                      {path});
  std::memcpy(&length, file.data(), sizeof(length));
  if (length > kMostHeaderBytes)
    throw_input_error("safetensors.header",
                      fmt::format("a header of {} bytes, more than the {} that are allowed: this "
                                  "is no safetensors file, or a broken one",
                                  length, kMostHeaderBytes),
                      {path});
  if (length > file.size() - sizeof(length))
    throw_input_error("safetensors.truncated",
                      fmt::format("the header takes {}, the file has {} after its length",
                                  counted(length, "byte"), file.size() - sizeof(length)),
                      {path}, "the file was cut off: write or fetch it again");
  const std::string_view text(reinterpret_cast<const char*>(file.data()) + sizeof(length),
                              static_cast<std::size_t>(length));
  if (!text.starts_with('{'))
    throw_input_error("safetensors.header", "the header does not begin with {", {path});
  const spec::Value root = spec::parse_json(text, path);

  SafetensorsHeader header;
  header.data_begin = sizeof(length) + length;
  ErrorList errors;
  for (const spec::Member& member : std::get<spec::Table>(root.data)) {
    if (member.first == "__metadata__")
      header.metadata = read_metadata(member.second, errors);
    else
      header.tensors.push_back(read_tensor(member, errors));
    if (errors.list().size() >= kMostHeaderErrors) break;
  }
  errors.throw_if_any();
  // An empty tensor comes before the one that begins at the same byte.
  std::sort(header.tensors.begin(), header.tensors.end(),
            [](const StoredTensor& a, const StoredTensor& b) {
              return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
            });
  check_layout(header.tensors, file.size() - header.data_begin, path, errors);
  errors.throw_if_any();
  return header;
}

SafetensorsFile::SafetensorsFile(const std::string& path)
    : file_(map_file(path)), header_(parse_safetensors(file_.bytes(), path)) {
  for (std::size_t i = 0; i < header_.tensors.size(); ++i) index_[header_.tensors[i].name] = i;
}

const StoredTensor* SafetensorsFile::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &header_.tensors[found->second];
}

std::span<const std::byte> SafetensorsFile::bytes(const StoredTensor& tensor) const {
  return file_.bytes().subspan(static_cast<std::size_t>(header_.data_begin + tensor.begin),
                               static_cast<std::size_t>(tensor.end - tensor.begin));
}

}  // namespace nereus::checkpoint
