#include "worker/comm/rendezvous.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "base/error.hpp"
#include "worker/comm/cards.hpp"

namespace nereus::worker {
namespace {

const char* const kMissingKey = "nereus/missing";

// Without libtorch's stack trace, which tells a user nothing.
std::string first_line(const std::exception& error) {
  const auto* torch = dynamic_cast<const c10::Error*>(&error);
  const std::string text = torch != nullptr ? torch->what_without_backtrace() : error.what();
  return text.substr(0, text.find('\n'));
}

std::string rank_key(int rank) { return fmt::format("nereus/rank/{}", rank); }

// The rank whose key is not in the store after all; the others learn it from the store too.
int agree_who_is_missing(c10d::Store& store, const std::vector<std::string>& keys) {
  if (!store.check({kMissingKey})) {
    std::size_t missing = 0;
    while (missing + 1 < keys.size() && store.check({keys[missing]})) ++missing;
    const auto text = std::to_string(missing);
    store.set(kMissingKey, std::vector<std::uint8_t>(text.begin(), text.end()));
  }
  const auto value = store.get(kMissingKey);
  return std::stoi(std::string(value.begin(), value.end()));
}

// Answers of a store that lives come within this after the time-out of those who wait for others.
constexpr std::chrono::milliseconds kLateAnswer{700};

CommError no_answer(int rank, std::chrono::milliseconds timeout) {
  return {
      fmt::format("rank {}: start failed: rank 0, which hosts the store, answered nothing for {} "
                  "ms",
                  rank, timeout.count()),
      0};
}

// Polls instead of waiting in the store: a wait there cannot be aborted when another rank gives up.
std::vector<std::string> meet_at(c10d::Store& store, int rank, int num_ranks,
                                 const std::string& says, std::chrono::milliseconds timeout) {
  std::vector<std::string> keys;
  for (int i = 0; i < num_ranks; ++i) keys.push_back(rank_key(i));
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  try {
    store.set(rank_key(rank), std::vector<std::uint8_t>(says.begin(), says.end()));
    while (!store.check(keys)) {
      if (std::chrono::steady_clock::now() < deadline && !store.check({kMissingKey})) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        continue;
      }
      const int missing = agree_who_is_missing(store, keys);
      // The others have a moment to learn it, before the store goes with its host.
      if (rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(300));
      throw CommError(fmt::format("rank {}: start failed: rank {} did not come within {} ms", rank,
                                  missing, timeout.count()),
                      missing);
    }
    std::vector<std::string> all;
    for (const std::string& key : keys) {
      const auto value = store.get(key);
      all.emplace_back(value.begin(), value.end());
    }
    return all;
  } catch (const CommError&) {
    throw;
  } catch (const BoardClosed&) {
    throw;
  } catch (const std::exception& error) {
    throw CommError(
        fmt::format("rank {}: start failed: rank 0, which hosts the store, is gone ({})", rank,
                    first_line(error)),
        0);
  }
}

}  // namespace

std::vector<std::string> meet(const StorePointer& store, int rank, int num_ranks,
                              const std::string& says, std::chrono::milliseconds timeout) {
  auto all = in_time(timeout + kLateAnswer,
                     [=] { return meet_at(*store, rank, num_ranks, says, timeout); });
  if (!all) throw no_answer(rank, timeout);
  return std::move(*all);
}

namespace {

// The store ends with rank 0, so rank 0 stays until the others have read from it.
void part(c10d::Store& store, int rank, int num_ranks, std::chrono::milliseconds timeout) {
  const auto key = [](int r) { return fmt::format("nereus/parted/{}", r); };
  std::vector<std::string> keys;
  for (int i = 0; i < num_ranks; ++i) keys.push_back(key(i));
  store.set(key(rank), std::vector<std::uint8_t>{1});
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (rank == 0 && !store.check(keys) && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

}  // namespace

std::vector<std::string> meet_alike(const StorePointer& store, int rank, int num_ranks,
                                    const std::string& address, const std::string& card,
                                    std::chrono::milliseconds timeout) {
  const std::vector<std::string> said =
      meet(store, rank, num_ranks, address_and_card(address, card), timeout);
  try {
    return addresses_of_alike(said);
  } catch (const Errors&) {
    constexpr std::chrono::milliseconds kLongest{5000};
    const auto longest = std::min(timeout, kLongest);
    try {
      in_time(longest + kLateAnswer, [=] {
        part(*store, rank, num_ranks, longest);
        return true;
      });
    } catch (const std::exception&) {  // gone already; what is wrong is known
    }
    throw;
  }
}

StorePointer open_store(const CommOptions& options) {
  if (options.port < 1 || options.port > 65535)
    throw_input_error("comm.port", fmt::format("port {} of rank 0", options.port), {},
                      "1024 to 65535");
  c10d::TCPStoreOptions settings;
  settings.port = static_cast<std::uint16_t>(options.port);
  settings.isServer = options.rank == 0;
  settings.numWorkers = static_cast<std::size_t>(options.num_ranks);
  settings.waitWorkers = false;  // meet() waits, and can name who did not come
  settings.timeout = options.timeout;
  std::string why = fmt::format("no answer for {} ms", options.timeout.count());
  try {
    const auto store =
        in_time(options.timeout + kLateAnswer, [settings, address = options.address] {
          return StorePointer(c10::make_intrusive<c10d::TCPStore>(address, settings));
        });
    if (store) return *store;
  } catch (const std::exception& error) {
    why = first_line(error);
  }
  if (options.rank == 0)
    throw_environment_error(
        "comm.port",
        fmt::format("rank 0 cannot be reached at {}:{}, where it listens: {}", options.address,
                    options.port, why),
        "MASTER_ADDR of the machine of rank 0, and a MASTER_PORT that is free there");
  throw CommError(fmt::format("rank {}: start failed: rank 0 did not answer at {}:{} (MASTER_ADDR, "
                              "MASTER_PORT): {}",
                              options.rank, options.address, options.port, why),
                  0);
}

namespace {

// c10d's form of a board. What only other users of stores need is not there.
class BoardStore : public c10d::Store {
 public:
  explicit BoardStore(std::shared_ptr<Board> board) : board_(std::move(board)) {}
  void set(const std::string& key, const std::vector<std::uint8_t>& value) override {
    board_->put(key, {value.begin(), value.end()});
  }
  std::vector<std::uint8_t> get(const std::string& key) override {
    wait({key}, timeout_);
    const std::string note = *board_->get(key);
    return {note.begin(), note.end()};
  }
  bool check(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys)
      if (!board_->get(key)) return false;
    return true;
  }
  void wait(const std::vector<std::string>& keys) override { wait(keys, timeout_); }
  void wait(const std::vector<std::string>& keys,
            const std::chrono::milliseconds& timeout) override {
    const auto end = std::chrono::steady_clock::now() + timeout;
    while (!check(keys)) {
      if (std::chrono::steady_clock::now() > end)
        throw std::runtime_error(
            fmt::format("no note {} for {} ms", keys.front(), timeout.count()));
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  std::int64_t add(const std::string&, std::int64_t) override { return refuse(); }
  bool deleteKey(const std::string&) override { return refuse() != 0; }
  std::int64_t getNumKeys() override { return refuse(); }
  // Asked for by libtorch 2.11, unknown to 1.13: so not marked as an override.
  StorePointer clone() { return c10::make_intrusive<BoardStore>(board_); }

 private:
  static std::int64_t refuse() { throw std::runtime_error("a board only has notes"); }
  std::shared_ptr<Board> board_;
};

}  // namespace

StorePointer board_store(std::shared_ptr<Board> board) {
  return c10::make_intrusive<BoardStore>(std::move(board));
}

StorePointer local_store() { return c10::make_intrusive<c10d::HashStore>(); }

}  // namespace nereus::worker
