// Rank 0 of several: distributes pieces, collects and accepts results, and monitors the other
// ranks. ranks.hpp has the protocol.
#pragma once

#include <condition_variable>
#include <mutex>
#include <vector>

#include "spread/courier.hpp"
#include "spread/ledger.hpp"
#include "spread/rank_wire.hpp"
#include "spread/ranks.hpp"

namespace nereus::spread {

class Leader : public Ranks {
 public:
  Leader(std::unique_ptr<Link> link, Settings settings);
  int rank() const override { return 0; }
  int size() const override { return link_->size(); }
  std::string share(std::string bytes) override;
  Outcome run(const Work& work, const Options& options) override;
  int finish(int exit_code) override;

 private:
  struct Peer {
    std::string name;       // "rank 3 on node17"
    std::string complaint;  // why it cannot take part, e.g. another build
    int threads = 1;
    std::int64_t run = 0;     // the run it is ready for
    std::int64_t credit = 0;  // number of pieces it requests now
    std::int64_t first = 0;   // the first piece of that run, as the peer states it
    std::int64_t count = 0;
    std::string work_name;
    bool lost = false;
    bool bye = false;
  };

  void on_message(int from, const std::string& bytes);
  void on_hello(Peer& peer, Reader& reader, int from);
  void on_ready(Peer& peer, Reader& reader);
  void on_results(Peer& peer, Reader& reader);
  void on_tick();
  void look_for_lost(int rank, Peer& peer);
  void hand_out(int rank, Peer& peer);
  void complain() const;
  void say(const std::string& text) const;
  void send_to_all(const std::string& bytes);
  std::int64_t window() const;
  void end_run(Outcome& outcome);
  bool wait_for_byes();
  void wait_for_letters();

  const std::unique_ptr<Link> link_;
  const Settings settings_;
  mutable std::mutex mutex_;  // protects all below; locked before the ledger's, never after it
  std::vector<Peer> peers_;   // by rank; [0] is unused
  std::int64_t run_ = 0;
  Options options_;
  const Work* work_ = nullptr;
  Ledger* ledger_ = nullptr;  // during a run
  Courier courier_;           // last: its thread uses all of the above
};

}  // namespace nereus::spread
