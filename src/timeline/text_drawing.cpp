#include "timeline/text_drawing.hpp"

#include <algorithm>

namespace nereus::timeline {

namespace {

char letter_of(const Slice& slice) {
  const int micro_batch = std::max(0, slice.micro_batch);
  switch (slice.kind) {
    case SliceKind::kForward:
      return static_cast<char>('0' + micro_batch % 10);
    case SliceKind::kBackward:
    case SliceKind::kInput:
      return static_cast<char>('a' + micro_batch % 26);
    case SliceKind::kWeight:
      return '.';
    case SliceKind::kRecompute:
      return ':';
    case SliceKind::kSend:
      return '>';
    case SliceKind::kReceive:
      return '<';
    case SliceKind::kTensor:
      return 't';
    case SliceKind::kContext:
      return 'c';
    case SliceKind::kExpert:
      return 'e';
    case SliceKind::kReduce:
      return '=';
    case SliceKind::kGather:
      return '+';
    case SliceKind::kOptimizer:
      return '*';
    case SliceKind::kCopy:
      return '~';
    case SliceKind::kHost:
      return 'h';
    case SliceKind::kWait:
      return '_';
    case SliceKind::kOther:
      break;
  }
  return '?';
}

// The letters of a cell so far: there are few different ones, so a list is fast enough.
struct Cell {
  std::vector<std::pair<char, std::int64_t>> busy;
  void add(char letter, std::int64_t time) {
    for (auto& [known, sum] : busy)
      if (known == letter) {
        sum += time;
        return;
      }
    busy.emplace_back(letter, time);
  }
  // The first of those that take most.
  char winner(std::int64_t length) const {
    std::int64_t idle = length;
    for (const auto& [letter, sum] : busy) idle -= sum;
    char best = ' ';
    std::int64_t most = idle;
    for (const auto& [letter, sum] : busy)
      if (sum > most || (best == ' ' && sum == most && sum > 0)) {
        best = letter;
        most = sum;
      }
    return best;
  }
};

// Multiplied wide: a long timeline in picoseconds times the columns may pass 64 bits.
std::int64_t edge(std::int64_t end, int column, int columns) {
  return static_cast<std::int64_t>(static_cast<__int128>(end) * column / columns);
}

}  // namespace

std::vector<std::string> text_drawing(const Timeline& timeline, int columns) {
  columns = std::max(1, columns);
  const std::int64_t end = timeline.end();
  std::vector<std::string> lines;
  for (const std::vector<std::size_t>& lane : slices_by_lane(timeline)) {
    std::string line;
    std::size_t next = 0;
    for (int column = 0; column < columns; ++column) {
      const std::int64_t from = edge(end, column, columns);
      const std::int64_t to = edge(end, column + 1, columns);
      Cell cell;
      for (; next < lane.size(); ++next) {
        const Slice& slice = timeline.slices[lane[next]];
        const std::int64_t both = std::min(slice.end, to) - std::max(slice.start, from);
        if (both > 0) cell.add(letter_of(slice), both);
        if (slice.end > to) break;  // goes on in the next cell
      }
      line += cell.winner(to - from);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace nereus::timeline
