// Evaluates candidates in order, several at a time, with the same answer for any number of threads:
// the results of a wave of candidates are processed one by one, in order, as if each had been
// evaluated only after the one before it. Some candidates are therefore evaluated although the best
// plan of their wave would prune them.
//
//   Waves waves([&] { return std::make_unique<Machines>(...); });
//   waves.run(candidates,
//             // Whether to evaluate it; once false, it stays false.
//             [&](const auto& m) { return m.first < best; },
//             // Called by any thread.
//             [&](Machines& machines, const auto& m) { return looked(...); },
//             // Called in order; `found` is null if the candidate was not evaluated.
//             [&](const auto& m, auto* found) { return go_on; });
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/parallel.hpp"
#include "search/mixed/machines.hpp"

namespace nereus::mixed {

class Waves {
 public:
  using Make = std::function<std::unique_ptr<Machines>()>;
  explicit Waves(Make make) : make_(std::move(make)) {}

  // Returns false if `take` ended the run.
  template <class Bounded, class Worth, class Look, class Take>
  bool run(const std::vector<Bounded>& list, Worth worth, Look look, Take take) {
    using Found = decltype(look(std::declval<Machines&>(), list.front()));
    std::vector<std::size_t> chosen;
    std::vector<std::optional<Found>> found;
    std::size_t wave = 1;  // small at first, because the first plans prune most candidates
    for (std::size_t from = 0; from < list.size();) {
      chosen.clear();
      std::size_t to = from;
      for (; to < list.size() && chosen.size() < wave; ++to)
        if (worth(list[to])) chosen.push_back(to);
      found.assign(chosen.size(), std::nullopt);
      parallel_for(chosen.size(), [&](std::size_t i) {
        const Lease own(*this);
        found[i] = look(*own.machines, list[chosen[i]]);
      });
      std::size_t next = 0;
      for (; from < to; ++from) {
        const bool looked = next < chosen.size() && chosen[next] == from;
        if (!take(list[from], looked ? &*found[next] : nullptr)) return false;
        next += looked;
      }
      wave = std::min(kMostAtOnce, 2 * wave);
    }
    return true;
  }

 private:
  static constexpr std::size_t kMostAtOnce = 32;

  // A thread uses a Machines object exclusively while it evaluates, because the object is a cache.
  struct Lease {
    explicit Lease(Waves& of) : waves(of), machines(of.borrow()) {}
    ~Lease() { waves.give_back(std::move(machines)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Waves& waves;
    std::unique_ptr<Machines> machines;
  };

  std::unique_ptr<Machines> borrow() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<Machines> own = std::move(idle_.back());
        idle_.pop_back();
        return own;
      }
    }
    return make_();
  }
  void give_back(std::unique_ptr<Machines> own) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(own));
  }

  Make make_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Machines>> idle_;
};

}  // namespace nereus::mixed
