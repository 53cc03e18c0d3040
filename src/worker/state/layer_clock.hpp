// Measures the time of each layer's passes in a real step, and of the update at its end. `nereus
// measure` makes profiles of these times.
//
//   LayerClock clock(device, num_layers);
//   executor.layer_clock = &clock;
//   executor.run(step);                           // calls begin() and end() for every pass
//   clock.settle();
//   clock.seconds(layer, LayerClock::kForward);   // per step, over all micro-batches
//
// Times are those of the device (worker/device/stream_clock.hpp). They do not exist for a step that
// runs as a CUDA graph; then nereus measure uses differences of shortened steps
// (worker/measure/measure_layers.hpp).
#pragma once

#include <array>
#include <vector>

#include "worker/device/stream_clock.hpp"

namespace nereus::worker {

class LayerClock {
 public:
  enum What { kForward, kBackward, kUpdate };

  LayerClock(const at::Device& device, int num_layers) : clock_(device), layers_(num_layers) {}
  void begin_step() {
    clock_.begin(true);
    spans_.clear();
  }
  std::int64_t now() { return clock_.now(); }
  // The update belongs to the whole step; it is recorded for layer 0.
  void end(int layer, What what, std::int64_t start) {
    spans_.push_back({layer, what, start, clock_.now()});
  }
  void settle() {
    clock_.settle();
    seconds_.assign(static_cast<std::size_t>(layers_), {});
    for (const Span& span : spans_)
      seconds_[span.layer][span.what] +=
          1e-9 * static_cast<double>(clock_.time_of(span.end) - clock_.time_of(span.start));
  }
  double seconds(int layer, What what) const { return seconds_[layer][what]; }

 private:
  struct Span {
    int layer;
    What what;
    std::int64_t start, end;
  };
  StreamClock clock_;
  int layers_;
  std::vector<Span> spans_;
  std::vector<std::array<double, 3>> seconds_;
};

}  // namespace nereus::worker
