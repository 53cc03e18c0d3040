// A background job's step as pieces, each of which waits until the device is free for it
// (job/gate.hpp).
//
//   Pieces pieces(gate_file, device);
//   executor.pieces = &pieces;
//   {
//     const Pieces::Turn turn(&pieces, key);      // waits at the gate; null: no gate
//     ..                                          // launches of a layer's pass
//   }
//
// The estimated time of a piece is the second longest of its last four runs, so that one disturbed
// run is ignored. The very first run does not count, because libraries choose their kernels in it.
// If the gate is never open long enough for a piece, the foreground lets it in after a while
// (GateHost). A piece that has not run yet enters whenever the gate is open. On a GPU, pieces are
// launched while earlier ones still run, as long as all will finish before the gate closes.
// Launches never run far ahead: a GPU's clock changes with its power, so the expected end is
// recomputed from the end of the last piece.
//
// On CPUs, a waiting rank sleeps. A rank on a GPU first sleeps for most of the usual time between
// two openings, and then polls the gate, because waking up takes as long as a short piece. If the
// gate opens rarely and for long, such a rank sleeps the whole time.
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

  // `ends` is polled while waiting; once it returns true, pieces enter at once.
  Pieces(const std::string& gate_file, const at::Device& device, std::function<bool()> ends = {});

  // A piece that is running; pieces within it are part of it.
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

  double seconds(Key key) const;         // estimate; 0: it has not run yet
  void expect(Key key, double seconds);  // for a piece that has not run
  // All pieces have run: from now on they must fit into the open time.
  void know_all() { gate_.page().guest = job::Guest::kKnown; }
  // The device belongs to this job only, so pieces are not needed.
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
  std::size_t num_done_ = 0;  // number of pieces at the front of under_way_ that are done
  std::int64_t last_end_ = 0;
  std::int64_t ahead_ = 0;  // estimated time of the pieces that are not done
  std::int64_t busy_until_ = 0;
  std::int64_t between_pieces_ = 0;  // time between two pieces on the device; a recent mean
  // The last opening of the gate that was seen, when it was first seen, and the times between
  // recent openings.
  std::uint32_t opening_ = 0;
  std::int64_t opened_at_ = 0;
  std::array<std::int64_t, 8> between_{};
  int depth_ = 0;
};

}  // namespace nereus::worker
