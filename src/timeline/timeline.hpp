// Records what each lane (a stream of a rank) did at which time. It is plain data, written by the
// simulator and the worker.
//
//   Timeline t;
//   t.lanes.push_back({.process = 0, .process_name = "rank 0", .name = "compute"});
//   t.slices.push_back({.lane = 0, .start = 0, .end = 1'000'000, .kind = SliceKind::kForward});
//   write_chrome_trace("step.json", t);                // timeline/chrome_trace.hpp
//
// Times are whole picoseconds from the start of the timeline, and must not be negative. Invariants
// (first_fault checks all of them):
//   lanes      sorted by process, then by stream; a process has one name
//   slices     of one lane are in order and do not overlap
//   flows      go forward in time; each end is within a slice of its lane, edges included; ids are
//              unique
//   counters   samples are in order of time, with finite values; names are unique per process
//   marks      of one process (or of all) are in order and do not overlap
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nereus::timeline {

enum class SliceKind {
  kForward,
  kBackward,
  kInput,   // backward: gradient for the previous stage
  kWeight,  // gradient of the stage's weights
  kSend,
  kReduce,  // gradients, among ranks with the same weights
  kOptimizer,
  kOther,
  kRecompute,
  kReceive,
  kTensor,   // collectives of tensor and sequence parallelism
  kContext,  // keys and values around the context ranks
  kExpert,   // tokens to their experts and back
  kGather,   // all-gathers of sharded weights
  kCopy,     // from and to host memory
  kHost,     // time that the host needs beyond the device's
  kWait,
};
inline constexpr int kNumSliceKinds = 17;
std::string_view to_string(SliceKind kind);

// The purpose of a lane. A device runs one slice at a time per stream; streams run concurrently.
enum class Stream { kCompute, kTensor, kSend, kReceive, kReduce, kCopy };
inline constexpr int kNumStreams = 6;
std::string_view to_string(Stream stream);

struct Lane {
  int process = 0;  // a rank
  std::string process_name;
  std::string name;  // of the stream
  Stream stream = Stream::kCompute;
  bool operator==(const Lane&) const = default;
};

struct Slice {
  int lane = 0;
  std::int64_t start = 0;
  std::int64_t end = 0;
  SliceKind kind = SliceKind::kOther;
  int stage = -1;  // virtual stage; -1 if it belongs to none
  int micro_batch = -1;
  bool operator==(const Slice&) const = default;
};

// A dependency between two slices: a message from a send to its receive, or to the pass that waits
// for it.
struct Flow {
  int from_lane = 0;
  std::int64_t from_time = 0;
  int to_lane = 0;
  std::int64_t to_time = 0;
  std::int64_t id = 0;
  std::string name;
  bool operator==(const Flow&) const = default;
};

struct Sample {
  std::int64_t time = 0;
  double value = 0;
  bool operator==(const Sample&) const = default;
};

// A number over time: bytes of memory held, micro-batches in flight. A value holds until the next
// sample.
struct Counter {
  int process = 0;
  std::string name;
  std::string unit;  // "bytes"
  std::vector<Sample> samples;
  bool operator==(const Counter&) const = default;
};

// A named interval above the lanes: a step.
struct Mark {
  int process = -1;  // -1 = all
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::string name;
  bool operator==(const Mark&) const = default;
};
// Has the name that PyTorch's profiler uses for steps, so that tools for its traces find it.
Mark step_mark(int step, std::int64_t start, std::int64_t end);

struct Timeline {
  std::vector<Lane> lanes;
  std::vector<Slice> slices;
  std::vector<Flow> flows{};
  std::vector<Counter> counters{};
  std::vector<Mark> marks{};
  int num_ranks = 0;  // of the whole job, which may have more ranks than this timeline; 0 = unknown

  std::int64_t end() const;  // the largest end of a slice or mark, or time of a sample
  bool operator==(const Timeline&) const = default;
};

// A description of what is wrong with a timeline; empty if its invariants hold.
std::string first_fault(const Timeline& timeline);

// The lanes, slices, counters and marks of one process, and the flows inside it.
Timeline of_process(const Timeline& timeline, int process);

// For every lane, the indices of its slices, in order.
std::vector<std::vector<std::size_t>> slices_by_lane(const Timeline& timeline);

}  // namespace nereus::timeline
