// Decides whose turn a device is: a page of shared memory between a foreground's rank, a
// background's rank on the same device, and the launcher.
//
// The foreground's rank opens the gate while it does not need the device: while it waits for other
// ranks, and for a moment after each step. The background's rank cuts its work into pieces (a
// layer's pass), and starts one only if it will end before the gate closes:
//
//   max(now, end of its pieces in flight) + piece <= open_until
//
// So only one job uses the device at a time, and the foreground finds it free when it continues.
// From the foreground's step times (launch/background/pace.hpp), the launcher decides how long the
// gate may be open per step (`grant`), how much of that may exceed the waiting time (`most_yield`),
// and how much is saved until one step in kStepsPerTurn grants all of it at once (`long_yield`).
// Every opening loses the time to change from one job to the other. So with short steps, many short
// openings consist mostly of changes, and one long opening does not. All ranks use the same step
// for the long opening, because they wait for each other.
//
// A background job whose pieces have never run cannot predict whether they fit. If it announces
// this (Guest::kNew), the foreground gives it the device once, at the end of one step, until it has
// measured its pieces, but at most for kLongestFirst.
//
//   Gate gate = Gate::make(file);              // the launcher; always open
//   Gate gate(file);                           // a rank
//   GateHost host(gate);  host.close();        // the foreground: its first step begins
//   host.give_way(0.008);                      // instead of waiting that long; returns the seconds
//   gate.page().open_until                     // read by the background (worker/state/pieces.hpp)
//
// Times are nanoseconds of the steady clock, which all processes of a host share.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

namespace nereus::job {

inline constexpr std::int64_t kAlways = std::numeric_limits<std::int64_t>::max();

// The job that waits at the gate; pieces of a new one have not run yet.
enum class Guest : int { kNobody, kNew, kKnown };

struct GatePage {
  std::atomic<std::int64_t> open_until = kAlways;  // written by the foreground; 0: closed
  std::atomic<std::uint32_t> num_openings = 0;     // waiting threads sleep until it changes
  // Written by the launcher. While a foreground is measured without background, nothing is granted.
  alignas(64) std::atomic<std::int64_t> grant = 0;  // per step
  std::atomic<std::int64_t> most_yield = 0;  // how much of the grant may exceed the waiting time
  std::atomic<std::int64_t> long_yield = 0;  // the same, saved up for one step in many
  // Written by the foreground: steps in which the waiting piece was longer than the time that the
  // step may grant.
  alignas(64) std::atomic<std::int64_t> num_too_long = 0;
  std::atomic<std::int64_t> longest = 0;  // the longest of those pieces
  // Written by the background.
  alignas(64) std::atomic<std::int64_t> wanted =
      0;                               // time of the piece that waits; 0: no piece waits
  std::atomic<std::int64_t> used = 0;  // device time of all pieces so far
  std::atomic<Guest> guest = Guest::kNobody;
  // `declined`: the number of the opening into which no further piece fits; `free_at`: when the
  // last piece that did fit ends.
  std::atomic<std::uint32_t> declined = 0;
  std::atomic<std::int64_t> free_at = 0;
  std::atomic<std::int64_t> num_pieces = 0;
  std::atomic<std::int64_t> num_late = 0;  // pieces that ended after the gate had closed
};

std::int64_t gate_now();

class Gate {
 public:
  static Gate make(const std::string& file);
  explicit Gate(const std::string& file);  // throws Errors if it does not exist
  GatePage& page() const { return *page_; }
  // Opens the gate until that time of the steady clock; wakes waiting threads.
  void open(std::int64_t until) const;
  void close() const { page_->open_until = 0; }
  // Waits until the number of openings differs from `seen`, or for that long.
  void wait_for_opening(std::uint32_t seen, std::int64_t nanoseconds) const;

 private:
  explicit Gate(std::shared_ptr<GatePage> page) : page_(std::move(page)) {}
  std::shared_ptr<GatePage> page_;
};

// The foreground's side. Its destructor opens the gate for good. `watches`: the rank has a core of
// its own and polls, so that it continues as soon as the background has used what it can; otherwise
// it sleeps.
class GateHost {
 public:
  explicit GateHost(Gate gate, bool watches = false) : gate_(std::move(gate)), watches_(watches) {}
  ~GateHost() { gate_.open(kAlways); }
  GateHost(const GateHost&) = delete;
  GateHost& operator=(const GateHost&) = delete;

  void close() { gate_.close(); }
  // Opens the gate for a wait for other ranks that will take about `seconds`; close() ends the
  // opening.
  void open_for(double seconds);
  // At the end of a step: instead of waiting for `gap_s`, opens the gate for that time, and for as
  // much longer as the launcher grants. Returns the seconds it took.
  double give_way(double gap_s);

  // One step in kStepsPerTurn grants the time of all, so it is longer than the promise for a single
  // step. In measurements, the steps in the 30 ms after it were slower too (probably because a
  // GPU's clock recovers from the other job's power). With this value, all these steps are fewer
  // than one in a hundred.
  static constexpr std::int64_t kStepsPerTurn = 1024, kFirstTurn = 320;
  // If the step of a turn had to be measured without background, the foreground tries again after
  // this many steps.
  static constexpr std::int64_t kNextTry = 32;
  static constexpr std::int64_t kLongestFirst = 10'000'000'000;

 private:
  void let_new_one_run();
  void stay_until(std::int64_t most, std::int64_t least) const;
  std::int64_t more_than(std::int64_t gap);
  bool is_turn();

  Gate gate_;
  bool watches_;
  std::int64_t left_ = 0;   // left of the step's grant
  bool begun_ = false;      // the step's grant was used
  std::int64_t saved_ = 0;  // granted by earlier steps, but not used
  std::int64_t num_steps_ = 0;
  bool turn_is_due_ = false;
};

}  // namespace nereus::job
