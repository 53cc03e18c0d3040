#include "search/burst/burst_moves.hpp"

#include <algorithm>

namespace nereus::burst {

const Moves::Table& Moves::of(double bytes, bool away) {
  if (const auto known = tables_.find({bytes, away}); known != tables_.end()) return known->second;
  Table& table = tables_[{bytes, away}];
  for (std::vector<double>* own :
       {&table.seconds, &table.rank_seconds, &table.seconds_into, &table.rank_seconds_into})
    own->resize(k_ * k_);
  for (std::size_t a = 0; a < k_; ++a)
    for (std::size_t b = 0; b < k_; ++b) {
      const int from = static_cast<int>(a), to = static_cast<int>(b);
      // The ranks of both ends are held if they share none.
      const int held = away ? problem_.counts[a] + problem_.counts[b]
                            : std::max(problem_.counts[a], problem_.counts[b]);
      const double seconds = away ? move_seconds(problem_.away_of(from, to), bytes)
                                  : (a == b ? 0 : move_seconds(problem_.near_of(from, to), bytes));
      table.seconds[a * k_ + b] = seconds;
      table.rank_seconds[a * k_ + b] = seconds * held;
      table.seconds_into[b * k_ + a] = seconds;
      table.rank_seconds_into[b * k_ + a] = seconds * held;
    }
  return table;
}

}  // namespace nereus::burst
