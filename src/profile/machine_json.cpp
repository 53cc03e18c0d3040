#include "profile/machine_json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <set>

namespace nereus::profile {

namespace {

using Json = nlohmann::ordered_json;
using spec::Reader;

constexpr double kMost = 1e18;  // seconds, bytes, rates: anything beyond is no measurement
constexpr int kMostRanks = 1 << 20;

Quantiles read_quantiles(Reader& parent, const char* key) {
  Quantiles q;
  Reader r = parent.required_table(key);
  if (!r.present()) return q;
  q.median = r.required_double("median", 0, kMost);
  q.low = r.required_double("low", 0, kMost);
  q.high = r.required_double("high", 0, kMost);
  q.repeats = r.required_int("repeats", 1);
  q.processes = r.optional_int("processes", 0, 1, kMostProcesses);
  if (q.has_interval() || r.has("half_width"))
    q.half_width = r.required_double("half_width", 0, kMost);
  if (r.has("half_width") && !q.has_interval())
    r.fail("half_width", "profile.processes",
           fmt::format("an interval over {} processes; one takes at least two", q.processes),
           "\"processes\": 5, or leave it out");
  if (!(q.median > 0))
    r.fail("median", "profile.value", "what was measured took no time, or was infinitely fast",
           "remove the entry if it was not measured");
  if (!(q.low <= q.median && q.median <= q.high))
    r.fail("low", "profile.quantiles",
           fmt::format("low {}, median {}, high {} are not in order", q.low, q.median, q.high),
           "low <= median <= high");
  r.finish();
  return q;
}

// Each entry of a list once.
class Once {
 public:
  void check(Reader& r, const char* key, std::string name) {
    if (!seen_.insert(name).second)
      r.fail(key, "profile.twice", fmt::format("{} is there twice", name), "one entry for each");
  }

 private:
  std::set<std::string> seen_;
};

Context read_context(Reader r) {
  Context c;
  if (!r.present()) return c;
  c.device = r.required_string("device");
  c.device_name = r.optional_string("device_name");
  c.driver = r.optional_string("driver");
  c.library = r.optional_string("library");
  c.build = r.optional_string("build");
  c.date = r.optional_string("date");
  c.host = r.optional_string("host");
  c.system = r.optional_string("system");
  c.backend = r.optional_string("backend");
  c.cores = r.optional_int("cores", 0, 0);
  c.ranks = r.optional_int("ranks", 0, 0, kMostRanks);
  c.hosts = r.optional_int("hosts", 0, 0, kMostRanks);
  c.threads = r.optional_int("threads", 0, 0);
  c.quick = r.optional_bool("quick", false);
  c.processes = r.optional_int("processes", 0, 1, kMostProcesses);
  r.finish();
  return c;
}

std::vector<Kernel> read_kernels(Reader& parent) {
  std::vector<Kernel> list;
  Once once;
  for (Reader& r : parent.optional_tables("kernels")) {
    Kernel k;
    k.kind = r.required_string("kind");
    k.precision = r.required_string("precision");
    for (const int size : r.required_ints("shape", 1)) k.shape.push_back(size);
    k.flops = r.optional_double("flops", 0, 0, kMost);
    k.bytes = r.optional_double("bytes", 0, 0, kMost);
    k.seconds = read_quantiles(r, "seconds");
    once.check(r, "kind", fmt::format("{} in {} of {}", k.kind, k.precision, k.shape));
    r.finish();
    list.push_back(std::move(k));
  }
  return list;
}

std::vector<Copy> read_copies(Reader r) {
  std::vector<Copy> list;
  if (!r.present()) return list;
  for (const std::string_view key : r.keys()) {
    Reader own = r.required_table(key);
    if (!own.present()) continue;
    Copy copy{std::string(key), own.required_double("bytes", 1, kMost), {}};
    copy.rate = read_quantiles(own, "bytes_per_s");
    own.finish();
    list.push_back(std::move(copy));
  }
  return list;
}

std::vector<RankLink> read_links(Reader& parent) {
  std::vector<RankLink> list;
  Once once;
  for (Reader& r : parent.optional_tables("links")) {
    RankLink l;
    l.from = r.required_int("from", 0, kMostRanks);
    l.to = r.required_int("to", 0, kMostRanks);
    l.same_host = r.required_bool("same_host");
    l.bytes = r.required_double("bytes", 1, kMost);
    l.seconds = read_quantiles(r, "seconds");
    if (l.from == l.to)
      r.fail("to", "profile.value", fmt::format("rank {} sends itself a message", l.to),
             "links join two ranks");
    once.check(r, "from", fmt::format("rank {} to rank {}, {} B", l.from, l.to, l.bytes));
    r.finish();
    list.push_back(l);
  }
  return list;
}

std::vector<Collective> read_collectives(Reader& parent) {
  std::vector<Collective> list;
  Once once;
  for (Reader& r : parent.optional_tables("collectives")) {
    Collective c;
    c.kind = r.required_enum<std::string>("kind", {{"all_reduce", "all_reduce"},
                                                   {"all_gather", "all_gather"},
                                                   {"reduce_scatter", "reduce_scatter"}});
    c.backend = r.required_string("backend");
    c.ranks = r.required_int("ranks", 2, kMostRanks);
    c.hosts = r.required_int("hosts", 1, kMostRanks);
    c.bytes = r.required_double("bytes", 1, kMost);
    c.seconds = read_quantiles(r, "seconds");
    if (c.hosts > c.ranks)
      r.fail("hosts", "profile.value", fmt::format("{} ranks on {} hosts", c.ranks, c.hosts),
             "a rank is on one host");
    once.check(r, "kind",
               fmt::format("{} by {} over {} ranks on {} hosts, {} B", c.kind, c.backend, c.ranks,
                           c.hosts, c.bytes));
    r.finish();
    list.push_back(std::move(c));
  }
  return list;
}

Jitter read_jitter(Reader r) {
  Jitter j;
  if (!r.present()) return j;
  j.seconds = read_quantiles(r, "seconds");
  j.p99 = r.required_double("p99", 0, kMost);
  j.worst = r.required_double("worst", 0, kMost);
  r.finish();
  return j;
}

DiskReads read_reads(Reader r) {
  DiskReads d;
  if (!r.present()) return d;
  d.rate = read_quantiles(r, "bytes_per_s");
  d.bytes_read = r.required_double("bytes_read", 0, kMost);
  d.bytes_loaded = r.required_double("bytes_loaded", 0, kMost);
  r.finish();
  return d;
}

Disk read_disk(Reader r) {
  Disk d;
  if (!r.present()) return d;
  d.folder = r.required_string("folder");
  d.bytes = r.required_double("bytes", 1, kMost);
  d.cold = read_reads(r.optional_table("cold"));
  d.warm = read_reads(r.optional_table("warm"));
  r.finish();
  return d;
}

std::vector<Preparation> read_preparations(Reader& parent) {
  std::vector<Preparation> list;
  Once once;
  for (Reader& r : parent.optional_tables("prepare")) {
    Preparation p;
    p.kind = r.required_string("kind");
    p.bytes = r.required_double("bytes", 0, kMost);
    p.rate = read_quantiles(r, "samples_per_s");
    once.check(r, "kind", p.kind);
    r.finish();
    list.push_back(std::move(p));
  }
  return list;
}

Json to_json(const Context& c) {
  Json json;
  const auto say = [&](const char* key, const std::string& text) {
    if (!text.empty()) json[key] = text;
  };
  say("device", c.device);
  say("device_name", c.device_name);
  say("driver", c.driver);
  say("library", c.library);
  say("build", c.build);
  say("date", c.date);
  say("host", c.host);
  say("system", c.system);
  say("backend", c.backend);
  json["cores"] = c.cores;
  json["ranks"] = c.ranks;
  json["hosts"] = c.hosts;
  json["threads"] = c.threads;
  json["quick"] = c.quick;
  if (c.processes > 0) json["processes"] = c.processes;
  return json;
}

Json to_json(const Kernel& k) {
  return {{"kind", k.kind},   {"precision", k.precision}, {"shape", k.shape},
          {"flops", k.flops}, {"bytes", k.bytes},         {"seconds", to_json(k.seconds)}};
}

Json to_json(const RankLink& l) {
  return {{"from", l.from},
          {"to", l.to},
          {"same_host", l.same_host},
          {"bytes", l.bytes},
          {"seconds", to_json(l.seconds)}};
}

Json to_json(const Collective& c) {
  return {{"kind", c.kind},   {"backend", c.backend}, {"ranks", c.ranks},
          {"hosts", c.hosts}, {"bytes", c.bytes},     {"seconds", to_json(c.seconds)}};
}

Json to_json(const DiskReads& d) {
  return {{"bytes_per_s", to_json(d.rate)},
          {"bytes_read", d.bytes_read},
          {"bytes_loaded", d.bytes_loaded}};
}

Json to_json(const Preparation& p) {
  return {{"kind", p.kind}, {"bytes", p.bytes}, {"samples_per_s", to_json(p.rate)}};
}

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

template <class Entry>
void add_list(std::string& text, const char* key, const std::vector<Entry>& list) {
  if (list.empty()) return;
  text += fmt::format(",\n \"{}\": [", key);
  for (std::size_t i = 0; i < list.size(); ++i)
    text += (i > 0 ? ",\n  " : "\n  ") + dump(to_json(list[i]));
  text += "\n ]";
}

void add_member(std::string& text, const char* key, const Json& json) {
  text += fmt::format(",\n \"{}\": {}", key, dump(json));
}

}  // namespace

Machine read_machine(Reader& r) {
  Machine machine;
  machine.context = read_context(r.optional_table("context"));
  machine.kernels = read_kernels(r);
  machine.copies = read_copies(r.optional_table("memory"));
  machine.links = read_links(r);
  machine.collectives = read_collectives(r);
  machine.jitter = read_jitter(r.optional_table("jitter"));
  machine.disk = read_disk(r.optional_table("disk"));
  machine.preparations = read_preparations(r);
  return machine;
}

nlohmann::ordered_json to_json(const Quantiles& q) {
  Json json{{"median", q.median}, {"low", q.low}, {"high", q.high}, {"repeats", q.repeats}};
  if (q.processes > 0) json["processes"] = q.processes;
  if (q.has_interval()) json["half_width"] = q.half_width;
  return json;
}

std::string machine_members(const Machine& machine) {
  std::string text;
  if (machine.empty()) return text;
  if (!(machine.context == Context{})) add_member(text, "context", to_json(machine.context));
  add_list(text, "kernels", machine.kernels);
  if (!machine.copies.empty()) {
    Json copies;
    for (const Copy& own : machine.copies)
      copies[own.kind] = {{"bytes", own.bytes}, {"bytes_per_s", to_json(own.rate)}};
    add_member(text, "memory", copies);
  }
  add_list(text, "links", machine.links);
  add_list(text, "collectives", machine.collectives);
  if (machine.jitter.seconds.repeats > 0)
    add_member(text, "jitter",
               {{"seconds", to_json(machine.jitter.seconds)},
                {"p99", machine.jitter.p99},
                {"worst", machine.jitter.worst}});
  if (!machine.disk.folder.empty()) {
    Json disk{{"folder", machine.disk.folder}, {"bytes", machine.disk.bytes}};
    if (machine.disk.cold.rate.repeats > 0) disk["cold"] = to_json(machine.disk.cold);
    if (machine.disk.warm.rate.repeats > 0) disk["warm"] = to_json(machine.disk.warm);
    add_member(text, "disk", disk);
  }
  add_list(text, "prepare", machine.preparations);
  return text;
}

}  // namespace nereus::profile
