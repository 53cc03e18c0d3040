// A timeline as a Chrome trace, which Perfetto and chrome://tracing read: complete events ("X")
// with microseconds, a process per rank, a thread per lane, named by metadata events ("M"). Format:
// "Trace Event Format", Google, 2016.
#pragma once

#include <string>

#include "timeline/timeline.hpp"

namespace nereus::timeline {

std::string chrome_trace(const Timeline& timeline);

}  // namespace nereus::timeline
