#include "simulate/network/sharing.hpp"

#include <algorithm>
#include <limits>

#include "base/error.hpp"

namespace nereus::simulate {

namespace {
std::size_t at(int index) { return static_cast<std::size_t>(index); }
}  // namespace

Sharing::Sharing(std::vector<double> capacities, const std::vector<const Route*>& routes)
    : routes_(routes.size()), links_(capacities.size()) {
  for (std::size_t l = 0; l < capacities.size(); ++l) {
    NEREUS_CHECK(capacities[l] > 0, "a link carries something");
    links_[l].capacity = capacities[l];
  }
  for (std::size_t r = 0; r < routes.size(); ++r) {
    routes_[r].first_use = static_cast<int>(uses_.size());
    for (const LinkUse& use : *routes[r])
      uses_.push_back({use.link, static_cast<int>(r), use.weight});
    routes_[r].end_use = static_cast<int>(uses_.size());
  }
}

void Sharing::change(const RouteState& route) {
  for (int u = route.first_use; u < route.end_use; ++u) {
    LinkState& link = links_[at(uses_[at(u)].link)];
    if (link.changed) continue;
    link.changed = true;
    changed_.push_back(uses_[at(u)].link);
  }
}

void Sharing::add(int route) {
  RouteState& state = routes_[at(route)];
  change(state);
  if (state.flows++ > 0) return;
  for (int u = state.first_use; u < state.end_use; ++u) {
    std::vector<int>& users = links_[at(uses_[at(u)].link)].users;
    uses_[at(u)].position = static_cast<int>(users.size());
    users.push_back(u);
  }
}

void Sharing::remove(int route) {
  RouteState& state = routes_[at(route)];
  change(state);
  if (--state.flows > 0) return;
  state.rate = 0;
  for (int u = state.first_use; u < state.end_use; ++u) {
    std::vector<int>& users = links_[at(uses_[at(u)].link)].users;
    const int moved = users.back();
    users[at(uses_[at(u)].position)] = moved;
    uses_[at(moved)].position = uses_[at(u)].position;
    users.pop_back();
  }
}

// All links and routes that a chain of shared links joins to a changed link.
void Sharing::find_connected() {
  found_links_.clear();
  for (const int l : changed_) {
    links_[at(l)].changed = false;
    if (links_[at(l)].users.empty()) continue;
    links_[at(l)].found = true;
    found_links_.push_back(l);
  }
  changed_.clear();
  for (std::size_t i = 0; i < found_links_.size(); ++i) {
    LinkState& link = links_[at(found_links_[i])];
    link.left = link.capacity;
    link.weight = 0;
    for (const int u : link.users) {
      RouteState& route = routes_[at(uses_[at(u)].route)];
      link.weight += uses_[at(u)].weight * route.flows;
      if (route.growing) continue;
      route.growing = true;
      found_routes_.push_back(uses_[at(u)].route);
      for (int v = route.first_use; v < route.end_use; ++v) {
        LinkState& other = links_[at(uses_[at(v)].link)];
        if (other.found) continue;
        other.found = true;
        found_links_.push_back(uses_[at(v)].link);
      }
    }
  }
}

void Sharing::fill(std::size_t growing) {
  while (growing > 0) {
    double share = std::numeric_limits<double>::infinity();
    std::size_t kept = 0;
    for (const int l : found_links_) {
      LinkState& link = links_[at(l)];
      if (link.weight <= 0) {
        link.found = false;
        continue;
      }
      found_links_[kept++] = l;
      share = std::min(share, link.left / link.weight);
    }
    found_links_.resize(kept);
    // All links that fill at this share do so in this round; rounding must not split equals.
    const double enough = share * (1 + 1e-9);
    full_.clear();
    for (const int l : found_links_)
      if (links_[at(l)].left <= enough * links_[at(l)].weight) full_.push_back(l);
    const std::size_t before = growing;
    for (const int l : full_) {
      for (const int u : links_[at(l)].users) {
        RouteState& route = routes_[at(uses_[at(u)].route)];
        if (!route.growing) continue;
        route.growing = false;
        route.rate = share;
        --growing;
        for (int v = route.first_use; v < route.end_use; ++v) {
          LinkState& link = links_[at(uses_[at(v)].link)];
          const double weight = uses_[at(v)].weight * route.flows;
          link.left = std::max(0.0, link.left - weight * share);
          link.weight -= weight;
          if (link.weight < 1e-9) link.weight = 0;
        }
      }
    }
    NEREUS_CHECK(growing < before, "the fullest link has a flow");
  }
  for (const int l : found_links_) links_[at(l)].found = false;
}

// No other route on any of its links: then there is nothing to share.
bool Sharing::alone(const RouteState& route) const {
  for (int u = route.first_use; u < route.end_use; ++u)
    if (links_[at(uses_[at(u)].link)].users.size() != 1) return false;
  return true;
}

const std::vector<int>& Sharing::solve() {
  found_routes_.clear();
  // Those that are alone first: in most collectives that is all of them.
  std::size_t kept = 0;
  for (const int l : changed_) {
    LinkState& link = links_[at(l)];
    if (link.users.size() == 1) {
      const int r = uses_[at(link.users[0])].route;
      RouteState& route = routes_[at(r)];
      if (route.growing) {  // found on another of its links
        link.changed = false;
        continue;
      }
      if (alone(route)) {
        double share = std::numeric_limits<double>::infinity();
        for (int u = route.first_use; u < route.end_use; ++u)
          share = std::min(
              share, links_[at(uses_[at(u)].link)].capacity / (uses_[at(u)].weight * route.flows));
        route.rate = share;
        route.growing = true;  // until all are found
        found_routes_.push_back(r);
        link.changed = false;
        continue;
      }
    }
    changed_[kept++] = l;
  }
  changed_.resize(kept);
  for (const int r : found_routes_) routes_[at(r)].growing = false;
  if (changed_.empty()) return found_routes_;
  const std::size_t num_alone = found_routes_.size();
  find_connected();
  fill(found_routes_.size() - num_alone);
  return found_routes_;
}

}  // namespace nereus::simulate
