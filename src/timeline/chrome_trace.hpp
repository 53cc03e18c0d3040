// A timeline as a Chrome trace, which Perfetto and chrome://tracing read ("Trace Event Format",
// Google, 2016): a process per rank, a thread per lane.
//
//   M  process_name, process_sort_index, thread_name, thread_sort_index
//   X  a slice, with its micro-batch and stage; steps as slices "ProfilerStep#N" of category
//      user_annotation in a lane of their own, as PyTorch's profiler (Kineto) writes them
//   C  a counter of a process, its unit the name of the value
//   s  f  a flow, with equal cat, name and id; bp = "e" binds its end to the slice around it
//
// Times are microseconds with three digits. Perfetto rounds ts and dur to nanoseconds each on its
// own (CoerceToTs of its JSON importer) and drops a slice that then crosses the one before it by a
// nanosecond. So the edges of slices are rounded here, and dur is the distance of the rounded
// edges: two slices that meet still meet. `exact` writes all six digits (picoseconds) instead, for
// tools that do not round. Ends of a flow are moved into their slice, at most to its nearest
// nanosecond inside: Perfetto binds a flow to the slice that is open at its time.
//
// Where a timeline holds one process and says how many ranks the job has, distributedInfo {rank,
// world_size} tells tools that compare ranks (Holistic Trace Analysis) which one it is. With
// `kineto` slices look like those of PyTorch's profiler to them: category "kernel", "gpu_memcpy" or
// "user_annotation", args.stream, collectives with "ncclKernel" in
// their names and copies with "Memcpy" (hta/utils/utils.py tells kernels apart by those).
//
//   write_chrome_trace("step.json.gz", timeline);      // zipped by its name
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
