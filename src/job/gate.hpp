// Whose turn a device is: a page of memory that a foreground's rank, a background's rank on the
// same device and the launcher share.
//
// The foreground's rank opens the gate while it will not need the device: as long as it waits for
// other ranks, and for a moment after each step. The background's rank cuts its work into pieces (a
// layer's pass) and enters with one only where it will be done before the gate closes:
//
//   max(now, end of what it has under way) + piece <= open_until
//
// So the device runs one of them at a time, and the foreground finds it free when it comes back.
// The launcher decides how long the gate may be open in a step (`grant`), how much of that may be
// more than the waiting (`most_yield`), and what of it is saved until one step in kStepsPerTurn
// gives all of it at once (`long_yield`), from the foreground's step times
// (launch/background/pace.hpp). What to change from one job to the other takes is lost in every
// opening; so where steps are short, many short openings are mostly that, and one long one is not.
// It is the same step on all ranks, which wait for each other.
//
// A job whose pieces have never run cannot know whether they fit. Where it says so the foreground
// gives it the device once, at the end of one step, until it knows or for kLongestFirst.
//
//   Gate gate = Gate::make(file);              // the launcher; open for good
//   Gate gate(file);                           // a rank
//   GateHost host(gate);  host.close();        // the foreground: its first step begins
//   host.give_way(0.008);                      // it would wait so long: seconds that it gave
//   gate.page().open_until                     // the background looks (worker/state/pieces.hpp)
//
// Times are nanoseconds of the steady clock, which is one for all processes of a host.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

namespace nereus::job {

inline constexpr std::int64_t kAlways = std::numeric_limits<std::int64_t>::max();

// Who waits there; a new one's pieces have not run yet.
enum class Guest : int { kNobody, kNew, kKnown };

struct GatePage {
  std::atomic<std::int64_t> open_until = kAlways;  // by the foreground; 0: closed
  std::atomic<std::uint32_t> num_openings = 0;     // whoever waits sleeps until it changes
  // By the launcher. A foreground that is measured alone grants nothing.
  alignas(64) std::atomic<std::int64_t> grant = 0;  // of a step
  std::atomic<std::int64_t> most_yield = 0;         // of that, beyond what is waited anyway
  std::atomic<std::int64_t> long_yield = 0;         // the same, by one step for many
  // By the foreground: steps in which a piece waited that is longer than a step may give.
  alignas(64) std::atomic<std::int64_t> num_too_long = 0;
  std::atomic<std::int64_t> longest = 0;  // of those pieces
  // By the background.
  alignas(64) std::atomic<std::int64_t> wanted =
      0;                               // what the piece takes that waits; 0: none does
  std::atomic<std::int64_t> used = 0;  // by all pieces so far
  std::atomic<Guest> guest = Guest::kNobody;
  // In that opening no other piece fits, and the last of those that did is done then.
  std::atomic<std::uint32_t> declined = 0;
  std::atomic<std::int64_t> free_at = 0;
  std::atomic<std::int64_t> num_pieces = 0;
  std::atomic<std::int64_t> num_late = 0;  // of them, done after the gate had closed
};

std::int64_t gate_now();

class Gate {
 public:
  static Gate make(const std::string& file);
  explicit Gate(const std::string& file);  // throws Errors where there is none
  GatePage& page() const { return *page_; }
  // Until then, on the steady clock; wakes who waits.
  void open(std::int64_t until) const;
  void close() const { page_->open_until = 0; }
  // Until it is opened after it was `seen` to have been so many times, or for so long.
  void wait_for_opening(std::uint32_t seen, std::int64_t nanoseconds) const;

 private:
  explicit Gate(std::shared_ptr<GatePage> page) : page_(std::move(page)) {}
  std::shared_ptr<GatePage> page_;
};

// The foreground's side. When it ends the gate is open for good. `watches`: it has a core of its
// own, and goes on as soon as the background has used what it can; else it sleeps.
class GateHost {
 public:
  explicit GateHost(Gate gate, bool watches = false) : gate_(std::move(gate)), watches_(watches) {}
  ~GateHost() { gate_.open(kAlways); }
  GateHost(const GateHost&) = delete;
  GateHost& operator=(const GateHost&) = delete;

  void close() { gate_.close(); }
  // A wait for others that will take about so long; close() ends it.
  void open_for(double seconds);
  // At the end of a step: waits for the seconds that it would wait anyway, and for as many more as
  // the launcher lets the background have. Returns what it took.
  double give_way(double gap_s);

  // One step in so many is longer than promised of the others, and some behind it were seen to be
  // slower, for some 30 ms (most likely a GPU's clock that recovers from another job's power). Of
  // so many it is less than one in a hundred.
  static constexpr std::int64_t kStepsPerTurn = 1024, kFirstTurn = 320;
  // Where it was to be measured alone in that step it tries again after so many.
  static constexpr std::int64_t kNextTry = 32;
  static constexpr std::int64_t kLongestFirst = 10'000'000'000;

 private:
  void let_new_one_run();
  void stay_until(std::int64_t most, std::int64_t least) const;
  std::int64_t more_than(std::int64_t gap);
  bool is_turn();

  Gate gate_;
  bool watches_;
  std::int64_t left_ = 0;   // of the step's grant
  bool begun_ = false;      // the step's grant is taken
  std::int64_t saved_ = 0;  // what steps might have given
  std::int64_t num_steps_ = 0;
  bool turn_is_due_ = false;
};

}  // namespace nereus::job
