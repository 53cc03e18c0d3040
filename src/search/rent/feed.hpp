// How long the machines' processors and disks need to prepare one batch, concurrently with the
// computation of a step:
//
//   prepare = batch core_seconds / (machines cores)
//   fetch   = batch sample_bytes (1 - cached) / (machines disk)
//   cached  = min(1, kCacheShare memory / dataset_bytes)      share of samples found in memory
//   step    = max(computation, prepare, fetch)
//
// Loading is pipelined, so the slowest of the three decides. Samples are read in random order, so a
// cache that holds a part of the data set serves that part of the reads. If an offer does not say
// otherwise, a virtual CPU counts as half a core (one of two hyper-threads). The devices'
// processors are not used.
//
//   const FeedTime t = feed_time(feed, machine, 8, 1024);
//   t.seconds();
#pragma once

namespace nereus::rent {

// Share of memory that the file system's cache can use; the training processes use the rest.
inline constexpr double kCacheShare = 0.8;

// The demands of one sample; zero = not counted.
struct Feed {
  double core_seconds = 0;   // core seconds, to decode and augment
  double sample_bytes = 0;   // on disk
  double dataset_bytes = 0;  // 0 = does not fit any memory
  double disk = 0;           // bytes/s that one machine can read
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
