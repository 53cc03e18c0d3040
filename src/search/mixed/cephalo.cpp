#include "search/mixed/cephalo.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "base/format.hpp"
#include "base/units.hpp"

namespace nereus::mixed {

namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

double state_of(const CephaloProblem& p) { return p.state_bytes * p.memory->parameters; }

double room_of(const CephaloProblem& p) {
  double room = -state_of(p);
  for (const CephaloDevice& device : p.devices) room += p.limit * device.memory;
  return room;
}

// Ways of a kind of device to compute some samples, fastest first; memory without state.
std::vector<CephaloShare> options_of(const CephaloProblem& p, std::size_t device) {
  std::vector<CephaloShare> options;
  for (int m = 1; m <= p.global_batch; ++m) {
    if (share_of(p, device, m, 1).memory > p.limit * p.devices[device].memory) continue;
    for (int n = 1; n * m <= p.global_batch; ++n) options.push_back(share_of(p, device, m, n));
  }
  std::sort(options.begin(), options.end(),
            [](const CephaloShare& a, const CephaloShare& b) { return a.seconds < b.seconds; });
  return options;
}

// least[i][j]: bytes that the first i devices need for j samples within T, and how many of these
// are on the last.
struct Tables {
  std::vector<std::vector<double>> least;
  std::vector<std::vector<int>> last;
};

class Solver {
 public:
  explicit Solver(const CephaloProblem& p) : p_(p) {
    for (std::size_t i = 0; i < p.devices.size(); ++i) {
      std::size_t kind = 0;
      while (kind < kinds_.size() && !same(kinds_[kind].first, i)) ++kind;
      if (kind == kinds_.size()) kinds_.emplace_back(i, options_of(p, i));
      kind_of_.push_back(kind);
    }
  }

  CephaloAnswer solve() {
    std::vector<double> times;
    for (const auto& [device, options] : kinds_) {
      if (options.empty())
        return refuse(fmt::format("one sample on a device of {:.1f} GiB takes {:.1f} GiB of {:.1f}",
                                  p_.devices[device].memory / kGiB,
                                  share_of(p_, device, 1, 1).memory / kGiB,
                                  p_.limit * p_.devices[device].memory / kGiB));
      for (const CephaloShare& option : options) times.push_back(option.seconds);
    }
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    if (!fits(times.back())) {
      const double least = tables(times.back()).least.back().back();
      if (least == kNone)
        return refuse(fmt::format("{} cannot share {}, one at least each",
                                  counted(p_.devices.size(), "device"),
                                  counted(p_.global_batch, "sample")));
      return refuse(
          fmt::format("state takes {:.1f} GiB and computing {:.1f} GiB at least, of {:.1f}",
                      state_of(p_) / kGiB, least / kGiB, (room_of(p_) + state_of(p_)) / kGiB));
    }
    std::size_t low = 0, high = times.size() - 1;
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      if (fits(times[middle]))
        high = middle;
      else
        low = middle + 1;
    }
    return answer(times[low]);
  }

 private:
  static CephaloAnswer refuse(std::string why) { return {false, 0, {}, std::move(why)}; }

  bool same(std::size_t a, std::size_t b) const {
    return p_.devices[a].times == p_.devices[b].times &&
           p_.devices[a].memory == p_.devices[b].memory;
  }

  // By number of samples, the option with the least memory within `seconds`; nullptr if there is
  // none.
  std::vector<const CephaloShare*> leanest(std::size_t kind, double seconds) const {
    std::vector<const CephaloShare*> best(static_cast<std::size_t>(p_.global_batch) + 1);
    for (const CephaloShare& option : kinds_[kind].second) {
      if (option.seconds > seconds) break;
      const CephaloShare*& own = best[option.samples()];
      if (!own || option.memory < own->memory) own = &option;
    }
    return best;
  }

  Tables tables(double seconds) const {
    const auto batch = static_cast<std::size_t>(p_.global_batch);
    const std::size_t count = p_.devices.size();
    Tables t;
    t.least.assign(count + 1, std::vector<double>(batch + 1, kNone));
    t.last.assign(count + 1, std::vector<int>(batch + 1, 0));
    t.least[0][0] = 0;
    std::vector<std::vector<const CephaloShare*>> by_kind;
    for (std::size_t kind = 0; kind < kinds_.size(); ++kind)
      by_kind.push_back(leanest(kind, seconds));
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t own = 1; own <= batch; ++own) {
        const CephaloShare* option = by_kind[kind_of_[i]][own];
        if (!option) continue;
        for (std::size_t j = own; j <= batch; ++j)
          if (const double with = t.least[i][j - own] + option->memory; with < t.least[i + 1][j]) {
            t.least[i + 1][j] = with;
            t.last[i + 1][j] = static_cast<int>(own);
          }
      }
    return t;
  }

  bool fits(double seconds) const { return tables(seconds).least.back().back() < room_of(p_); }

  CephaloAnswer answer(double seconds) const {
    CephaloAnswer out{true, 0, std::vector<CephaloShare>(p_.devices.size()), {}};
    const Tables t = tables(seconds);
    auto left = static_cast<std::size_t>(p_.global_batch);
    for (std::size_t i = p_.devices.size(); i > 0; --i) {
      const auto own = static_cast<std::size_t>(t.last[i][left]);
      out.devices[i - 1] = *leanest(kind_of_[i - 1], seconds)[own];
      out.layer_seconds = std::max(out.layer_seconds, out.devices[i - 1].seconds);
      left -= own;
    }
    spread_state(out);
    return out;
  }

  // Even, then what is over on some goes evenly to those with room.
  void spread_state(CephaloAnswer& out) const {
    const double all = state_of(p_);
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < out.devices.size(); ++i) open.push_back(i);
    double left = 1;
    while (!open.empty() && left > 0) {
      const double each = left / static_cast<double>(open.size());
      std::vector<std::size_t> still;
      for (const std::size_t i : open) {
        CephaloShare& device = out.devices[i];
        const double room = (p_.limit * p_.devices[i].memory - device.memory) / all - device.state;
        if (room < each) {
          device.state += room;
          left -= room;
        } else {
          still.push_back(i);
        }
      }
      if (still.size() == open.size()) {
        for (const std::size_t i : open) out.devices[i].state += each;
        left = 0;
      }
      open = still;
    }
    for (CephaloShare& device : out.devices) device.memory += device.state * all;
  }

  const CephaloProblem& p_;
  std::vector<std::pair<std::size_t, std::vector<CephaloShare>>> kinds_;  // with a device of it
  std::vector<std::size_t> kind_of_;
};

}  // namespace

CephaloShare share_of(const CephaloProblem& p, std::size_t device, int m, int n) {
  const CephaloDevice& on = p.devices[device];
  CephaloShare share;
  share.micro_batch = m;
  share.num_micro_batches = n;
  share.memory = p.memory->bytes.at(m) + p.reserve;
  share.extrapolated = !on.times->forward.is_measured(m) || !p.memory->bytes.is_measured(m);
  const bool uneven =
      share.memory + state_of(p) / static_cast<double>(p.devices.size()) > p.limit * on.memory;
  const double gather = p.gather * (uneven ? p.uneven : 1);
  const double scatter = p.scatter * (uneven ? p.uneven : 1);
  const double forward = n * on.times->forward.at(m);
  const double backward = n * on.times->backward.at(m) + p.penalty * (n - 1);
  share.seconds = std::max(gather, forward) + std::max(gather + scatter, forward + backward);
  return share;
}

CephaloAnswer solve(const CephaloProblem& problem) {
  NEREUS_CHECK(!problem.devices.empty() && problem.global_batch > 0 && problem.memory,
               "a problem has devices, samples and memory");
  return Solver(problem).solve();
}

}  // namespace nereus::mixed
