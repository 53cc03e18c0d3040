// Plays one case of write_cases.cpp in SimGrid and compares when each flow arrives.
//
//   simgrid_play FILE.case       prints "worst 1.2e-09 end 0.0153 ours 0.0153"; exit 1 above 0.1 %
//
// SimGrid's CM02 flow model with all that is about TCP taken out, so that what is left is what both
// claim to do: links shared max-min fairly by the flows on them. network/TCP-gamma 0: no window
// bounds a flow. network/bandwidth-factor and latency-factor 1: links have what the case says.
// network/weight-S 0: no penalty for slow links. network/crosstraffic 0: acknowledgements take
// nothing of the way back.
//
// CM02 gives a flow a share in inverse proportion to its latency (round-trip unfairness), which we
// do not claim, and lets the latency pass before the bytes, which we let pass after them. So where
// latencies differ ("latency after") its links have none, and a second, private communication that
// takes just as long follows each flow: bytes first, then latency. Where all that meet have one
// latency ("latency native") SimGrid's links have it themselves.
#include <xbt/log.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <set>
#include <simgrid/s4u.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace sg = simgrid::s4u;

namespace {

// Both claim the same sharing, so what is left is rounding; 5 % is what unlike models may differ
// by.
constexpr double kLimit = 1e-3;

struct Link {
  double bandwidth = 0;
  long long latency = 0;
};
struct Route {
  long long latency = 0;
  std::vector<std::size_t> links;
};
struct Flow {
  std::size_t route = 0;
  double bytes = 0;
  long long arrival = 0;
};
struct Wait {
  std::size_t flow = 0, before = 0;
  bool sent = false;
};
struct Case {
  bool native = false;
  std::vector<Link> links;
  std::vector<Route> routes;
  std::vector<Flow> flows;
  std::vector<Wait> waits;
};

Case read(const char* path) {
  Case all;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string kind, word;
    words >> kind;
    if (kind == "latency") {
      words >> word;
      all.native = word == "native";
    } else if (kind == "link") {
      words >> all.links.emplace_back().bandwidth >> all.links.back().latency;
    } else if (kind == "route") {
      words >> all.routes.emplace_back().latency;
      for (std::size_t link; words >> link;) all.routes.back().links.push_back(link);
    } else if (kind == "flow") {
      Flow& flow = all.flows.emplace_back();
      words >> flow.route >> flow.bytes >> flow.arrival;
    } else if (kind == "wait") {
      Wait& wait = all.waits.emplace_back();
      words >> wait.flow >> wait.before >> word;
      wait.sent = word == "sent";
    }
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  sg::Engine engine(&argc, argv);
  xbt_log_control_set("root.threshold:error");
  for (const char* setting :
       {"network/model:CM02", "network/TCP-gamma:0", "network/bandwidth-factor:1",
        "network/latency-factor:1", "network/weight-S:0", "network/crosstraffic:0",
        "surf/precision:1e-12", "maxmin/precision:1e-9"})
    sg::Engine::set_config(setting);
  if (argc != 2) {
    std::fprintf(stderr, "usage: simgrid_play FILE.case\n");
    return 2;
  }
  const Case all = read(argv[1]);

  sg::NetZone* zone = sg::create_full_zone("all");
  std::vector<const sg::Link*> links;
  for (std::size_t l = 0; l < all.links.size(); ++l)
    links.push_back(zone->create_link("l" + std::to_string(l), all.links[l].bandwidth)
                        ->set_latency(all.native ? all.links[l].latency * 1e-12 : 0)
                        ->seal());
  // Time as bytes: a link that nobody shares and that carries a byte a picosecond.
  const sg::Link* clock = zone->create_link("clock", 1e12)
                              ->set_sharing_policy(sg::Link::SharingPolicy::FATPIPE)
                              ->set_latency(0)
                              ->seal();
  const auto join = [&](const std::string& name, const std::vector<sg::LinkInRoute>& by) {
    sg::Host* a = zone->create_host(name + "a", 1e9)->seal();
    sg::Host* b = zone->create_host(name + "b", 1e9)->seal();
    zone->add_route(a->get_netpoint(), b->get_netpoint(), nullptr, nullptr, by, false);
    return std::pair(a, b);
  };
  std::vector<std::pair<sg::Host*, sg::Host*>> ends;
  for (std::size_t r = 0; r < all.routes.size(); ++r) {
    std::vector<sg::LinkInRoute> by;
    for (const std::size_t l : all.routes[r].links) by.emplace_back(links[l]);
    ends.push_back(join("r" + std::to_string(r), by));
  }
  const auto waiting = join("clock", {sg::LinkInRoute(clock)});
  zone->seal();

  const auto communicate = [](const std::pair<sg::Host*, sg::Host*>& between, double bytes) {
    return sg::Comm::sendto_init(between.first, between.second)
        ->set_payload_size(static_cast<std::uint64_t>(std::llround(std::max(1.0, bytes))));
  };
  std::vector<sg::CommPtr> sent, arrived;
  for (const Flow& flow : all.flows) {
    const Route& route = all.routes[flow.route];
    const bool carries = flow.bytes > 0;
    const bool inside = all.native && carries;  // the latency is in the flow itself
    sent.push_back(communicate(carries ? ends[flow.route] : waiting, flow.bytes));
    arrived.push_back(sent.back());
    if (inside || route.latency == 0) continue;
    arrived.back() = communicate(waiting, static_cast<double>(route.latency));
    sent.back()->add_successor(arrived.back());
  }
  std::set<std::pair<sg::Comm*, sg::Comm*>> known;  // SimGrid refuses to be told twice
  for (const Wait& wait : all.waits) {
    const sg::CommPtr& before = (wait.sent ? sent : arrived)[wait.before];
    if (known.insert({before.get(), sent[wait.flow].get()}).second)
      before->add_successor(sent[wait.flow]);
  }
  for (const sg::CommPtr& comm : sent) comm->vetoable_start();
  for (std::size_t i = 0; i < arrived.size(); ++i)
    if (arrived[i] != sent[i]) arrived[i]->vetoable_start();
  engine.run();

  double worst = 0, end = 0, ours_end = 0;
  for (std::size_t i = 0; i < all.flows.size(); ++i) {
    const double theirs = arrived[i]->get_finish_time();
    const double ours = static_cast<double>(all.flows[i].arrival) * 1e-12;
    if (theirs < 0) {
      std::printf("flow %zu never ends in SimGrid\n", i);
      return 1;
    }
    end = std::max(end, theirs);
    ours_end = std::max(ours_end, ours);
    // Nanoseconds are no difference: a transfer of nothing is a byte here.
    if (std::abs(theirs - ours) > 1e-9)
      worst = std::max(worst, std::abs(theirs - ours) / std::max(theirs, ours));
  }
  std::printf("worst %.1e end %.9f ours %.9f flows %zu\n", worst, end, ours_end, all.flows.size());
  return worst <= kLimit ? 0 : 1;
}
