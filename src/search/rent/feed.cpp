#include "search/rent/feed.hpp"

#include <algorithm>

namespace nereus::rent {

FeedTime feed_time(const Feed& feed, const FeedMachine& machine, int machines, double batch) {
  FeedTime time;
  if (feed.core_seconds > 0 && machine.cores > 0)
    time.prepare = batch * feed.core_seconds / (machines * machine.cores);
  if (feed.sample_bytes > 0 && feed.disk > 0) {
    const double cached = feed.dataset_bytes > 0
                              ? std::min(1.0, kCacheShare * machine.memory / feed.dataset_bytes)
                              : 0;
    time.fetch = batch * feed.sample_bytes * (1 - cached) / (machines * feed.disk);
  }
  return time;
}

}  // namespace nereus::rent
