// A timeline as a Chrome trace, which Perfetto and chrome://tracing read ("Trace Event Format",
// Google, 2016): one process per rank, one thread per lane.
//
//   M  process_name, process_sort_index, thread_name, thread_sort_index
//   X  a slice, with its micro-batch and stage; steps are slices "ProfilerStep#N" of category
//      user_annotation in a separate lane, as written by PyTorch's profiler (Kineto)
//   C  a counter of a process; its unit is the name of the value
//   s  f  a flow, with equal cat, name and id; bp = "e" binds its end to the slice around it
//
// Times are microseconds with three digits. Perfetto rounds ts and dur to nanoseconds separately
// (CoerceToTs of its JSON importer), and drops a slice if it then overlaps the previous one by a
// nanosecond. So the edges of slices are rounded here, and dur is the distance between the rounded
// edges: two adjacent slices stay adjacent. `exact` writes all six digits (picoseconds) instead,
// for tools that do not round. Each end of a flow is moved into its slice, at most to the nearest
// nanosecond inside it, because Perfetto binds a flow's end to the slice that is open at that time.
//
// If a timeline has one process and the number of ranks of the job, distributedInfo {rank,
// world_size} tells tools that compare ranks (Holistic Trace Analysis) which rank it is. With
// `kineto`, slices look to these tools like those of PyTorch's profiler: category "kernel",
// "gpu_memcpy" or "user_annotation", args.stream, collectives with "ncclKernel" in their names and
// copies with "Memcpy" (hta/utils/utils.py identifies kernels by these).
//
//   write_chrome_trace("step.json.gz", timeline);      // compressed because of its name
#pragma once

#include <string>

#include "timeline/timeline.hpp"

namespace nereus::timeline {

struct TraceOptions {
  bool exact = false;
  bool kineto = false;
};

std::string chrome_trace(const Timeline& timeline, const TraceOptions& options = {});
void write_chrome_trace(const std::string& path, const Timeline& timeline,
                        const TraceOptions& options = {});

}  // namespace nereus::timeline
