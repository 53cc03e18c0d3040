#include "simulate/network/sharing.hpp"

#include <algorithm>
#include <limits>

#include "base/error.hpp"

namespace nereus::simulate {

namespace {

constexpr double kEqual = 1e-9;  // rates that differ by less differ by rounding
constexpr int kMostRounds = 4;

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

// No other route on any of its links: then there is nothing to share.
bool Sharing::alone(const RouteState& route) const {
  for (int u = route.first_use; u < route.end_use; ++u)
    if (links_[at(uses_[at(u)].link)].users.size() != 1) return false;
  return true;
}

// Routes that share no link need no filling: in most collectives this holds for all of them. Leaves
// the other changed links in changed_.
void Sharing::solve_alone() {
  std::size_t kept = 0;
  for (const int l : changed_) {
    LinkState& link = links_[at(l)];
    link.changed = false;
    if (link.users.empty()) continue;
    const int r = uses_[at(link.users[0])].route;
    RouteState& route = routes_[at(r)];
    if (link.users.size() > 1 || (!route.free && !alone(route))) {
      changed_[kept++] = l;
      continue;
    }
    if (route.free) continue;  // found on another of its links
    route.free = true;
    found_routes_.push_back(r);
    route.rate = std::numeric_limits<double>::infinity();
    for (int u = route.first_use; u < route.end_use; ++u) {
      const Use& use = uses_[at(u)];
      const double share = links_[at(use.link)].capacity / (use.weight * route.flows);
      if (share >= route.rate) continue;
      route.rate = share;
      route.held_by = use.link;
    }
  }
  changed_.resize(kept);
  num_alone_ = found_routes_.size();
}

void Sharing::set_free(const LinkState& link) {
  for (const int u : link.users) {
    RouteState& route = routes_[at(uses_[at(u)].route)];
    if (route.free) continue;
    route.free = true;
    found_routes_.push_back(uses_[at(u)].route);
    for (int v = route.first_use; v < route.end_use; ++v) {
      LinkState& other = links_[at(uses_[at(v)].link)];
      if (other.found) continue;
      other.found = true;
      found_links_.push_back(uses_[at(v)].link);
    }
  }
}

// Progressive filling of the free routes with what the others leave.
void Sharing::fill() {
  for (const int l : found_links_) {
    LinkState& link = links_[at(l)];
    link.left = link.capacity;
    link.weight = 0;
    for (const int u : link.users) {
      const RouteState& route = routes_[at(uses_[at(u)].route)];
      const double weight = uses_[at(u)].weight * route.flows;
      if (route.free)
        link.weight += weight;
      else
        link.left -= weight * route.rate;
    }
    link.left = std::max(0.0, link.left);
  }
  for (std::size_t i = num_alone_; i < found_routes_.size(); ++i)
    routes_[at(found_routes_[i])].growing = true;
  open_ = found_links_;
  for (std::size_t growing = found_routes_.size() - num_alone_; growing > 0;) {
    double share = std::numeric_limits<double>::infinity();
    std::size_t kept = 0;
    for (const int l : open_) {
      const LinkState& link = links_[at(l)];
      if (link.weight <= 0) continue;
      open_[kept++] = l;
      share = std::min(share, link.left / link.weight);
    }
    open_.resize(kept);
    // All links that fill at this share do so in this round; rounding must not separate equal ones.
    const double enough = share * (1 + kEqual);
    full_.clear();
    for (const int l : open_)
      if (links_[at(l)].left <= enough * links_[at(l)].weight) full_.push_back(l);
    const std::size_t before = growing;
    for (const int l : full_) {
      for (const int u : links_[at(l)].users) {
        RouteState& route = routes_[at(uses_[at(u)].route)];
        if (!route.growing) continue;
        route.growing = false;
        route.rate = share;
        route.held_by = l;
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
}

// Whether a route that kept its rate could get more on this link, or must give some away.
bool Sharing::unfair(int l) const {
  const LinkState& link = links_[at(l)];
  const bool full = link.left <= kEqual * link.capacity;
  double most = 0, held = std::numeric_limits<double>::infinity();
  for (const int u : link.users) {
    const RouteState& route = routes_[at(uses_[at(u)].route)];
    if (!route.free) continue;
    most = std::max(most, route.rate);
    if (route.held_by == l) held = std::min(held, route.rate);
  }
  for (const int u : link.users) {
    const RouteState& route = routes_[at(uses_[at(u)].route)];
    if (route.free) continue;
    if (route.rate > held * (1 + kEqual)) return true;
    if (route.held_by == l && (!full || most > route.rate * (1 + kEqual))) return true;
  }
  return false;
}

const std::vector<int>& Sharing::solve() {
  found_routes_.clear();
  found_links_.clear();
  solve_alone();
  for (const int l : changed_) set_free(links_[at(l)]);
  changed_.clear();
  for (int round = 1; found_routes_.size() > num_alone_; ++round) {
    fill();
    const std::size_t num_found = found_links_.size(), before = found_routes_.size();
    for (std::size_t i = 0; i < num_found; ++i)
      if (unfair(found_links_[i])) set_free(links_[at(found_links_[i])]);
    if (found_routes_.size() == before) break;
    // It spreads: all that is joined to it, at once.
    if (round == kMostRounds)
      for (std::size_t i = 0; i < found_links_.size(); ++i) set_free(links_[at(found_links_[i])]);
  }
  for (const int r : found_routes_) routes_[at(r)].free = false;
  for (const int l : found_links_) links_[at(l)].found = false;
  return found_routes_;
}

}  // namespace nereus::simulate
