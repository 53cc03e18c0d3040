// Gradients of small layers, summed over data ranks together.
//
// A collective costs tens of microseconds however little it carries, and most layers of a ResNet
// have a few kilobytes. So layers whose gradients are smaller than a bucket are copied into one, in
// the order in which the backward passes are through with them. A bucket starts on its way when it
// is full (job::kBucketBytes), or when no layer of its group is left, beside what is left of the
// backward passes. Larger layers travel alone, from where they lie.
//
// Members of a group are through with its layers in the same order, so they fill the same buckets
// and start them, and what travels alone, in the same order. A sum has the same terms as before; on
// more than two ranks a ring adds them in an order that depends on the place in the buffer.
//
//   buckets.add(state);                                   // at the start, every layer
//   if (!buckets.take(state)) state.reduce_start();       // all its micro-batches are through
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
  // False where the layer travels alone: nothing is done then.
  bool take(LayerState& state);
  // Every taken layer has its sum. Seconds that this waited.
  double finish();
  std::int64_t num_started() const { return num_started_; }  // since the start

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
