#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "simulate/network/fold.hpp"

namespace nereus::simulate {

namespace {

std::size_t slot(int index) { return static_cast<std::size_t>(index); }

// The messages of an exchange, between simulated ranks.
struct Messages {
  struct Message {
    int from = 0, to = 0, route = 0;
  };
  std::vector<Message> list;  // by sender
  std::vector<int> first_from;
  std::vector<int> by_receiver;  // indices of list
  std::vector<int> first_to;

  void index(int num_played) {
    first_from.assign(slot(num_played) + 1, 0);
    first_to.assign(slot(num_played) + 1, 0);
    for (const Message& m : list) {
      ++first_from[slot(m.from) + 1];
      ++first_to[slot(m.to) + 1];
    }
    for (std::size_t i = 0; i < slot(num_played); ++i) {
      first_from[i + 1] += first_from[i];
      first_to[i + 1] += first_to[i];
    }
    by_receiver.resize(list.size());
    std::vector<int> fill(first_to.begin(), first_to.end() - 1);
    for (std::size_t i = 0; i < list.size(); ++i)
      by_receiver[slot(fill[slot(list[i].to)]++)] = static_cast<int>(i);
  }
  std::span<const int> to(int number) const {
    return {by_receiver.data() + first_to[slot(number)],
            by_receiver.data() + first_to[slot(number) + 1]};
  }
};

class Builder {
 public:
  Builder(const Network& network, const Program& program, const Fold& fold)
      : network_(network), program_(program), fold_(fold) {}

  Playable build() && {
    std::vector<const Messages*> messages;
    std::vector<int> first;  // transfer of each exchange
    for (const Exchange& e : program_) {
      messages.push_back(&messages_of(e));
      first.push_back(static_cast<int>(playable_.transfers.list().size()));
      for (const Messages::Message& m : messages.back()->list) add(e, m, messages, first);
    }
    if (playable_.capacities.empty()) add_link(0);  // a program with only joins
    return std::move(playable_);
  }

 private:
  void add(const Exchange& e, const Messages::Message& m,
           const std::vector<const Messages*>& messages, const std::vector<int>& first) {
    Transfers& transfers = playable_.transfers;
    const int transfer = transfers.add(m.route, e.bytes);
    const auto after_sending = [&](int exchange) {
      const Messages& before = *messages[slot(exchange)];
      for (int i = before.first_from[slot(m.from)]; i < before.first_from[slot(m.from) + 1]; ++i)
        transfers.after_sent(transfer, first[slot(exchange)] + i);
    };
    for (const int exchange : e.after) {
      const Messages& before = *messages[slot(exchange)];
      for (const int i : before.to(m.from))
        transfers.after_arrival(transfer, first[slot(exchange)] + i);
      if (m.to != m.from)
        for (const int i : before.to(m.to))
          transfers.after_arrival(transfer, first[slot(exchange)] + i);
      // A rank that represents all ranks has sent before it receives.
      if (fold_.num_played() > 1) after_sending(exchange);
    }
    if (e.follows >= 0) after_sending(e.follows);
  }

  const Messages& messages_of(const Exchange& e) {
    auto [place, fresh] =
        known_.try_emplace({e.dimension, static_cast<int>(e.pattern), e.amount, e.pairs});
    Messages& messages = place->second;
    if (!fresh) return messages;
    const int n = network_.dimensions()[slot(e.dimension)].size;
    std::vector<std::vector<int>> named(e.pairs.empty() ? 0 : slot(n));
    for (const auto& [a, b] : e.pairs) named[slot(a)].push_back(b);
    for (int number = 0; number < fold_.num_played(); ++number) {
      const int rank = fold_.rank_of(number), c = network_.coordinate(rank, e.dimension);
      const auto send = [&](int coordinate) {
        const int to = network_.moved(rank, e.dimension, coordinate);
        messages.list.push_back({number, fold_.number_of(to), route_between(rank, to)});
      };
      if (e.pattern == Exchange::Pattern::kShift) send((c + e.amount) % n);
      if (e.pattern == Exchange::Pattern::kXor) send(c ^ e.amount);
      if (e.pattern == Exchange::Pattern::kJoin) send(c);
      if (!named.empty())
        for (const int other : named[slot(c)]) send(other);
    }
    messages.index(fold_.num_played());
    return messages;
  }

  int add_link(int link) {
    const auto [place, fresh] = dense_.try_emplace(link, static_cast<int>(playable_.links.size()));
    if (fresh) {
      playable_.links.push_back(link);
      playable_.capacities.push_back(network_.capacity_of(link));
    }
    return place->second;
  }

  // Routes over representative links; equal routes are shared.
  int route_between(int from, int to) {
    Network::Path path;
    if (from == to)
      path.links = {{fold_.link_of(0), 1}};  // a join: carries nothing and takes no time
    else
      path = network_.route(from, to);
    std::map<int, double> uses;
    for (const LinkUse& use : path.links) uses[add_link(fold_.link_of(use.link))] += use.weight;
    const auto [place, fresh] = routes_.try_emplace({path.latency, uses}, 0);
    if (fresh) {
      Route links;
      for (const auto& [link, weight] : uses) links.push_back({link, weight});
      place->second = playable_.transfers.add_route(std::move(links), path.latency);
    }
    return place->second;
  }

  const Network& network_;
  const Program& program_;
  const Fold& fold_;
  Playable playable_;
  std::map<std::tuple<int, int, int, std::vector<std::pair<int, int>>>, Messages> known_;
  std::unordered_map<int, int> dense_;
  std::map<std::pair<Picoseconds, std::map<int, double>>, int> routes_;
};

}  // namespace

Playable make_playable(const Network& network, const Program& program, const Fold& fold) {
  return Builder(network, program, fold).build();
}

}  // namespace nereus::simulate
