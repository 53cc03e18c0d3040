// A timeline as a picture: a row a lane, time to the right, micro-batches numbered where there is
// room, a colour a kind with its name below. Readable in light and dark.
#pragma once

#include <string>

#include "timeline/timeline.hpp"

namespace nereus::timeline {

std::string svg_picture(const Timeline& timeline, const std::string& title);

}  // namespace nereus::timeline
