// A network file. What is accepted has a route between its ends, over links that carry something,
// and a place for each of them that leads back to it.
#include "fuzz.hpp"
#include "simulate/network/fold.hpp"
#include "simulate/network/network_file.hpp"

namespace nereus::simulate {
namespace {

void check_route(const Network& network, int from, int to) {
  // The longest way round a ring of a million ranks takes seconds to write down.
  for (const Dimension& d : network.dimensions())
    if (d.kind == DimensionKind::kRing && d.size > 4096) return;
  if (from == to) return;
  const Network::Path path = network.route(from, to);
  NEREUS_CHECK(!path.links.empty() && path.latency >= 0, "a route without links");
  const Fold none = Fold::none(network);
  for (const LinkUse& use : path.links) {
    NEREUS_CHECK(network.capacity_of(use.link) > 0, "a link that carries nothing");
    NEREUS_CHECK(network.link_at(network.place_of(use.link)) == use.link, "a link out of place");
    NEREUS_CHECK(none.link_of(use.link) == use.link, "a link that stands for another");
  }
}

void file_text(std::string_view text) {
  const Network network = network_from_value(spec::parse_toml(text, "fuzz.toml"));
  const int last = network.num_ranks() - 1;
  check_route(network, 0, last);
  check_route(network, last, 0);
  check_route(network, last / 2, last / 3);
}

}  // namespace
}  // namespace nereus::simulate

NEREUS_FUZZER(network)(const std::uint8_t* data, std::size_t size) {
  return nereus::fuzz(data, size, nereus::simulate::file_text);
}
