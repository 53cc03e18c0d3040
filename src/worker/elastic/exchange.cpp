#include "worker/elastic/exchange.hpp"

#include <cstring>
#include <map>
#include <numeric>
#include <sstream>

#include <fmt/format.h>

#include "base/error.hpp"
#include "checkpoint/checksum.hpp"

namespace nereus::worker {

namespace {

using checkpoint::Part;
using checkpoint::SharedRun;

constexpr std::size_t kSumBytes = 8;
constexpr std::size_t kMostNamed = 5;  // parts in a message to the user

std::int64_t width_of(const PartName& name) {
  return static_cast<std::int64_t>(checkpoint::element_size(name.dtype));
}

at::Tensor bytes_tensor(std::size_t size) {
  return at::empty({static_cast<std::int64_t>(size)}, at::kByte);
}

std::byte* bytes_at(const at::Tensor& tensor) { return static_cast<std::byte*>(tensor.data_ptr()); }

// The texts of all ranks, by rank.
class Sayings {
 public:
  explicit Sayings(Comm& comm) : rank_(comm.rank()), num_ranks_(comm.num_ranks()) {
    std::vector<int> all(static_cast<std::size_t>(num_ranks_));
    std::iota(all.begin(), all.end(), 0);
    if (num_ranks_ > 1) world_ = comm.group(all);
  }

  std::vector<std::string> of_all(const std::string& mine) {
    if (!world_) return {mine};
    at::Tensor sizes = at::zeros({num_ranks_}, at::kLong);
    sizes[rank_] = static_cast<std::int64_t>(mine.size());
    world_->all_reduce(sizes)->wait();
    std::vector<Range> ranges;
    std::int64_t end = 0;
    for (int i = 0; i < num_ranks_; ++i) {
      const std::int64_t size = sizes[i].item<std::int64_t>();
      ranges.push_back({end, end + size});
      end += size;
    }
    if (end == 0) return std::vector<std::string>(static_cast<std::size_t>(num_ranks_));
    at::Tensor flat = at::zeros({end}, at::kByte);
    std::memcpy(bytes_at(flat) + ranges[rank_].begin, mine.data(), mine.size());
    world_->all_gather(flat, ranges)->wait();
    std::vector<std::string> said;
    for (const Range& range : ranges)
      said.emplace_back(reinterpret_cast<const char*>(bytes_at(flat)) + range.begin,
                        static_cast<std::size_t>(range.size()));
    return said;
  }

 private:
  int rank_;
  int num_ranks_;
  std::shared_ptr<Group> world_;
};

// All moves of one layer from one rank to another.
struct Message {
  int from = 0;
  int to = 0;
  int layer = 0;
  std::vector<const Move*> moves{};
};

class Exchange {
 public:
  Exchange(Comm& comm, const std::vector<Part>& held, const std::vector<Part>& needed,
           const Spoil& spoil)
      : comm_(comm), held_(held), needed_(needed), spoil_(spoil), sayings_(comm) {}

  Exchanged run(bool& filled) {
    for (const std::string& text : sayings_.of_all(to_text(names_of(held_, true))))
      holds_.push_back(parse_names(text));
    for (const std::string& text : sayings_.of_all(to_text(names_of(needed_, false))))
      needs_.push_back(parse_names(text));
    distrusted_ = odd_copies(holds_);
    for (const auto& [rank, place] : distrusted_)
      remark(fmt::format("rank {}'s copy of {} differs from the others'", rank,
                         holds_[rank][place].tensor));
    Sources sources = find_sources(holds_, needs_, distrusted_);
    while (sources.missing.empty()) {
      move_all(sources.moves);
      filled = refused_.empty();
      const Wanted again = agree_on_refused();
      if (again.empty()) break;
      filled = false;
      sources = find_sources(holds_, needs_, distrusted_, &again);
    }
    result_.missing = std::move(sources.missing);
    return std::move(result_);
  }

 private:
  void remark(std::string text) {
    if (result_.remarks.size() < kMostNamed) result_.remarks.push_back(std::move(text));
  }

  void copy_own(const Move& move) {
    const PartName& need = needs_[move.to][move.needed];
    const PartName& hold = holds_[move.from][move.held];
    const std::int64_t width = width_of(need);
    for (const SharedRun& run : move.runs)
      std::memmove(target(move) + (run.to - need.begin) * width,
                   held_[move.held].bytes.data() + (run.from - hold.begin) * width,
                   static_cast<std::size_t>(run.size * width));
    result_.own_bytes += move.elements() * width;
  }

  std::byte* target(const Move& move) const {
    return const_cast<std::byte*>(needed_[move.needed].bytes.data());
  }

  std::size_t size_of(const Message& message) const {
    std::size_t size = 0;
    for (const Move* move : message.moves)
      size += static_cast<std::size_t>(move->elements() * width_of(needs_[move->to][move->needed]));
    return size;
  }

  at::Tensor packed(const Message& message) const {
    const std::size_t size = size_of(message);
    at::Tensor buffer = bytes_tensor(size + kSumBytes);
    std::byte* out = bytes_at(buffer);
    for (const Move* move : message.moves) {
      const PartName& hold = holds_[move->from][move->held];
      const std::int64_t width = width_of(hold);
      for (const SharedRun& run : move->runs) {
        const auto bytes = static_cast<std::size_t>(run.size * width);
        std::memcpy(out, held_[move->held].bytes.data() + (run.from - hold.begin) * width, bytes);
        out += bytes;
      }
    }
    const std::uint64_t sum = checkpoint::xxh64(std::span(bytes_at(buffer), size));
    std::memcpy(out, &sum, kSumBytes);
    if (spoil_) spoil_(message.to, buffer);
    return buffer;
  }

  void unpack(const Message& message, const at::Tensor& buffer) {
    const std::size_t size = size_of(message);
    const std::byte* in = bytes_at(buffer);
    std::uint64_t sum = 0;
    std::memcpy(&sum, in + size, kSumBytes);
    if (sum != checkpoint::xxh64(std::span(in, size))) {
      for (const Move* move : message.moves)
        refused_ += fmt::format("{} {} {} {}\n", move->from, move->held, move->to, move->needed);
      return;
    }
    result_.peer_bytes += static_cast<std::int64_t>(size);
    for (const Move* move : message.moves) {
      const PartName& need = needs_[move->to][move->needed];
      const std::int64_t width = width_of(need);
      for (const SharedRun& run : move->runs) {
        const auto bytes = static_cast<std::size_t>(run.size * width);
        std::memcpy(target(*move) + (run.to - need.begin) * width, in, bytes);
        in += bytes;
      }
    }
  }

  // In the order of layers, so that only one layer's messages are in memory.
  void move_all(const std::vector<Move>& moves) {
    std::map<std::tuple<int, int, int>, Message> messages;  // by layer, from, to
    for (const Move& move : moves) {
      if (move.from == comm_.rank() && move.to == comm_.rank()) copy_own(move);
      if ((move.from == comm_.rank()) == (move.to == comm_.rank())) continue;
      Message& message = messages[{move.layer, move.from, move.to}];
      message.from = move.from;
      message.to = move.to;
      message.layer = move.layer;
      message.moves.push_back(&move);
    }
    for (auto first = messages.begin(); first != messages.end();) {
      auto end = first;
      std::vector<std::pair<const Message*, at::Tensor>> arriving;
      std::vector<Handle> handles;
      for (; end != messages.end() && std::get<0>(end->first) == std::get<0>(first->first); ++end) {
        const Message& message = end->second;
        if (message.from == comm_.rank()) {
          handles.push_back(comm_.send(packed(message), message.to, message.layer));
        } else {
          arriving.emplace_back(&message, bytes_tensor(size_of(message) + kSumBytes));
          handles.push_back(comm_.receive(arriving.back().second, message.from, message.layer));
        }
      }
      for (const Handle& handle : handles) handle->wait();
      for (const auto& [message, buffer] : arriving) unpack(*message, buffer);
      first = end;
    }
  }

  // The parts that are to be sent once more, by others.
  Wanted agree_on_refused() {
    Wanted again;
    for (const std::string& text : sayings_.of_all(refused_)) {
      std::istringstream lines(text);
      int from = 0, to = 0;
      std::size_t held = 0, needed = 0;
      while (lines >> from >> held >> to >> needed) {
        distrusted_.insert({from, held});
        again.insert({to, needed});
        remark(fmt::format("rank {} refused {} from rank {}: its checksum is another", to,
                           needs_[to][needed].tensor, from));
      }
    }
    refused_.clear();
    return again;
  }

  Comm& comm_;
  const std::vector<Part>& held_;
  const std::vector<Part>& needed_;
  const Spoil& spoil_;
  Sayings sayings_;
  std::vector<PartNames> holds_, needs_;  // by rank
  Distrusted distrusted_;
  std::string refused_;
  Exchanged result_;
};

}  // namespace

Exchanged exchange_state(Comm& comm, const std::vector<Part>& held, const std::vector<Part>& needed,
                         bool& filled, const Spoil& spoil) {
  filled = false;
  return Exchange(comm, held, needed, spoil).run(filled);
}

}  // namespace nereus::worker
