#include "profile/machine_json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/format.hpp"
#include "spec/fields.hpp"

namespace nereus::profile {

using spec::Like;
using spec::Reader;
using spec::Value;

namespace {

constexpr double kMost = 1e18;  // seconds, bytes, rates: anything beyond is no measurement
constexpr int kMostRanks = 1 << 20;
constexpr const char* kCollectives[] = {"all_reduce", "all_gather", "reduce_scatter"};

}  // namespace

template <class V>
void visit_fields(V& v, Like<Quantiles> auto& q) {
  v.needed("median", q.median, 0, kMost);
  v.needed("low", q.low, 0, kMost);
  v.needed("high", q.high, 0, kMost);
  v.needed("repeats", q.repeats, 1);
  v("processes", q.processes, 1, kMostProcesses);
  if (q.has_interval()) v.needed("half_width", q.half_width, 0, kMost);
  v.check([&](Reader& r) {
    if (r.has("half_width") && !q.has_interval())
      r.fail("half_width", "profile.processes",
             fmt::format("an interval over {}; one takes at least two",
                         counted(q.processes, "process", "processes")),
             "\"processes\": 5, or leave it out");
    if (!(q.median > 0))
      r.fail("median", "profile.value", "what was measured took no time, or was infinitely fast",
             "remove the entry if it was not measured");
    if (!(q.low <= q.median && q.median <= q.high))
      r.fail("low", "profile.quantiles",
             fmt::format("low {}, median {}, high {} are not in order", q.low, q.median, q.high),
             "low <= median <= high");
  });
}

template <class V>
void visit_fields(V& v, Like<Context> auto& c) {
  v.needed("device", c.device);
  v("device_name", c.device_name);
  v("driver", c.driver);
  v("library", c.library);
  v("build", c.build);
  v("date", c.date);
  v("host", c.host);
  v("system", c.system);
  v("backend", c.backend);
  v.always("cores", c.cores);
  v.always("ranks", c.ranks, 0, kMostRanks);
  v.always("hosts", c.hosts, 0, kMostRanks);
  v.always("threads", c.threads);
  v.always("quick", c.quick);
  v("processes", c.processes, 1, kMostProcesses);
}

template <class V>
void visit_fields(V& v, Like<Kernel> auto& k) {
  v.needed("kind", k.kind);
  v.needed("precision", k.precision);
  v.needed("shape", k.shape, 1);
  v.always("flops", k.flops, 0, kMost);
  v.always("bytes", k.bytes, 0, kMost);
  v.needed("seconds", k.seconds);
}

// But for its kind, which is its key.
template <class V>
void visit_fields(V& v, Like<Copy> auto& copy) {
  v.needed("bytes", copy.bytes, 1, kMost);
  v.needed("bytes_per_s", copy.rate);
}

template <class V>
void visit_fields(V& v, Like<RankLink> auto& l) {
  v.needed("from", l.from, 0, kMostRanks);
  v.needed("to", l.to, 0, kMostRanks);
  v.needed("same_host", l.same_host);
  v.needed("bytes", l.bytes, 1, kMost);
  v.needed("seconds", l.seconds);
  v.check([&](Reader& r) {
    if (l.from == l.to)
      r.fail("to", "profile.value", fmt::format("rank {} sends itself a message", l.to),
             "links join two ranks");
  });
}

template <class V>
void visit_fields(V& v, Like<Collective> auto& c) {
  v.needed("kind", c.kind, kCollectives);
  v.needed("backend", c.backend);
  v.needed("ranks", c.ranks, 2, kMostRanks);
  v.needed("hosts", c.hosts, 1, kMostRanks);
  v.needed("bytes", c.bytes, 1, kMost);
  v.needed("seconds", c.seconds);
  v.check([&](Reader& r) {
    if (c.hosts > c.ranks)
      r.fail("hosts", "profile.value",
             fmt::format("{} on {}", counted(c.ranks, "rank"), counted(c.hosts, "host")),
             "a rank is on one host");
  });
}

template <class V>
void visit_fields(V& v, Like<Jitter> auto& j) {
  v.needed("seconds", j.seconds);
  v.needed("p99", j.p99, 0, kMost);
  v.needed("worst", j.worst, 0, kMost);
}

template <class V>
void visit_fields(V& v, Like<DiskReads> auto& d) {
  v.needed("bytes_per_s", d.rate);
  v.needed("bytes_read", d.bytes_read, 0, kMost);
  v.needed("bytes_loaded", d.bytes_loaded, 0, kMost);
}

template <class V>
void visit_fields(V& v, Like<Disk> auto& d) {
  v.needed("folder", d.folder);
  v.needed("bytes", d.bytes, 1, kMost);
  v("cold", d.cold);
  v("warm", d.warm);
}

template <class V>
void visit_fields(V& v, Like<Preparation> auto& p) {
  v.needed("kind", p.kind);
  v.needed("bytes", p.bytes, 0, kMost);
  v.needed("samples_per_s", p.rate);
}

namespace {

// Each entry of a list once; `at` is the key that names it first.
template <class Entry>
std::vector<Entry> read_list(Reader& parent, const char* key, const char* at, const auto& name_of) {
  std::vector<Entry> list;
  std::set<std::string> seen;
  for (Reader& r : parent.optional_tables(key)) {
    spec::take_fields(r, list.emplace_back());
    const std::string name = name_of(list.back());
    if (!seen.insert(name).second)
      r.fail(at, "profile.twice", fmt::format("{} is there twice", name), "one entry for each");
  }
  return list;
}

std::vector<Copy> read_copies(Reader r) {
  std::vector<Copy> list;
  for (const std::string_view key : r.keys()) {
    Reader own = r.required_table(key);
    if (!own.present()) continue;
    spec::take_fields(own, list.emplace_back());
    list.back().kind = key;
  }
  return list;
}

template <class Part>
Part read_part(Reader r) {
  Part part;
  if (r.present()) spec::take_fields(r, part);
  return part;
}

void add_member(std::string& text, const char* key, const Value& value) {
  text += fmt::format(",\n \"{}\": {}", key, spec::to_json(value));
}

template <class Entry>
void add_list(std::string& text, const char* key, const std::vector<Entry>& list) {
  if (list.empty()) return;
  text += fmt::format(",\n \"{}\": [", key);
  for (const Entry& entry : list)
    text += (&entry == list.data() ? "\n  " : ",\n  ") + spec::to_json(spec::put_value(entry));
  text += "\n ]";
}

}  // namespace

Machine read_machine(Reader& r) {
  Machine machine;
  machine.context = read_part<Context>(r.optional_table("context"));
  machine.kernels = read_list<Kernel>(r, "kernels", "kind", [](const Kernel& k) {
    return fmt::format("{} in {} of {}", k.kind, k.precision, k.shape);
  });
  machine.copies = read_copies(r.optional_table("memory"));
  machine.links = read_list<RankLink>(r, "links", "from", [](const RankLink& l) {
    return fmt::format("rank {} to rank {}, {} B", l.from, l.to, l.bytes);
  });
  machine.collectives = read_list<Collective>(r, "collectives", "kind", [](const Collective& c) {
    return fmt::format("{} by {} over {} on {}, {} B", c.kind, c.backend, counted(c.ranks, "rank"),
                       counted(c.hosts, "host"), c.bytes);
  });
  machine.jitter = read_part<Jitter>(r.optional_table("jitter"));
  machine.disk = read_part<Disk>(r.optional_table("disk"));
  machine.preparations =
      read_list<Preparation>(r, "prepare", "kind", [](const Preparation& p) { return p.kind; });
  return machine;
}

nlohmann::ordered_json to_json(const Quantiles& q) {
  return nlohmann::ordered_json::parse(spec::to_json(spec::put_value(q)));
}

std::string machine_members(const Machine& machine) {
  std::string text;
  if (machine.empty()) return text;
  if (!(machine.context == Context{}))
    add_member(text, "context", spec::put_value(machine.context));
  add_list(text, "kernels", machine.kernels);
  if (!machine.copies.empty()) {
    spec::Table copies;
    for (const Copy& own : machine.copies) copies.emplace_back(own.kind, spec::put_value(own));
    add_member(text, "memory", {.data = std::move(copies)});
  }
  add_list(text, "links", machine.links);
  add_list(text, "collectives", machine.collectives);
  if (machine.jitter.seconds.repeats > 0)
    add_member(text, "jitter", spec::put_value(machine.jitter));
  if (!machine.disk.folder.empty()) add_member(text, "disk", spec::put_value(machine.disk));
  add_list(text, "prepare", machine.preparations);
  return text;
}

}  // namespace nereus::profile
