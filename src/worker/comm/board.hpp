// A board of notes that all ranks of a job can read: ranks use it to publish their addresses before
// they can communicate. The process that brings the ranks together (launch/elastic) provides it.
//
//   board.put("rank/3", "10.0.0.7:5123");
//   std::optional<std::string> note = board.get("rank/0");     // empty: not there yet
//
// Notes belong to one generation of ranks. After its end, both functions throw BoardClosed.
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
