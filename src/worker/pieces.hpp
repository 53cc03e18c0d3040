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
// How long a piece takes is the longest of its last four, without its very first, in which
// libraries choose their kernels. With every half second that it waits half of that is tried: else
// one that was disturbed would hardly run again. One that has not run yet enters whenever the gate
// is open. On a GPU pieces are launched ahead of those that still run, as long as all will be done
// in time; what they took is read from the device's own clock while nothing can enter anyway.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <unordered_map>
#include <vector>

#include "job/gate.hpp"
#include "worker/stream_clock.hpp"

namespace nereus::worker {

class Pieces {
 public:
  using Key = std::int64_t;
  enum class Kind { kBegin, kForward, kRecompute, kBackward, kWeights, kNorm, kUpdate };
  static Key key(int layer, Kind kind) { return 8 * Key{layer} + static_cast<Key>(kind); }

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

  double seconds(Key key) const;  // what it is thought to take; 0: it has not run yet

 private:
  struct Known {
    std::array<std::int64_t, 4> last{};  // nanoseconds
    std::size_t runs = 0;
    void add(std::int64_t took);
    std::int64_t longest() const { return *std::max_element(last.begin(), last.end()); }
  };
  struct UnderWay {
    Key key;
    std::int64_t start, end;  // tickets of the clock
    std::int64_t open_until;
  };

  void enter(Key key);
  void leave();
  void settle();

  job::Gate gate_;
  StreamClock clock_;
  std::function<bool()> ends_;
  std::unordered_map<Key, Known> known_;
  std::vector<UnderWay> under_way_;
  std::int64_t busy_until_ = 0;
  int depth_ = 0;
};

}  // namespace nereus::worker
