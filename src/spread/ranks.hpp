// Runs the same program on many ranks: all call the same functions in the same order, and rank 0
// leads.
//
//   const auto ranks = ...;                         // alone(), over(link) or mpi_link.hpp
//   const std::string study = ranks->share(ranks->leads() ? read(file) : "");
//   const Outcome outcome = ranks->run(work, {});   // work.hpp: accept is only called on rank 0
//   if (ranks->leads()) print(...);
//   return ranks->finish(exit_code);
//
// Protocol (rank_wire.hpp has the messages). Other ranks request as many pieces as keep their
// threads busy (credit). Rank 0 hands out the smallest free pieces, collects results, and accepts
// them in order. It also computes, on all its threads but one (at least one, so that it can finish
// without other ranks). Every rank sends a heartbeat each second. A rank that is silent for
// `lost_after_s` is lost: its pieces go to others; if it sends again, it is back. A piece that is
// overdue (ledger.hpp) is computed again by a rank without other work. A rank that hears nothing
// from rank 0 for 6 x `lost_after_s` throws an environment error. So no wait is endless, whichever
// ranks are gone.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>

#include "spread/link.hpp"
#include "spread/work.hpp"

namespace nereus::spread {

struct Settings {
  std::string build = {};       // equal on every rank, or rank 0 throws an environment error
  double lost_after_s = 10;     // of silence
  double finish_within_s = 10;  // for remaining pieces on other ranks, which are then killed
  // Rank 0: reports ranks lost and back; called from any thread.
  std::function<void(const std::string&)> say = {};

  double alive_every_s() const { return std::min(1.0, lost_after_s / 8); }
};

// Thrown on other ranks by share and run when rank 0 has finished. Rank 0 has reported the reason,
// so they must print nothing.
struct Dismissed {};

class Ranks {
 public:
  virtual ~Ranks() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  bool leads() const { return rank() == 0; }

  virtual std::string share(std::string bytes) = 0;  // returns rank 0's bytes on every rank
  virtual Outcome run(const Work& work, const Options& options) = 0;

  // The last call; returns exit_code. Rank 0 waits for the others. If a rank is lost, this does not
  // return: it kills the rest of the job, including this process, with that code, so all output
  // must be written before. Without this call (after an uncaught exception), the launcher ends the
  // job.
  virtual int finish(int exit_code) = 0;
};

std::unique_ptr<Ranks> alone();
std::unique_ptr<Ranks> over(std::unique_ptr<Link> link, Settings settings);

}  // namespace nereus::spread
