// For tests: a network in memory with ranks as threads, which can lose ranks on request.
//
//   MemoryNetwork network(3);
//   std::jthread other([&] { over(network.link(1), settings)->run(work, {}); });
//   network.cut(1);                       // from now on, rank 1 neither sends nor receives
//   network.mend(1);                      // delivers the messages that were held back
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "spread/link.hpp"

namespace nereus::spread {

class MemoryNetwork {
 public:
  explicit MemoryNetwork(int size) : boxes_(static_cast<std::size_t>(size)) {}

  std::unique_ptr<Link> link(int rank) { return std::make_unique<MemoryLink>(*this, rank); }
  void cut(int rank) {
    const std::lock_guard lock(mutex_);
    box(rank).cut = true;
  }
  void mend(int rank) {
    const std::lock_guard lock(mutex_);
    box(rank).cut = false;
    for (auto& [to, bytes] : box(rank).held) box(to).letters.emplace_back(rank, std::move(bytes));
    box(rank).held.clear();
  }

  // How each rank's link was closed; -1 = not closed.
  int closed_with_all_there(int rank) {
    const std::lock_guard lock(mutex_);
    return boxes_[rank].closed;
  }

 private:
  struct Box {
    std::deque<std::pair<int, std::string>> letters;
    std::deque<std::pair<int, std::string>> held;  // from a rank that is cut
    bool cut = false;
    int closed = -1;
  };

  class MemoryLink : public Link {
   public:
    MemoryLink(MemoryNetwork& network, int rank) : network_(network), rank_(rank) {}
    int rank() const override { return rank_; }
    int size() const override { return static_cast<int>(network_.boxes_.size()); }
    int threads() const override { return 2; }
    std::string host() const override { return "memory"; }
    bool send(int to, std::string bytes) override {
      const std::lock_guard lock(network_.mutex_);
      if (network_.box(rank_).cut) {
        network_.box(rank_).held.emplace_back(to, std::move(bytes));
      } else {
        network_.box(to).letters.emplace_back(rank_, std::move(bytes));
      }
      return true;
    }
    bool receive(int& from, std::string& bytes) override {
      const std::lock_guard lock(network_.mutex_);
      auto& letters = network_.box(rank_).letters;
      if (letters.empty() || network_.box(rank_).cut) return false;
      from = letters.front().first;
      bytes = std::move(letters.front().second);
      letters.pop_front();
      return true;
    }
    std::size_t num_pending(int) override { return 0; }
    void close(bool all_there, int) override {
      const std::lock_guard lock(network_.mutex_);
      network_.box(rank_).closed = all_there ? 1 : 0;
    }

   private:
    MemoryNetwork& network_;
    const int rank_;
  };

  Box& box(int rank) { return boxes_[rank]; }

  std::mutex mutex_;
  std::vector<Box> boxes_;
};

}  // namespace nereus::spread
