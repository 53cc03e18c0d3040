// The computing threads of one process, and the loop that accepts results. Shared by run() on one
// machine and by rank 0 of several.
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
  ~Crew();  // closes the ledger and waits for current pieces
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

 private:
  Ledger& ledger_;
  std::vector<JoiningThread> threads_;
};

// `look` is called before every wait, and its exceptions are passed on. May be empty.
Outcome accept_all(const Work& work, Ledger& ledger, const std::function<void()>& look);

std::int64_t window_of(const Options& options, int num_threads_everywhere);

}  // namespace nereus::spread
