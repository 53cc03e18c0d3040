#include "worker/state/gradient_buckets.hpp"

#include <chrono>

#include "base/error.hpp"

namespace nereus::worker {

bool GradientBuckets::is_small(const LayerState& state) const {
  return state.summed_over() && static_cast<std::int64_t>(state.gradients().nbytes()) < bytes_;
}

GradientBuckets::OfGroup* GradientBuckets::find(const Group* group) {
  for (OfGroup& of : groups_)
    if (of.group == group) return &of;
  return nullptr;
}

void GradientBuckets::add(LayerState& state) {
  if (!is_small(state)) return;
  OfGroup* of = find(state.summed_over());
  if (!of) {
    groups_.push_back({state.summed_over()});
    of = &groups_.back();
  }
  ++of->num_layers;
}

bool GradientBuckets::take(LayerState& state) {
  if (!is_small(state)) return false;
  OfGroup* of = find(state.summed_over());
  NEREUS_CHECK(of != nullptr, "every layer was added");
  state.reduce_team();
  of->filling.push_back(&state);
  of->bytes += static_cast<std::int64_t>(state.gradients().nbytes());
  if (++of->num_taken == of->num_layers || of->bytes >= bytes_) start(*of);
  return true;
}

void GradientBuckets::start(OfGroup& of) {
  Bucket bucket;
  bucket.layers.swap(of.filling);
  of.bytes = 0;
  // One layer needs no copy.
  std::vector<at::Tensor> parts;
  for (const LayerState* layer : bucket.layers) parts.push_back(layer->gradients());
  bucket.flat = parts.size() == 1 ? parts[0] : at::cat(parts);
  bucket.sum = of.group->all_reduce(bucket.flat);
  ++num_started_;
  on_their_way_.push_back(std::move(bucket));
}

double GradientBuckets::finish() {
  double waited = 0;
  for (Bucket& bucket : on_their_way_) {
    const auto start = std::chrono::steady_clock::now();
    bucket.sum->wait();
    waited += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (bucket.layers.size() == 1) continue;
    std::int64_t offset = 0;
    for (const LayerState* layer : bucket.layers) {
      at::Tensor gradients = layer->gradients();
      gradients.copy_(bucket.flat.narrow(0, offset, gradients.numel()));
      offset += gradients.numel();
    }
  }
  on_their_way_.clear();
  for (OfGroup& of : groups_) {
    NEREUS_CHECK(of.num_taken == 0 || of.num_taken == of.num_layers, "all layers are through");
    of.num_taken = 0;
  }
  return waited;
}

}  // namespace nereus::worker
