// A timeline as a picture: one row per lane, time to the right with an axis below, micro-batches
// numbered if there is space, one color per kind with its name below, counters as lines. It is
// readable in light and dark mode (prefers-color-scheme), and with 64 lanes of 512 micro-batches:
// slices narrower than a third of a pixel are merged with their neighbors, in the color of the kind
// that takes most of the time there. Each lane is one path per kind, so the file stays small.
//
//   write_file("step.svg", svg_picture(timeline, "llama3-8b, 4 stages, 16 micro-batches"));
#pragma once

#include <string>

#include "timeline/timeline.hpp"

namespace nereus::timeline {

struct SvgOptions {
  bool counters = true;
};

std::string svg_picture(const Timeline& timeline, const std::string& title,
                        const SvgOptions& options = {});

}  // namespace nereus::timeline
