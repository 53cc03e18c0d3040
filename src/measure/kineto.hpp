// A trace of PyTorch's profiler (torch.profiler, by Kineto or, where a PyTorch is built without it,
// by the profiler's own export): what was done when by one rank.
//
//   std::istream in(&file);
//   Trace trace = read_kineto(in, "rank0.json");
//   trace.steps; trace.collectives; trace.rank;    // -1: the trace does not say
//
// The format is Chrome's trace events: an object with traceEvents (and distributedInfo: rank,
// world_size, backend) or an array of events alone. Of complete events (ph "X") with ts and dur in
// microseconds:
//
//   ProfilerStep#N                       a step, where the script calls profiler.step()
//   enumerate(DataLoader)#..__next__     the step waits for its batch
//   gloo:*, mpi:*, ucc:*                 collectives on CPUs, as long as they are under way
//   cat kernel, named nccl*              collectives on GPUs; other kernels compute, as memset does
//   cat gpu_memcpy, "HtoD" in its name   copies to the device
//   cat cpu_op (or none), the rest       operations; c10d::* start collectives and are neither
//
// One pass over the text, 16 bytes an event; nothing else is kept.
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
  int num_ranks = 0;  // 0: the trace does not say
  std::string backend;
  bool on_gpu = false;
  std::map<std::int64_t, Span> steps;  // by number
  std::vector<Span> loading, collectives, copies;
  std::vector<Span> work;  // operations on CPUs, kernels on GPUs
};

// Throws Errors: measure.trace-truncated, measure.trace-broken, measure.no-trace.
Trace read_kineto(std::istream& in, const std::string& file);

}  // namespace nereus::measure
