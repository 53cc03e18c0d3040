#include "checkpoint/writer.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/remove_tree.hpp"
#include "base/write_file.hpp"
#include "checkpoint/checkpoint_reader.hpp"
#include "checkpoint/files.hpp"

namespace nereus::checkpoint {

namespace {

namespace fs = std::filesystem;

// A whole weight keeps its plain name, so that a checkpoint of one rank reads like any safetensors
// file: NAME @ kind # slice / of [begin : end].
std::string stored_name(const Part& part, const SliceSpec& slice, std::int64_t slice_size) {
  std::string name = part.tensor;
  if (part.kind != TensorKind::kWeight) name += fmt::format("@{}", to_string(part.kind));
  if (slice.of > 1) name += fmt::format("#{}/{}", slice.slice, slice.of);
  if (part.begin > 0 || part.end < slice_size) name += fmt::format("[{}:{}]", part.begin, part.end);
  return name;
}

StoredTensor stored_tensor(const Part& part) {
  const SliceSpec slice = canonical(part.slice);
  const std::string fault = fault_of(slice, part.shape);
  NEREUS_CHECK(fault.empty(), part.tensor + ": " + fault);
  const Shape whole = slice_shape(part.shape, slice);
  const std::int64_t size = num_elements(whole);
  NEREUS_CHECK(part.begin >= 0 && part.begin <= part.end && part.end <= size,
               fmt::format("elements [{}, {}) of {}, whose slice has {}", part.begin, part.end,
                           part.tensor, size));
  NEREUS_CHECK(part.bytes.size() ==
                   static_cast<std::size_t>(part.end - part.begin) * element_size(part.dtype),
               fmt::format("{} bytes for {} elements of {}", part.bytes.size(),
                           part.end - part.begin, part.tensor));
  const bool all = part.begin == 0 && part.end == size;
  return {stored_name(part, slice, size), part.dtype, all ? whole : Shape{part.end - part.begin}};
}

// One file: the parts of one layer.
void write_layer(const std::string& folder, int layer, int rank,
                 const std::vector<const Part*>& parts, RankReport& report) {
  const std::string name = fmt::format("layer-{:04}.rank-{:04}.safetensors", layer, rank);
  std::vector<StoredTensor> tensors;
  std::map<std::string, const Part*> by_name;
  for (const Part* part : parts) {
    StoredTensor tensor = stored_tensor(*part);
    report.tensors.push_back({part->tensor, part->kind, part->dtype, part->shape, {}});
    if (part->begin == part->end) continue;
    report.tensors.back().pieces.push_back(
        {name, tensor.name, canonical(part->slice), part->begin, part->end, xxh64(part->bytes)});
    by_name[tensor.name] = part;
    tensors.push_back(std::move(tensor));
  }
  if (tensors.empty()) return;
  SafetensorsWriter writer(folder + "/" + name, std::move(tensors), {});
  for (const StoredTensor& tensor : writer.tensors()) writer.write(by_name.at(tensor.name)->bytes);
  const FileSum sum = writer.finish();
  report.files.push_back({name, sum.size, sum.checksum});
}

FolderMark mark_of(const std::string& folder) {
  struct stat found {};
  if (stat(folder.c_str(), &found) != 0) return {};
  return {found.st_ino, found.st_mtim.tv_sec * 1'000'000'000 + found.st_mtim.tv_nsec};
}

// Checks that all files exist with the size that their rank reported, and removes others.
void check_folder(const std::string& folder, const Manifest& manifest) {
  std::set<std::string_view> known;
  for (const StoredFile& file : manifest.files) {
    known.insert(file.name);
    std::error_code error;
    if (fs::file_size(folder + "/" + file.name, error) != file.size || error)
      throw_environment_error(
          "checkpoint.not-shared",
          fmt::format("rank 0 does not see {}/{} as it was written", folder, file.name),
          "checkpoints need a folder that every host sees, such as NFS or Lustre");
  }
  // Files of an earlier attempt at the same step.
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (!known.contains(entry.path().filename().string())) remove_tree(entry.path());
}

}  // namespace

Part own_copy(Part part) {
  std::shared_ptr<std::byte[]> copy(new std::byte[part.bytes.size()]);
  if (!part.bytes.empty()) std::memcpy(copy.get(), part.bytes.data(), part.bytes.size());
  part.bytes = {copy.get(), part.bytes.size()};
  part.owner = std::move(copy);
  return part;
}

RankReport write_parts(const std::string& folder, int rank, const std::vector<Part>& parts) {
  std::map<int, std::vector<const Part*>> layers;
  for (const Part& part : parts) layers[part.layer].push_back(&part);
  RankReport report;
  for (const auto& [layer, list] : layers) write_layer(folder, layer, rank, list, report);
  return report;
}

void remove_leftovers(const std::string& folder) {
  std::vector<std::string> leftovers;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if ((name.starts_with("step-") || name.starts_with("reports-")) && name.ends_with(kPartial))
      leftovers.push_back(entry->path().string());
  }
  for (const std::string& path : leftovers) remove_folder(path);
}

Writer::Writer(WriterOptions options) : options_(std::move(options)) {
  NEREUS_CHECK(options_.keep >= 1 && options_.rank >= 0 && options_.rank < options_.num_ranks,
               "a writer of no rank, or one that keeps nothing");
  NEREUS_CHECK(options_.num_ranks == 1 || options_.gather, "several ranks need a way to meet");
  if (options_.rank != 0) return;
  make_folder(options_.folder);
  remove_leftovers(options_.folder);
}

std::vector<Writer::Complete> Writer::take_completed() {
  const std::lock_guard lock(completed_mutex_);
  return std::exchange(completed_, {});
}

Writer::~Writer() {
  if (thread_.joinable()) thread_.join();
}

void Writer::wait() {
  if (thread_.joinable()) thread_.join();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Writer::save(Progress progress, plan::Plan plan, std::vector<Part> parts) {
  wait();
  busy_ = true;
  thread_ = std::thread([this, progress = std::move(progress), plan = std::move(plan),
                         parts = std::move(parts)]() mutable {
    try {
      write(progress, plan, parts);
    } catch (...) {
      error_ = std::current_exception();
    }
    parts.clear();  // their memory is free before busy() says so
    busy_ = false;
  });
}

std::string Writer::partial_folder(std::int64_t step) const {
  const std::string attempt = options_.attempt.empty() ? "" : "." + options_.attempt;
  return options_.folder + "/" + step_folder(step) + attempt + std::string(kPartial);
}

void Writer::write(const Progress& progress, const plan::Plan& plan,
                   const std::vector<Part>& parts) {
  const std::string folder = partial_folder(progress.step);
  // A rank that fails still reports, so that rank 0 need not wait for it.
  RankReport mine;
  std::exception_ptr failure;
  try {
    make_folder(folder);
    mine = write_parts(folder, options_.rank, parts);
  } catch (const std::exception& error) {
    failure = std::current_exception();
    mine = {.error = error.what()};
  }
  std::vector<std::string> reports = {report_to_json(mine)};
  try {
    if (options_.gather) reports = options_.gather(progress.step, std::move(reports.front()));
    if (failure) std::rethrow_exception(failure);
    if (options_.rank == 0 && options_.allow)
      options_.allow([&] { commit(progress, plan, reports); });
    else if (options_.rank == 0)
      commit(progress, plan, reports);
  } catch (...) {
    // The room is needed; what is left the next start removes.
    if (options_.rank == 0) remove_tree(folder);
    throw;
  }
}

void Writer::commit(const Progress& progress, const plan::Plan& plan,
                    const std::vector<std::string>& reports) {
  NEREUS_CHECK(static_cast<int>(reports.size()) == options_.num_ranks,
               fmt::format("{} reports of {} ranks", reports.size(), options_.num_ranks));
  std::vector<RankReport> read;
  ErrorList errors;
  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
    read.push_back(parse_report(reports[rank], fmt::format("the report of rank {}", rank)));
    if (!read.back().error.empty())
      errors.add({.code = "checkpoint.write",
                  .message = fmt::format("rank {} could not write step {}: {}", rank, progress.step,
                                         read.back().error),
                  .hint = "the last complete checkpoint stays",
                  .kind = ErrorKind::kEnvironment});
  }
  errors.throw_if_any();
  const Manifest manifest = make_manifest(progress, plan, read);
  const std::string complete = options_.folder + "/" + step_folder(progress.step);
  const std::string partial = partial_folder(progress.step);
  check_folder(partial, manifest);
  write_file(partial + "/" + kManifestFile, manifest_to_json(manifest));
  replace_folder(partial, complete);
  last_complete_ = complete;
  {
    const std::lock_guard lock(completed_mutex_);
    completed_.push_back({progress.step, complete});
  }
  written_[progress.step] = mark_of(complete);
  remove_old(progress.step);
}

void Writer::remove_old(std::int64_t step) {
  const std::int64_t known = options_.known ? options_.known() : step;
  std::vector<std::string> counted, own;  // the oldest first
  // Later steps than this one are another run's or a resumed one's: not ours to remove.
  for (const auto& [earlier, folder] : list_checkpoints(options_.folder)) {
    if (earlier >= step) break;
    if (earlier <= known) {
      counted.push_back(folder);
    } else if (const auto mine = written_.find(earlier);
               mine != written_.end() && mine->second == mark_of(folder)) {
      own.push_back(folder);
    }
  }
  const auto remove_but = [](const std::vector<std::string>& folders, int keep) {
    for (int i = 0; i + keep < static_cast<int>(folders.size()); ++i) remove_folder(folders[i]);
  };
  remove_but(counted, step <= known ? options_.keep - 1 : options_.keep);
  remove_but(own, options_.keep - 1);
}

}  // namespace nereus::checkpoint
