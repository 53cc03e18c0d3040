// A board for one of several Comms of a generation: it writes to the generation's single board,
// with a prefix on the keys.
//
//   options.board = std::make_shared<PartOfBoard>(board, "helpers/");
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "worker/comm/board.hpp"

namespace nereus::worker {

class PartOfBoard : public Board {
 public:
  PartOfBoard(std::shared_ptr<Board> board, std::string prefix)
      : board_(std::move(board)), prefix_(std::move(prefix)) {}
  void put(const std::string& key, const std::string& note) override {
    board_->put(prefix_ + key, note);
  }
  std::optional<std::string> get(const std::string& key) override {
    return board_->get(prefix_ + key);
  }
  bool closed() override { return board_->closed(); }

 private:
  std::shared_ptr<Board> board_;
  std::string prefix_;
};

}  // namespace nereus::worker
