#include "checkpoint/checkpoint_reader.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>

#include "base/error.hpp"
#include "base/format.hpp"
#include "spec/source.hpp"

namespace nereus::checkpoint {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStep = "step-";

// The step in a folder's name; empty if the name is not that of a complete checkpoint.
std::optional<std::int64_t> step_of(std::string_view name) {
  if (!name.starts_with(kStep)) return std::nullopt;
  name.remove_prefix(kStep.size());
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  if (error != std::errc{} || end != name.data() + name.size() || step < 0) return std::nullopt;
  return step;
}

Manifest load_manifest(const std::string& folder) {
  const std::string path = folder + "/" + kManifestFile;
  std::error_code ignored;
  if (!fs::exists(path, ignored))
    throw_input_error("checkpoint.none",
                      fmt::format("{} is not a checkpoint: it has no {}", folder, kManifestFile),
                      {}, "a folder step-N that training has completed");
  return parse_manifest(spec::read_text_file(path), path);
}

constexpr const char* kOtherCheckpoint = "resume from another checkpoint";

}  // namespace

std::string step_folder(std::int64_t step) { return fmt::format("{}{:06}", kStep, step); }

std::map<std::int64_t, std::string> list_checkpoints(const std::string& folder) {
  std::map<std::int64_t, std::string> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::optional<std::int64_t> step = step_of(entry->path().filename().string());
    std::error_code ignored;
    if (step && fs::exists(entry->path() / kManifestFile, ignored))
      found[*step] = entry->path().string();
  }
  return found;
}

std::optional<std::string> find_latest(const std::string& folder) {
  std::error_code ignored;
  if (fs::exists(fs::path(folder) / kManifestFile, ignored)) return folder;
  const std::map<std::int64_t, std::string> all = list_checkpoints(folder);
  return all.empty() ? std::nullopt : std::optional(all.rbegin()->second);
}

Checkpoint::Checkpoint(const std::string& folder)
    : folder_(folder), manifest_(load_manifest(folder)) {
  ErrorList errors;
  for (const StoredFile& file : manifest_.files) {
    files_.try_emplace(file.name);
    std::error_code error;
    const std::uint64_t size = fs::file_size(path_of(file.name), error);
    if (error)
      errors.add(
          "checkpoint.missing-file",
          fmt::format("{} of the checkpoint is not there: {}", path_of(file.name), error.message()),
          {path_of(file.name)}, kOtherCheckpoint);
    else if (size != file.size)
      errors.add("checkpoint.file-size",
                 fmt::format("{} has {}; {} were written", path_of(file.name),
                             counted(size, "byte"), file.size),
                 {path_of(file.name)}, kOtherCheckpoint);
  }
  errors.throw_if_any();
  for (const LogicalTensor& tensor : manifest_.tensors)
    index_[{tensor.name, tensor.kind}] = &tensor;
}

const LogicalTensor* Checkpoint::find(std::string_view name, TensorKind kind) const {
  const auto found = index_.find({name, kind});
  return found == index_.end() ? nullptr : found->second;
}

std::span<const std::byte> Checkpoint::bytes_of(const LogicalTensor& tensor,
                                                const Piece& piece) const {
  const std::string path = path_of(piece.file);
  OpenFile& open = files_.find(piece.file)->second;
  const std::lock_guard lock(open.mutex);
  if (!open.file) open.file = std::make_unique<SafetensorsFile>(path);
  const StoredTensor* stored = open.file->find(piece.name);
  if (stored == nullptr || stored->dtype != tensor.dtype ||
      num_elements(stored->shape) != piece.end - piece.begin)
    throw_input_error("checkpoint.disagree",
                      fmt::format("{} does not hold {} as the manifest says", path, piece.name),
                      {path}, kOtherCheckpoint);
  const std::span<const std::byte> bytes = open.file->bytes(*stored);
  if (!open.verified.contains(piece.name)) {
    if (xxh64(bytes) != piece.checksum)
      throw_input_error("checkpoint.checksum",
                        fmt::format("{} is not what was written: the checksum of {} is another",
                                    path, piece.name),
                        {path}, kOtherCheckpoint);
    open.verified.insert(piece.name);
  }
  return bytes;
}

void Checkpoint::read_range(std::string_view name, TensorKind kind, const SliceSpec& slice,
                            std::int64_t begin, std::int64_t end, std::span<std::byte> out) const {
  const LogicalTensor* tensor = find(name, kind);
  if (tensor == nullptr)
    throw_input_error("checkpoint.no-tensor",
                      fmt::format("{} holds no {} of {}", folder_, to_string(kind), name), {},
                      "a checkpoint of the same model and optimizer");
  const std::string fault = fault_of(slice, tensor->shape);
  if (!fault.empty())
    throw_input_error("checkpoint.no-tensor", fmt::format("{}: {}", name, fault),
                      {folder_ + "/" + kManifestFile}, "a checkpoint of the same model");
  const SliceMap wanted(tensor->shape, slice);
  if (begin < 0 || begin > end || end > wanted.size())
    throw_input_error(
        "checkpoint.no-tensor",
        fmt::format("elements [{}, {}) of {}, whose slice has {}", begin, end, name, wanted.size()),
        {folder_ + "/" + kManifestFile}, "a checkpoint of the same model");
  const std::size_t width = element_size(tensor->dtype);
  NEREUS_CHECK(out.size() == static_cast<std::size_t>(end - begin) * width,
               fmt::format("{} bytes for {} elements of {}", out.size(), end - begin,
                           to_string(tensor->dtype)));
  std::int64_t copied = 0;
  for (const Piece& piece : tensor->pieces) {
    if (copied == end - begin) break;
    const SliceMap written(tensor->shape, piece.part);
    SourceRange from{written, piece.begin, piece.end};
    const TargetRange to{wanted, begin, end, out.data()};
    if (!overlap(from, to)) continue;
    from.bytes = bytes_of(*tensor, piece).data();
    copied += copy_overlap(from, to, width);
  }
  // The manifest's pieces cover the tensor: checked when it was read.
  NEREUS_CHECK(copied == end - begin, std::string(name) + " is not covered");
}

void Checkpoint::verify() const {
  ErrorList errors;
  for (const StoredFile& file : manifest_.files) {
    const MappedFile mapped = map_file(path_of(file.name));
    if (xxh64(mapped.bytes()) != file.checksum)
      errors.add(
          "checkpoint.checksum",
          fmt::format("{} is not what was written: its checksum is another", path_of(file.name)),
          {path_of(file.name)}, kOtherCheckpoint);
  }
  errors.throw_if_any();
}

}  // namespace nereus::checkpoint
