// A Comm that passes all calls to another one; subclasses override some of them.
#pragma once

#include "worker/comm/comm.hpp"

namespace nereus::worker {

class ThroughComm : public Comm {
 public:
  explicit ThroughComm(Comm& real) : real_(real) {}  // must outlive this
  int rank() const override { return real_.rank(); }
  int num_ranks() const override { return real_.num_ranks(); }
  std::string name() const override { return real_.name(); }
  bool waits_on_device() const override { return real_.waits_on_device(); }
  void rehearse(bool on) override { real_.rehearse(on); }
  StreamTimes take_stream_times() override { return real_.take_stream_times(); }
  void connect(const std::vector<Lane>& lanes) override { real_.connect(lanes); }
  void abort() override { real_.abort(); }

 protected:
  Comm& real_;
};

}  // namespace nereus::worker
