// Reads a trace of PyTorch's profiler (torch.profiler, from Kineto or, if PyTorch is built without
// it, from the profiler's export): what one rank did at which time.
//
//   std::istream in(&file);
//   Trace trace = read_kineto(in, "rank0.json");
//   trace.steps; trace.collectives; trace.rank;    // -1: the trace does not state it
//
// The format is Chrome's trace events: an object with traceEvents (and distributedInfo: rank,
// world_size, backend), or an array of events only. It uses complete events (ph "X") with ts and
// dur in microseconds:
//
//   ProfilerStep#N                       a step, if the script calls profiler.step()
//   enumerate(DataLoader)#..__next__     the step waits for its batch
//   gloo:*, mpi:*, ucc:*                 collectives on CPUs, while they are in flight
//   cat kernel, named nccl*              collectives on GPUs; other kernels compute, and memset too
//   cat gpu_memcpy, "HtoD" in its name   copies to the device
//   cat cpu_op (or none), all others     operations, except c10d::*, which start collectives
//
// It reads the text once and keeps only 16 bytes per event.
#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <string>
#include <vector>

namespace nereus::measure {

// Nanoseconds from begin to end.
struct Span {
  std::int64_t begin = 0, end = 0;
  bool operator==(const Span&) const = default;
};

struct Trace {
  std::string file;
  int rank = -1;
  int num_ranks = 0;  // 0: the trace does not state it
  std::string backend;
  bool on_gpu = false;
  std::map<std::int64_t, Span> steps;  // by number
  std::vector<Span> loading, collectives, copies;
  std::vector<Span> work;  // operations on CPUs, kernels on GPUs
};

// Throws Errors: measure.trace-truncated, measure.trace-broken, measure.no-trace.
Trace read_kineto(std::istream& in, const std::string& file);

}  // namespace nereus::measure
