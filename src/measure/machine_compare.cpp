#include "measure/machine_compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/format.hpp"

namespace nereus::measure {

namespace {

using profile::Quantiles;

struct Number {
  std::string what;
  Quantiles value;
  Unit unit = Unit::kSeconds;
};

std::string bytes_text(double bytes) { return format_bytes(Bytes{bytes}); }

void add_layers(const profile::Profile& profile, std::vector<Number>& list) {
  for (const profile::MeasuredLayer& layer : profile.layers) {
    const std::string name = layer.layer.empty() ? std::string(to_string(layer.role)) : layer.layer;
    const auto add = [&](const char* pass, const std::vector<double>& median,
                         const std::vector<double>& low, const std::vector<double>& high,
                         const std::vector<double>& half_width) {
      for (std::size_t i = 0; i < median.size() && i < low.size() && i < high.size(); ++i) {
        Quantiles value{median[i], low[i], high[i], 1};
        if (i < half_width.size()) {
          value.processes = layer.processes;
          value.half_width = half_width[i];
        }
        list.push_back(
            {fmt::format("{} of {} {} tp {}, {} {}", name, layer.model, layer.precision, layer.tp,
                         counted(fmt::format("{:g}", layer.samples[i]), "sample"), pass),
             value});
      }
    };
    add("forward", layer.forward, layer.forward_low, layer.forward_high, layer.forward_half_width);
    add("backward", layer.backward, layer.backward_low, layer.backward_high,
        layer.backward_half_width);
  }
}

std::vector<Number> numbers_of(const profile::Profile& profile) {
  const profile::Machine& m = profile.machine;
  std::vector<Number> list;
  for (const profile::Kernel& k : m.kernels)
    list.push_back(
        {fmt::format("{} {} {}", k.kind, k.precision, fmt::join(k.shape, " x ")), k.seconds});
  for (const profile::Copy& c : m.copies)
    list.push_back({fmt::format("memory {}", c.kind), c.rate, Unit::kBytesPerSecond});
  for (const profile::RankLink& l : m.links)
    list.push_back(
        {fmt::format("link {} to {}, {}", l.from, l.to, bytes_text(l.bytes)), l.seconds});
  for (const profile::Collective& c : m.collectives)
    list.push_back({fmt::format("{} of {} on {} by {}, {}", c.kind, counted(c.ranks, "rank"),
                                counted(c.hosts, "host"), c.backend, bytes_text(c.bytes)),
                    c.seconds});
  if (m.jitter.seconds.repeats > 0) list.push_back({"jitter's work", m.jitter.seconds});
  if (m.disk.cold.rate.repeats > 0)
    list.push_back({"disk cold", m.disk.cold.rate, Unit::kBytesPerSecond});
  if (m.disk.warm.rate.repeats > 0)
    list.push_back({"disk warm", m.disk.warm.rate, Unit::kBytesPerSecond});
  for (const profile::Preparation& p : m.preparations)
    list.push_back({fmt::format("preparation of {}", p.kind), p.rate, Unit::kNone});
  add_layers(profile, list);
  return list;
}

const Number* find(const std::vector<Number>& list, const std::string& what) {
  const auto at =
      std::find_if(list.begin(), list.end(), [&](const Number& own) { return own.what == what; });
  return at == list.end() ? nullptr : &*at;
}

void compare_contexts(const profile::Context& a, const profile::Context& b, Comparison& out) {
  const auto text = [&](const char* key, const std::string& first, const std::string& second) {
    if (first != second)
      out.other_contexts.push_back(fmt::format("{}: {}, then {}", key,
                                               first.empty() ? "not known" : first,
                                               second.empty() ? "not known" : second));
  };
  text("device", a.device, b.device);
  text("device name", a.device_name, b.device_name);
  text("driver", a.driver, b.driver);
  text("library", a.library, b.library);
  text("build", a.build, b.build);
  text("host", a.host, b.host);
  text("backend", a.backend, b.backend);
  text("ranks", std::to_string(a.ranks), std::to_string(b.ranks));
  text("threads", std::to_string(a.threads), std::to_string(b.threads));
}

// Compares the numbers that both have.
void compare_numbers(Comparison& out) {
  for (const Compared& own : out.numbers) out.num_tested += own.has_interval ? 1 : 0;
  if (out.num_tested > 0) out.confidence = 1 - (1 - profile::kConfidence) / out.num_tested;
  for (Compared& own : out.numbers) {
    if (!own.has_interval) {
      own.agrees = profile::ranges_meet(own.first, own.second);
      continue;
    }
    own.half_width = profile::joint_half_width(own.first, own.second, out.confidence);
    own.agrees = std::abs(own.first.median - own.second.median) <= own.half_width;
  }
}

}  // namespace

int Comparison::num_differing() const {
  return static_cast<int>(std::count_if(numbers.begin(), numbers.end(),
                                        [](const Compared& own) { return !own.agrees; }));
}

Comparison compare_machines(const profile::Profile& first, const profile::Profile& second) {
  Comparison out;
  compare_contexts(first.machine.context, second.machine.context, out);
  const std::vector<Number> a = numbers_of(first), b = numbers_of(second);
  for (const Number& own : a) {
    const Number* other = find(b, own.what);
    if (other == nullptr)
      out.first_only.push_back(own.what);
    else
      out.numbers.push_back({own.what, own.unit, own.value, other->value,
                             profile::difference(own.value, other->value),
                             own.value.has_interval() && other->value.has_interval()});
  }
  for (const Number& own : b)
    if (find(a, own.what) == nullptr) out.second_only.push_back(own.what);
  compare_numbers(out);
  return out;
}

}  // namespace nereus::measure
