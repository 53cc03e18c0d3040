// The threads of one process that compute, and the loop that accepts. What run() on one machine and
// rank 0 of many have in common.
//
//   Ledger ledger(...);
//   const Crew crew(work, ledger, num_threads);     // computes until the ledger is done or closed
//   return accept_all(work, ledger, {});
#pragma once

#include <functional>
#include <vector>

#include "base/joining_thread.hpp"
#include "spread/ledger.hpp"
#include "spread/work.hpp"

namespace nereus::spread {

class Crew {
 public:
  Crew(const Work& work, Ledger& ledger, int num_threads);
  ~Crew();  // closes the ledger and waits for the pieces at hand
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

 private:
  Ledger& ledger_;
  std::vector<JoiningThread> threads_;
};

// `look` is called before every wait; what it throws comes out. May be none.
Outcome accept_all(const Work& work, Ledger& ledger, const std::function<void()>& look);

std::int64_t window_of(const Options& options, int num_threads_everywhere);

}  // namespace nereus::spread
