// A background job's step as pieces, each of which waits until the device is its own
// (job/gate.hpp).
//
//   Pieces pieces(gate_file, device);
//   executor.pieces = &pieces;
//   {
//     const Pieces::Turn turn(&pieces, key);      // waits at the gate; null: no gate
//     ..                                          // launches of a layer's pass
//   }
//
// How long a piece takes is the second longest of its last four, without its very first, in which
// libraries choose their kernels: one time that it was disturbed is forgotten. A piece that the
// gate is never open long enough for is let in by the foreground after a while (GateHost). One that
// has not run yet enters whenever the gate is open. On a GPU pieces are launched ahead of those
// that still run, as long as all will be done in time, but never by much: a GPU's clock falls and
// rises with its power, so that when they will be done is computed anew from when the last was.
//
// On CPUs whoever waits sleeps. A GPU's rank watches the gate when it may soon open, which is most
// of a foreground's step after the last time: to be woken takes as long as a short piece. Where it
// opens seldom, and then for long, it sleeps too.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <unordered_map>
#include <vector>

#include "job/gate.hpp"
#include "worker/device/stream_clock.hpp"

namespace nereus::worker {

class Pieces {
 public:
  using Key = std::int64_t;
  enum class Kind { kBegin, kForward, kRecompute, kBackward, kWeights, kNorm, kUpdate, kRead };
  static Key key(int layer, Kind kind, std::int64_t part = 0) {
    return 8 * (Key{layer} + (part << 24)) + static_cast<Key>(kind);
  }
  static Key key_in_graph(std::size_t piece) { return (Key{1} << 60) + static_cast<Key>(piece); }

  // `ends`: asked while it waits; once true pieces enter at once.
  Pieces(const std::string& gate_file, const at::Device& device, std::function<bool()> ends = {});

  // A piece under way; pieces within it are part of it.
  class Turn {
   public:
    Turn(Pieces* pieces, Key key) : pieces_(pieces) {
      if (pieces_) pieces_->enter(key);
    }
    ~Turn() {
      if (pieces_) pieces_->leave();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    Pieces* pieces_;
  };

  double seconds(Key key) const;         // what it is thought to take; 0: it has not run yet
  void expect(Key key, double seconds);  // of one that has not
  // All of its pieces have run: from now on they must fit.
  void know_all() { gate_.page().guest = job::Guest::kKnown; }
  // The device is this job's for good, so nothing needs to be in pieces.
  bool is_alone() const { return gate_.page().open_until == job::kAlways; }

 private:
  struct Known {
    std::array<std::int64_t, 4> last{};  // nanoseconds
    std::size_t runs = 0;
    void add(std::int64_t took);
    std::int64_t takes() const;
  };
  struct UnderWay {
    Key key;
    std::int64_t start, end;  // tickets of the clock
    std::int64_t open_until;
    std::int64_t takes;
  };

  void enter(Key key);
  void leave();
  void settle();
  void look_at_device();
  void note(const UnderWay& piece);
  void wait_at_gate(std::uint32_t seen, std::int64_t now);
  void note_opening(std::uint32_t number, std::int64_t now);

  job::Gate gate_;
  StreamClock clock_;
  std::function<bool()> ends_;
  bool watches_;
  std::unordered_map<Key, Known> known_;
  std::vector<UnderWay> under_way_;
  std::size_t num_done_ = 0;  // of them, from the first
  std::int64_t last_end_ = 0;
  std::int64_t ahead_ = 0;  // what those that are not done are thought to take
  std::int64_t busy_until_ = 0;
  std::int64_t between_pieces_ = 0;  // what lies between two on the device; the mean of late
  // When the gate was last seen to have opened, for which time, and how long after those before.
  std::uint32_t opening_ = 0;
  std::int64_t opened_at_ = 0;
  std::array<std::int64_t, 8> between_{};
  int depth_ = 0;
};

}  // namespace nereus::worker
