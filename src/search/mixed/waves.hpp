// Candidates looked at in their order, several at a time, so that the answer is the same with any
// number of threads: what a wave of candidates gives is taken one by one, in order, as if each had
// been looked at when its turn came. Some are looked at that the best plan of their own wave cuts.
//
//   Waves waves([&] { return std::make_unique<Machines>(...); });
//   waves.run(candidates,
//             // Worth a look; never again once it is not.
//             [&](const auto& m) { return m.first < best; },
//             // By any thread.
//             [&](Machines& machines, const auto& m) { return looked(...); },
//             // In order; `found` is null where it was not worth a look.
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

  // False where `take` ended it.
  template <class Bounded, class Worth, class Look, class Take>
  bool run(const std::vector<Bounded>& list, Worth worth, Look look, Take take) {
    using Found = decltype(look(std::declval<Machines&>(), list.front()));
    std::vector<std::size_t> chosen;
    std::vector<std::optional<Found>> found;
    std::size_t wave = 1;  // the first plans cut most
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

  // Machines remember what they were asked: a thread has one to itself while it looks.
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
