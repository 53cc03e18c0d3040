#include "checkpoint/manifest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/format.hpp"

namespace nereus::checkpoint {

namespace {

constexpr std::size_t kMostErrors = 20;
constexpr std::string_view kKindNames[] = {"weight", "master_weight", "adam_m",
                                           "adam_v", "momentum",      "running_statistic"};

struct Faults {
  const std::string& file;
  ErrorList& errors;
  bool full() const { return errors.list().size() >= kMostErrors; }
  void add(std::string message) const {
    if (!full()) errors.add("checkpoint.manifest", std::move(message), {file});
  }
};

std::string title(const LogicalTensor& tensor) {
  return fmt::format("{} ({})", tensor.name, to_string(tensor.kind));
}

// The first fault of each piece by itself; true = none.
bool check_pieces(const LogicalTensor& tensor, const Faults& faults) {
  for (const Piece& piece : tensor.pieces) {
    const std::string fault = fault_of(piece.part, tensor.shape);
    if (!fault.empty()) {
      faults.add(fmt::format("{}: {}", title(tensor), fault));
      return false;
    }
    const SliceSpec& first = tensor.pieces.front().part;
    if (std::tie(piece.part.of, piece.part.dim, piece.part.groups) !=
        std::tie(first.of, first.dim, first.groups)) {
      faults.add(fmt::format("{}: its pieces are not cut alike", title(tensor)));
      return false;
    }
    const std::int64_t size = num_elements(slice_shape(tensor.shape, piece.part));
    if (piece.begin >= piece.end || piece.end > size) {
      faults.add(fmt::format("{}: elements [{}, {}) of a slice of {}", title(tensor), piece.begin,
                             piece.end, size));
      return false;
    }
  }
  return true;
}

// Range after range in every slice, without a gap and without overlap; and nothing is missing.
void check_cover(const LogicalTensor& tensor, const Faults& faults) {
  std::vector<const Piece*> pieces;
  for (const Piece& piece : tensor.pieces) pieces.push_back(&piece);
  std::sort(pieces.begin(), pieces.end(), [](const Piece* a, const Piece* b) {
    return std::tie(a->part.slice, a->begin) < std::tie(b->part.slice, b->begin);
  });
  std::int64_t covered = 0;
  const Piece* last = nullptr;
  for (const Piece* piece : pieces) {
    const bool same_slice = last != nullptr && last->part.slice == piece->part.slice;
    const std::int64_t at = same_slice ? last->end : 0;
    if (piece->begin != at)
      return faults.add(fmt::format("{}: elements [{}, {}) of slice {} of {} are {}", title(tensor),
                                    std::min(at, piece->begin), std::max(at, piece->begin),
                                    piece->part.slice, piece->part.of,
                                    piece->begin > at ? "missing" : "there twice"));
    covered += piece->end - piece->begin;
    last = piece;
  }
  const std::int64_t whole = num_elements(tensor.shape);
  if (covered != whole)
    faults.add(fmt::format("{}: {} of its {} {} missing", title(tensor), whole - covered,
                           counted(whole, "element"), whole - covered == 1 ? "is" : "are"));
}

template <class T, class Key>
void sort_by(std::vector<T>& list, Key key) {
  std::sort(list.begin(), list.end(), [&](const T& a, const T& b) { return key(a) < key(b); });
}

std::pair<std::string_view, TensorKind> key_of(const LogicalTensor& tensor) {
  return {tensor.name, tensor.kind};
}

}  // namespace

std::string_view to_string(TensorKind kind) {
  const auto i = static_cast<std::size_t>(kind);
  return i < std::size(kKindNames) ? kKindNames[i] : "?";
}

void check_manifest(const Manifest& manifest, const std::string& file, ErrorList& errors) {
  const Faults faults{file, errors};
  std::set<std::string_view> files;
  for (const StoredFile& stored : manifest.files) {
    if (!files.insert(stored.name).second)
      faults.add(fmt::format("the file {} is listed twice", stored.name));
    // A manifest must not reach outside its folder.
    if (stored.name.find('/') != std::string::npos || stored.name.starts_with('.'))
      faults.add(fmt::format("\"{}\" is no name of a file in the checkpoint", stored.name));
  }
  std::set<std::pair<std::string_view, TensorKind>> names;
  for (const LogicalTensor& tensor : manifest.tensors) {
    if (faults.full()) return;
    if (!names.insert(key_of(tensor)).second)
      faults.add(fmt::format("{} is there twice", title(tensor)));
    for (const Piece& piece : tensor.pieces)
      if (!files.contains(piece.file))
        faults.add(fmt::format("{}: its file {} is not listed", title(tensor), piece.file));
    if (check_pieces(tensor, faults)) check_cover(tensor, faults);
  }
}

Manifest make_manifest(const Progress& progress, const plan::Plan& plan,
                       const std::vector<RankReport>& reports) {
  Manifest manifest{progress, plan};
  ErrorList errors;
  std::map<std::pair<std::string, TensorKind>, LogicalTensor> tensors;
  for (const RankReport& report : reports) {
    manifest.files.insert(manifest.files.end(), report.files.begin(), report.files.end());
    for (const LogicalTensor& part : report.tensors) {
      LogicalTensor& whole = tensors[{part.name, part.kind}];
      if (whole.name.empty()) whole = {part.name, part.kind, part.dtype, part.shape};
      if (whole.dtype != part.dtype || whole.shape != part.shape)
        errors.add("checkpoint.disagree",
                   fmt::format("ranks disagree on {}: {} [{}] and {} [{}]", title(part),
                               to_string(whole.dtype), fmt::join(whole.shape, ", "),
                               to_string(part.dtype), fmt::join(part.shape, ", ")));
      whole.pieces.insert(whole.pieces.end(), part.pieces.begin(), part.pieces.end());
    }
  }
  errors.throw_if_any();
  for (auto& [key, tensor] : tensors) {
    sort_by(tensor.pieces, [](const Piece& p) { return std::tie(p.part.slice, p.begin); });
    manifest.tensors.push_back(std::move(tensor));
  }
  sort_by(manifest.files, [](const StoredFile& f) -> std::string_view { return f.name; });
  check_manifest(manifest, kManifestFile, errors);
  errors.throw_if_any();
  return manifest;
}

}  // namespace nereus::checkpoint
