// Combines the gradient all-reduces of small layers.
//
// A collective takes tens of microseconds even for few bytes, and most layers of a ResNet have only
// a few kilobytes. So layers with gradients smaller than a bucket are copied into a bucket, in the
// order in which their backward passes end. A bucket's reduction starts when it is full
// (job::kBucketBytes), or when no layer of its group is left, and overlaps with the remaining
// backward passes. Larger layers are reduced separately and without a copy.
//
// Members of a group finish its layers in the same order, so they fill the same buckets, and start
// all reductions in the same order. A sum has the same terms as without buckets; with more than two
// ranks, a ring adds them in an order that depends on the position in the buffer.
//
//   buckets.add(state);                                   // at the start, for every layer
//   if (!buckets.take(state)) state.reduce_start();       // after all its micro-batches
//   const double waited = buckets.finish();               // before state.reduce_finish()
#pragma once

#include <cstdint>
#include <vector>

#include "job/bucket_sizes.hpp"
#include "worker/state/layer_state.hpp"

namespace nereus::worker {

class GradientBuckets {
 public:
  explicit GradientBuckets(std::int64_t bucket_bytes = job::kBucketBytes) : bytes_(bucket_bytes) {}
  void add(LayerState& state);
  // Returns false, without doing anything, if the layer is reduced separately.
  bool take(LayerState& state);
  // Waits until every taken layer has its sum; returns the seconds of waiting.
  double finish();
  std::int64_t num_started() const { return num_started_; }  // since construction

 private:
  struct Bucket {
    std::vector<LayerState*> layers;
    at::Tensor flat;
    Handle sum;
  };
  struct OfGroup {
    Group* group = nullptr;
    int num_layers = 0;
    int num_taken = 0;  // in this step
    std::int64_t bytes = 0;
    std::vector<LayerState*> filling;
  };
  bool is_small(const LayerState& state) const;
  OfGroup* find(const Group* group);
  void start(OfGroup& of);

  std::int64_t bytes_;
  std::int64_t num_started_ = 0;
  std::vector<OfGroup> groups_;
  std::vector<Bucket> on_their_way_;
};

}  // namespace nereus::worker
