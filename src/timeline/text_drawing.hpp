// Lanes in a terminal: one line per lane, one character per interval.
//
// Each character stands for an equal interval. It shows the kind and micro-batch that takes most of
// that interval, or is blank if the lane is idle for longer than that.
//   digits   forward: the last digit of the micro-batch       letters   backward: a = micro-batch 0
//   .        weight gradients                                  :         recompute
//   >  <     send, receive                                     t c e     tensor, context, expert
//   =        gradient reduction                                +         gather
//   *        optimizer                                         ~ h ? _   copy, host, other, wait
//
//   for (const std::string& line : text_drawing(timeline, 60)) ...
#pragma once

#include <string>
#include <vector>

#include "timeline/timeline.hpp"

namespace nereus::timeline {

// All lanes, with `columns` characters each (at least 1), over [0, timeline.end()).
std::vector<std::string> text_drawing(const Timeline& timeline, int columns);

}  // namespace nereus::timeline
