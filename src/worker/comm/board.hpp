// A board of notes that all ranks of a job see: how they tell each other their addresses before any
// of them can talk to another. Whoever brings the ranks together (launch/elastic) carries it.
//
//   board.put("rank/3", "10.0.0.7:5123");
//   std::optional<std::string> note = board.get("rank/0");     // nothing yet: ask again
//
// Notes are of one generation of ranks. Once that is over, both throw BoardClosed.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>

namespace nereus::worker {

struct BoardClosed : std::runtime_error {
  BoardClosed() : std::runtime_error("this generation of ranks is over") {}
};

class Board {
 public:
  virtual ~Board() = default;
  virtual void put(const std::string& key, const std::string& note) = 0;
  virtual std::optional<std::string> get(const std::string& key) = 0;
  virtual bool closed() = 0;
};

}  // namespace nereus::worker
