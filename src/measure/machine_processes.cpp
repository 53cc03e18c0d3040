#include "measure/machine_processes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/error.hpp"

namespace nereus::measure {

namespace {

using profile::MeasuredLayer;
using profile::Profile;
using profile::Quantiles;

// The key of an entry, without its measured values.
template <class Entry>
Entry about(Entry entry, Quantiles Entry::*number) {
  entry.*number = {};
  return entry;
}

// Entries that all processes have, in the order of the first.
template <class Entry>
std::vector<Entry> join_list(const std::vector<Profile>& processes,
                             std::vector<Entry> profile::Machine::*list, Quantiles Entry::*number) {
  std::vector<Entry> joined;
  for (const Entry& first : processes.front().machine.*list) {
    Entry own = about(first, number);
    std::vector<Quantiles> found;
    for (const Profile& process : processes)
      for (const Entry& other : process.machine.*list)
        if (about(other, number) == own) found.push_back(other.*number);
    if (found.size() != processes.size()) continue;
    own.*number = profile::over_processes(found);
    joined.push_back(std::move(own));
  }
  return joined;
}

profile::Jitter join_jitter(const std::vector<Profile>& processes) {
  profile::Jitter all;
  std::vector<Quantiles> found;
  for (const Profile& process : processes) {
    const profile::Jitter& own = process.machine.jitter;
    if (own.seconds.repeats == 0) return {};
    found.push_back(own.seconds);
    all.p99 += own.p99 / static_cast<double>(processes.size());
    all.worst = std::max(all.worst, own.worst);
  }
  all.seconds = profile::over_processes(found);
  return all;
}

profile::DiskReads join_reads(const std::vector<Profile>& processes,
                              profile::DiskReads profile::Disk::*reads) {
  profile::DiskReads all;
  std::vector<Quantiles> found;
  for (const Profile& process : processes) {
    const profile::DiskReads& own = process.machine.disk.*reads;
    if (own.rate.repeats == 0) return {};
    found.push_back(own.rate);
    all.bytes_read += own.bytes_read;
    all.bytes_loaded += own.bytes_loaded;
  }
  all.rate = profile::over_processes(found);
  return all;
}

profile::Machine join_machines(const std::vector<Profile>& processes) {
  using profile::Machine;
  Machine all;
  all.context = processes.front().machine.context;
  all.context.processes = static_cast<int>(processes.size());
  all.kernels = join_list(processes, &Machine::kernels, &profile::Kernel::seconds);
  all.copies = join_list(processes, &Machine::copies, &profile::Copy::rate);
  all.links = join_list(processes, &Machine::links, &profile::RankLink::seconds);
  all.collectives = join_list(processes, &Machine::collectives, &profile::Collective::seconds);
  all.preparations = join_list(processes, &Machine::preparations, &profile::Preparation::rate);
  all.jitter = join_jitter(processes);
  all.disk = processes.front().machine.disk;
  all.disk.cold = join_reads(processes, &profile::Disk::cold);
  all.disk.warm = join_reads(processes, &profile::Disk::warm);
  return all;
}

// One pass of a layer by samples: what was measured, its quantiles, the interval over processes.
struct Pass {
  std::vector<double> MeasuredLayer::*seconds;
  std::vector<double> MeasuredLayer::*low;
  std::vector<double> MeasuredLayer::*high;
  std::vector<double> MeasuredLayer::*half_width;
};
constexpr Pass kForward{&MeasuredLayer::forward, &MeasuredLayer::forward_low,
                        &MeasuredLayer::forward_high, &MeasuredLayer::forward_half_width};
constexpr Pass kBackward{&MeasuredLayer::backward, &MeasuredLayer::backward_low,
                         &MeasuredLayer::backward_high, &MeasuredLayer::backward_half_width};

MeasuredLayer about(MeasuredLayer layer) {
  layer.samples.clear();
  for (const Pass& pass : {kForward, kBackward})
    for (const auto list : {pass.seconds, pass.low, pass.high, pass.half_width})
      (layer.*list).clear();
  layer.update = 0;
  return layer;
}

Quantiles point(const MeasuredLayer& layer, const Pass& pass, std::size_t i) {
  const double seconds = (layer.*pass.seconds)[i];
  if ((layer.*pass.low).size() <= i || (layer.*pass.high).size() <= i)
    return {seconds, seconds, seconds, 1};
  return {seconds, (layer.*pass.low)[i], (layer.*pass.high)[i], 1};
}

// Joins a point that every process has measured.
void join_point(const std::vector<const MeasuredLayer*>& found, const Pass& pass, double samples,
                MeasuredLayer& all) {
  std::vector<Quantiles> points;
  for (const MeasuredLayer* own : found) {
    const auto at = std::find(own->samples.begin(), own->samples.end(), samples);
    points.push_back(
        point(*own, pass, static_cast<std::size_t>(std::distance(own->samples.begin(), at))));
  }
  const Quantiles q = profile::over_processes(points);
  (all.*pass.seconds).push_back(q.median);
  (all.*pass.low).push_back(q.low);
  (all.*pass.high).push_back(q.high);
  if (q.has_interval()) (all.*pass.half_width).push_back(q.half_width);
}

MeasuredLayer join_layer(const std::vector<const MeasuredLayer*>& found) {
  MeasuredLayer all = about(*found.front());
  all.processes = static_cast<int>(found.size());
  const bool has_backward = std::all_of(
      found.begin(), found.end(), [](const MeasuredLayer* own) { return !own->backward.empty(); });
  for (const double samples : found.front()->samples) {
    if (!std::all_of(found.begin(), found.end(), [samples](const MeasuredLayer* own) {
          return std::count(own->samples.begin(), own->samples.end(), samples) > 0;
        }))
      continue;
    all.samples.push_back(samples);
    join_point(found, kForward, samples, all);
    if (has_backward) join_point(found, kBackward, samples, all);
  }
  for (const MeasuredLayer* own : found)
    all.update += own->update / static_cast<double>(found.size());
  return all;
}

void join_layers(const std::vector<Profile>& processes, Profile& all) {
  for (const MeasuredLayer& first : processes.front().layers) {
    std::vector<const MeasuredLayer*> found;
    for (const Profile& process : processes)
      for (const MeasuredLayer& other : process.layers)
        if (about(other) == about(first)) found.push_back(&other);
    if (found.size() == processes.size()) {
      all.layers.push_back(join_layer(found));
      if (!all.layers.back().samples.empty()) {
        profile::mend_falling(all.layers.back(), all.notes);
        continue;
      }
      all.layers.pop_back();
    }
    all.notes.push_back(
        fmt::format("{} is omitted: only {} of {} processes measured it in the "
                    "same way",
                    first.layer, found.size(), processes.size()));
  }
}

}  // namespace

Profile join_processes(const std::vector<Profile>& processes) {
  NEREUS_CHECK(!processes.empty(), "no process measured anything");
  Profile all;
  all.origin = processes.front().origin;
  for (std::size_t i = 0; i < processes.size(); ++i)
    for (const std::string& note : processes[i].notes)
      all.notes.push_back(processes.size() == 1 ? note
                                                : fmt::format("process {}: {}", i + 1, note));
  all.machine = join_machines(processes);
  join_layers(processes, all);
  return all;
}

}  // namespace nereus::measure
