#include "search/mixed/cephalo.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/units.hpp"

namespace nereus::mixed::cephalo_test {
namespace {

struct Random {
  std::vector<profile::LayerTimes> times;
  profile::ComputeMemory memory;
  CephaloProblem problem;
};

double any(int low, int high) { return *rc::gen::inRange(low, high) / 16.0; }

// Up to four devices of up to three kinds, any times, memory so that about half of the problems
// bind.
Random any_problem() {
  Random r;
  const int kinds = *rc::gen::inRange(1, 4);
  for (int k = 0; k < kinds; ++k) {
    profile::LayerTimes t;
    const int points = *rc::gen::inRange(1, 6);
    for (int m = 0; m < points; ++m) {
      t.forward.points.push_back(any(1, 64) + m);
      t.backward.points.push_back(any(1, 64) + m);
    }
    t.forward.slope = t.backward.slope = any(4, 32);
    t.forward.intercept = any(0, 32);
    r.times.push_back(t);
  }
  r.memory.parameters = *rc::gen::inRange(1, 200) * 1e7;
  for (int m = 0; m < 3; ++m) r.memory.bytes.points.push_back((1 + m + any(0, 8)) * kGiB);
  r.memory.bytes.slope = 1 * kGiB;
  r.memory.bytes.intercept = 1 * kGiB;
  r.problem.global_batch = *rc::gen::inRange(1, 9);
  r.problem.gather = *rc::gen::elementOf(std::vector<double>{0, 1, 4});
  r.problem.scatter = r.problem.gather * 2;
  r.problem.penalty = any(0, 8);
  return r;
}

void add_devices(Random& r) {
  const int devices = *rc::gen::inRange(1, 5);
  for (int i = 0; i < devices; ++i)
    r.problem.devices.push_back(
        {&r.times[*rc::gen::inRange<int>(0, static_cast<int>(r.times.size()))],
         *rc::gen::inRange(5, 40) * kGiB});
  r.problem.memory = &r.memory;
}

// Every way, one by one.
double brute_force(const CephaloProblem& p) {
  double total = -p.state_bytes * p.memory->parameters,
         best = std::numeric_limits<double>::infinity();
  for (const CephaloDevice& device : p.devices) total += p.limit * device.memory;
  std::function<void(std::size_t, int, double, double)> next = [&](std::size_t i, int left,
                                                                   double bytes, double time) {
    if (i == p.devices.size()) {
      if (left == 0 && bytes < total) best = std::min(best, time);
      return;
    }
    for (int m = 1; m <= left; ++m)
      for (int n = 1; n * m <= left; ++n) {
        const CephaloShare s = share_of(p, i, m, n);
        if (s.memory <= p.limit * p.devices[i].memory)
          next(i + 1, left - n * m, bytes + s.memory, std::max(time, s.seconds));
      }
  };
  next(0, p.global_batch, 0, 0);
  return best;
}

RC_GTEST_PROP(Cephalo, FindsWhatBruteForceFinds, ()) {
  Random r = any_problem();
  add_devices(r);
  const CephaloProblem& p = r.problem;
  const CephaloAnswer answer = solve(p);
  const double best = brute_force(p);
  RC_ASSERT(answer.feasible == (best < std::numeric_limits<double>::infinity()));
  if (!answer.feasible) {
    RC_ASSERT(!answer.why_not.empty());
    return;
  }
  RC_ASSERT(answer.layer_seconds == best);
  int samples = 0;
  double state = 0;
  for (std::size_t i = 0; i < p.devices.size(); ++i) {
    const CephaloShare& s = answer.devices[i];
    samples += s.samples();
    state += s.state;
    RC_ASSERT(s.state >= 0);
    RC_ASSERT(s.memory <= p.limit * p.devices[i].memory * (1 + 1e-12));
  }
  RC_ASSERT(samples == p.global_batch);
  RC_ASSERT(std::abs(state - 1) < 1e-9);
}

RC_GTEST_PROP(Cephalo, NamesOfDevicesDoNotMatter, ()) {
  Random r = any_problem();
  add_devices(r);
  const CephaloAnswer one = solve(r.problem);
  std::reverse(r.problem.devices.begin(), r.problem.devices.end());
  const CephaloAnswer other = solve(r.problem);
  RC_ASSERT(one.feasible == other.feasible);
  RC_ASSERT(one.layer_seconds == other.layer_seconds);
}

}  // namespace
}  // namespace nereus::mixed::cephalo_test
