// Which part of a tensor a rank holds, and how to convert one division into another.
//
// Tensor parallelism cuts `dim`: its length is divided into `groups` equal parts of length P, and
// each part into `of` slices. Slice t is the range [t c, (t + 1) c) of every part, where c =
// ceil(P / `of`); the last slices may be shorter, or empty. So slice 1 of 2 of a fused [h, 3 h]
// weight of queries, keys and values (dim 1, groups 3) is the second half of the queries, then of
// the keys, then of the values. The slice is a separate row-major buffer. ZeRO cuts that buffer
// into ranges of elements [begin, end), which may be uneven.
//
//        whole tensor              slice 1 of 2, dim 1            its elements [2, 5)
//        a b c d
//        e f g h            ->     c d / g h / k l         ->     g h k
//        i j k l
//
// After either cut, the elements of a rank are in the same order as in the tensor, and form
// contiguous runs. Two divisions are matched by walking over the runs of both at once. Each part
// that two runs share is copied by one memcpy; if the divisions are equal, one memcpy copies
// everything.
//
//   const SliceMap from(shape, {1, 2, 1, 1}), to(shape, {});
//   copy_overlap({from, 2, 5, source}, {to, 0, 12, target}, 4);   // three floats
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace nereus::checkpoint {

using Shape = std::vector<std::int64_t>;

struct SliceSpec {
  int slice = 0;
  int of = 1;
  int dim = 0;  // below 0: not cut, whatever the other fields are
  int groups = 1;
  bool operator==(const SliceSpec&) const = default;
};

// The canonical form of a whole tensor is {0, 1, 0, 1}.
SliceSpec canonical(const SliceSpec& spec);
// What is wrong with the slice for a tensor of this shape; empty = nothing.
std::string fault_of(const SliceSpec& spec, const Shape& shape);

std::int64_t num_elements(const Shape& shape);
Shape slice_shape(const Shape& shape, const SliceSpec& spec);

// Maps elements of a slice to elements of the tensor. A slice consists of contiguous runs of run_
// elements: `groups` runs for every combination of indices of the dims before `dim`.
class SliceMap {
 public:
  SliceMap(const Shape& shape, const SliceSpec& spec);  // must be valid

  std::int64_t size() const { return size_; }
  std::int64_t element(std::int64_t index) const {
    return index / run_ * stride_ + first_ + index % run_;
  }
  // How many elements from `index` on are contiguous in the tensor.
  std::int64_t run_left(std::int64_t index) const { return run_ - index % run_; }
  // The first index whose element is at or after this one; size() or more if there is none.
  std::int64_t index_from(std::int64_t element) const;
  const SliceSpec& spec() const { return spec_; }

 private:
  SliceSpec spec_;
  std::int64_t size_ = 0;
  std::int64_t run_ = 1;     // contiguous elements
  std::int64_t stride_ = 1;  // from one run to the next, in elements of the tensor
  std::int64_t first_ = 0;   // element of index 0
};

// Elements [begin, end) of a slice. `bytes` points to element `begin`.
struct SourceRange {
  const SliceMap& map;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  const std::byte* bytes = nullptr;
};
struct TargetRange {
  const SliceMap& map;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::byte* bytes = nullptr;
};

// A run of contiguous elements that two ranges share. The ranges belong to slices of the same
// tensor; `from` and `to` are where the run begins in the two slices.
struct SharedRun {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t size = 0;
  bool operator==(const SharedRun&) const = default;
};
// The shared runs, in order; does not access any bytes.
std::vector<SharedRun> shared_runs(const SourceRange& from, const TargetRange& to);

// Copies the elements of one tensor that both have; returns their number.
std::int64_t copy_overlap(const SourceRange& from, const TargetRange& to, std::size_t element_size);
// Whether copy_overlap() would copy anything; does not access any bytes.
bool overlap(const SourceRange& from, const TargetRange& to);

}  // namespace nereus::checkpoint
