// How long the machines' processors and disks need to make one batch ready, beside which a step's
// computation runs:
//
//   prepare = batch core_seconds / (machines cores)
//   fetch   = batch sample_bytes (1 - cached) / (machines disk)
//   cached  = min(1, kCacheShare memory / dataset_bytes)      share of samples found in memory
//   step    = max(computation, prepare, fetch)
//
// Loading is pipelined, as every loader's is, so the slowest of the three sets the pace. Samples
// are read in random order, so a cache that holds a part of the data set serves that part of the
// reads. A virtual CPU is taken as half a core where the offer does not say (two hyper-threads);
// the devices' own cores take no part.
//
//   const FeedTime t = feed_time(feed, machine, 8, 1024);
//   t.seconds();
#pragma once

namespace nereus::rent {

// Of the file system's cache, of all memory: the rest is the trainers' own.
inline constexpr double kCacheShare = 0.8;

// Of one sample; zero = not counted.
struct Feed {
  double core_seconds = 0;   // of a core, to decode and augment
  double sample_bytes = 0;   // on disk
  double dataset_bytes = 0;  // 0 = does not fit any memory
  double disk = 0;           // bytes/s that one machine reads
};

struct FeedMachine {
  double cores = 0;   // 0 = not stated
  double memory = 0;  // bytes; 0 = not stated
};

struct FeedTime {
  double prepare = 0;
  double fetch = 0;
  double seconds() const { return prepare > fetch ? prepare : fetch; }
};

FeedTime feed_time(const Feed& feed, const FeedMachine& machine, int machines, double batch);

}  // namespace nereus::rent
