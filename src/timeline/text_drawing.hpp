// Lanes in a terminal: one character a moment, a line a lane.
//
// A cell is an equal part of the time drawn; what takes most of it decides its letter, and nothing
// (a blank) where the lane is idle for more of it than any one kind and micro-batch is busy.
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

// Of all lanes, `columns` characters each (at least 1), over [0, timeline.end()).
std::vector<std::string> text_drawing(const Timeline& timeline, int columns);

}  // namespace nereus::timeline
