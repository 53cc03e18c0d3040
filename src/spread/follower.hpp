// A rank other than 0: computes the pieces that rank 0 sends, and returns the results. ranks.hpp
// has the protocol.
//
// Credit: with t threads and pieces that take d seconds, the rank requests t + min(3 t, t x 20 ms /
// d) pieces. So the latency to rank 0 overlaps with short pieces, and long pieces do not wait here
// while another rank is idle.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "spread/courier.hpp"
#include "spread/rank_wire.hpp"
#include "spread/ranks.hpp"

namespace nereus::spread {

class Follower : public Ranks {
 public:
  Follower(std::unique_ptr<Link> link, Settings settings);
  int rank() const override { return link_->rank(); }
  int size() const override { return link_->size(); }
  std::string share(std::string bytes) override;
  Outcome run(const Work& work, const Options& options) override;
  int finish(int exit_code) override;

 private:
  struct Result {
    std::int64_t piece = 0;
    bool failed = false;
    std::string bytes;
  };

  void on_message(const std::string& bytes);
  void on_pieces(Reader& reader);
  void on_tick();
  std::int64_t new_credit();
  void compute_pieces(const Work& work);
  Result compute(const Work& work, std::int64_t piece) const;
  template <typename Ready>
  void wait_for(std::unique_lock<std::mutex>& lock, const Ready& ready);
  double leader_lost_after_s() const { return 6 * settings_.lost_after_s; }

  const std::unique_ptr<Link> link_;
  const Settings settings_;
  std::mutex mutex_;  // protects all below
  std::condition_variable changed_;
  std::int64_t run_ = 0;
  bool running_ = false;
  int num_threads_ = 1;
  std::deque<std::int64_t> pieces_;       // to compute
  std::vector<Result> results_;           // to send
  std::int64_t in_hand_ = 0;              // requested and not answered, waiting, or being computed
  double mean_s_ = 0;                     // per piece, with more weight on recent ones; 0 = unknown
  std::map<std::int64_t, Outcome> ends_;  // by run, from this run on
  std::deque<std::string> shared_;
  bool dismissed_ = false;
  bool leader_lost_ = false;
  bool close_ = false;
  bool all_there_ = false;
  Courier courier_;  // last: its thread uses all of the above
};

}  // namespace nereus::spread
