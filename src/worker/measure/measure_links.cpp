#include "worker/measure/measure_links.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "worker/measure/timed_call.hpp"

namespace nereus::worker {

namespace {

using Clock = std::chrono::steady_clock;
constexpr double kSmall = 128 << 10;  // below it several calls make a repeat
constexpr int kCallsOfSmall = 10;
constexpr std::size_t kManyPairs = 64;

double since_start(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double host_number() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  // 52 bits that a double holds exactly.
  return static_cast<double>(std::hash<std::string>()(name) >> 12) + 1;
}

std::vector<double> sizes_of(bool quick) {
  if (quick) return {4 << 10, 256 << 10, 4 << 20, 32 << 20};
  return {1 << 10, 16 << 10, 128 << 10, 1 << 20, 8 << 20, 32 << 20, 64 << 20};
}

int calls_of(double bytes) { return bytes < kSmall ? kCallsOfSmall : 1; }

std::vector<Range> even_pieces(std::int64_t elements, int pieces) {
  std::vector<Range> ranges;
  for (int i = 0; i < pieces; ++i)
    ranges.push_back({elements * i / pieces, elements * (i + 1) / pieces});
  return ranges;
}

}  // namespace

Links::Links(Comm& comm, const at::Device& device, bool quick)
    : comm_(&comm), device_(device), quick_(quick) {
  std::vector<int> everyone(static_cast<std::size_t>(comm.num_ranks()));
  for (std::size_t i = 0; i < everyone.size(); ++i) everyone[i] = static_cast<int>(i);
  hosts_.assign(everyone.size(), host_number());
  if (everyone.size() < 2) return;
  world_ = comm.group(everyone);
  at::Tensor all = numbers(comm.num_ranks());
  all[comm.rank()] = host_number();
  world_->all_reduce(all)->wait_on_host();
  all = all.to(at::kCPU);
  hosts_.assign(all.data_ptr<double>(), all.data_ptr<double>() + all.numel());
}

at::Tensor Links::numbers(std::int64_t count) const {
  return at::zeros({count}, at::TensorOptions(device_).dtype(at::kDouble));
}

int Links::hosts_of(const std::vector<int>& ranks) const {
  std::set<double> names;
  for (const int rank : ranks) names.insert(hosts_[rank]);
  return static_cast<int>(names.size());
}

int Links::num_hosts() const {
  return static_cast<int>(std::set<double>(hosts_.begin(), hosts_.end()).size());
}

void Links::barrier() {
  if (!world_) return;
  at::Tensor one = numbers(1);
  world_->all_reduce(one)->wait_on_host();
  finish_device(device_);
}

std::vector<double> Links::mean(const std::vector<double>& values) {
  if (!world_) return values;
  at::Tensor sum = at::tensor(values, at::kDouble).to(device_);
  world_->all_reduce(sum)->wait_on_host();
  sum = sum.to(at::kCPU) / comm_->num_ranks();
  return {sum.data_ptr<double>(), sum.data_ptr<double>() + sum.numel()};
}

// Both ends must call it; the clock of the first one counts.
double Links::round_trips(int other, bool first, at::Tensor& message, int count) {
  finish_device(device_);
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < count; ++i) {
    if (first) comm_->send(message, other, 1)->wait();
    comm_->receive(message, other, first ? 2 : 1)->wait();
    if (!first) comm_->send(message, other, 2)->wait();
  }
  finish_device(device_);
  return since_start(start) / (2.0 * count);
}

std::vector<profile::RankLink> Links::measure_pairs(const Say& say) {
  std::vector<profile::RankLink> pairs;
  const int n = comm_->num_ranks();
  for (int a = 0; a < n; ++a)
    for (int b = a + 1; b < n; ++b) pairs.push_back({a, b, hosts_[a] == hosts_[b]});
  std::vector<double> sizes = sizes_of(quick_);
  if (pairs.size() > kManyPairs) sizes = {4 << 10, 4 << 20, 32 << 20};
  const int rounds = depth_of(quick_).rounds;
  std::vector<profile::RankLink> links;
  std::vector<double> seconds;  // rounds of each link; 0 where this rank is not its first
  for (const profile::RankLink& pair : pairs) {
    const bool first = comm_->rank() == pair.from, takes_part = first || comm_->rank() == pair.to;
    say(fmt::format("messages between rank {} and rank {}", pair.from, pair.to));
    barrier();
    for (const double bytes : sizes) {
      at::Tensor message = takes_part ? at::zeros({static_cast<std::int64_t>(bytes)},
                                                  at::TensorOptions(device_).dtype(at::kByte))
                                      : at::Tensor();
      for (int round = -1; round < rounds; ++round) {  // one to open the way
        const double own =
            takes_part ? round_trips(first ? pair.to : pair.from, first, message, calls_of(bytes))
                       : 0;
        if (round >= 0) seconds.push_back(first ? own : 0);
      }
      links.push_back(pair);
      links.back().bytes = bytes;
    }
  }
  barrier();
  if (links.empty()) return links;
  at::Tensor sum = at::tensor(seconds, at::kDouble).to(device_);
  world_->all_reduce(sum)->wait_on_host();
  sum = sum.to(at::kCPU);
  const double* at = sum.data_ptr<double>();
  for (profile::RankLink& link : links) {
    link.seconds = profile::quantiles_of({at, at + rounds});
    at += rounds;
  }
  return links;
}

std::vector<Links::Ring> Links::rings() {
  std::vector<Ring> list;
  const auto add = [&](const std::vector<int>& ranks) {
    if (ranks.size() < 2) return;
    for (const Ring& known : list)
      if (known.ranks == ranks) return;
    list.push_back({ranks, hosts_of(ranks)});
  };
  const auto first_ranks = [](int count) {
    std::vector<int> ranks;
    for (int i = 0; i < count; ++i) ranks.push_back(i);
    return ranks;
  };
  for (int size = 2; size < comm_->num_ranks(); size *= 2) add(first_ranks(size));
  add(first_ranks(comm_->num_ranks()));
  std::vector<int> one_a_host;
  std::set<double> seen;
  for (std::size_t i = 0; i < hosts_.size(); ++i)
    if (seen.insert(hosts_[i]).second) one_a_host.push_back(static_cast<int>(i));
  add(one_a_host);
  for (Ring& ring : list)
    if (std::find(ring.ranks.begin(), ring.ranks.end(), comm_->rank()) != ring.ranks.end())
      ring.group = comm_->group(ring.ranks);
  return list;
}

double Links::run(Group& group, const std::string& kind, at::Tensor& flat, int calls) {
  const std::vector<Range> pieces = even_pieces(flat.numel(), group.size());
  at::Tensor one = numbers(1);
  group.all_reduce(one)->wait();
  finish_device(device_);
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < calls; ++i) {
    if (kind == "all_reduce")
      group.all_reduce(flat)->wait();
    else if (kind == "all_gather")
      group.all_gather(flat, pieces)->wait();
    else
      group.reduce_scatter(flat, pieces)->wait();
  }
  finish_device(device_);
  return since_start(start) / calls;
}

std::vector<profile::Collective> Links::measure_collectives(const Say& say) {
  std::vector<profile::Collective> list;
  const int rounds = depth_of(quick_).rounds;
  std::vector<double> seconds;  // rounds of each; of rings that this rank is no member of 0
  for (const Ring& ring : rings()) {
    barrier();
    for (const char* kind : {"all_reduce", "all_gather", "reduce_scatter"}) {
      say(fmt::format("{} of {} ranks", kind, ring.ranks.size()));
      for (const double bytes : sizes_of(quick_)) {
        list.push_back(
            {kind, comm_->name(), static_cast<int>(ring.ranks.size()), ring.hosts, bytes});
        if (!ring.group) {
          seconds.insert(seconds.end(), static_cast<std::size_t>(rounds), 0);
          continue;
        }
        at::Tensor flat = at::zeros({static_cast<std::int64_t>(bytes) / 4},
                                    at::TensorOptions(device_).dtype(at::kFloat));
        for (int round = -1; round < rounds; ++round) {
          const double own = run(*ring.group, kind, flat, calls_of(bytes));
          if (round >= 0) seconds.push_back(own);
        }
      }
    }
  }
  barrier();
  if (list.empty()) return list;
  at::Tensor slowest = at::tensor(seconds, at::kDouble).to(device_);
  world_->all_reduce(slowest, Reduction::kMax)->wait();
  slowest = slowest.to(at::kCPU);
  const double* at = slowest.data_ptr<double>();
  for (profile::Collective& own : list) {
    own.seconds = profile::quantiles_of({at, at + rounds});
    at += rounds;
  }
  return list;
}

}  // namespace nereus::worker
