// The same program on many ranks: each calls the same functions in the same order, rank 0 leads.
//
//   const auto ranks = ...;                         // alone(), over(link) or mpi_link.hpp
//   const std::string study = ranks->share(ranks->leads() ? read(file) : "");
//   const Outcome outcome = ranks->run(work, {});   // work.hpp: accept is called on rank 0 alone
//   if (ranks->leads()) print(...);
//   return ranks->finish(exit_code);
//
// Protocol (rank_wire.hpp has the messages). Other ranks ask for pieces by credit, as many as keep
// their threads busy; rank 0 hands out the smallest free ones, collects results and accepts in
// order. It computes too, on its threads but one (at least one, so that it ends alone if it must).
// Every rank gives a sign of life each second. One that is silent for `lost_after_s` is lost:
// its pieces go to others; should it speak again, it is back. A piece that is overdue (ledger.hpp)
// is redone by whoever has nothing better to do. A rank that hears nothing of rank 0 for six times
// as long throws an environment error. So no wait is without an end, whichever ranks are gone.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>

#include "spread/link.hpp"
#include "spread/work.hpp"

namespace nereus::spread {

struct Settings {
  std::string build = {};       // the same on every rank, or rank 0 throws an environment error
  double lost_after_s = 10;     // of silence
  double finish_within_s = 10;  // for pieces still at hand on other ranks, before they are ended
  std::function<void(const std::string&)> say = {};  // rank 0: ranks lost and back; any thread

  double alive_every_s() const { return std::min(1.0, lost_after_s / 8); }
};

// Thrown on other ranks by share and run when rank 0 has finished: it has said why, they say
// nothing.
struct Dismissed {};

class Ranks {
 public:
  virtual ~Ranks() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  bool leads() const { return rank() == 0; }

  virtual std::string share(std::string bytes) = 0;  // rank 0's bytes, on every rank
  virtual Outcome run(const Work& work, const Options& options) = 0;

  // The last call; gives exit_code back. Rank 0 waits for the others. Where a rank is lost this
  // does not return: it ends what is left of the job, itself included, with that code, so all must
  // be written. Without this call (an exception that nobody caught) the launcher ends the job.
  virtual int finish(int exit_code) = 0;
};

std::unique_ptr<Ranks> alone();
std::unique_ptr<Ranks> over(std::unique_ptr<Link> link, Settings settings);

}  // namespace nereus::spread
