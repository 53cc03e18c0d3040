#include "worker/comm/cards.hpp"

#include "job/alike.hpp"

namespace nereus::worker {

std::string address_and_card(const std::string& address, const std::string& card) {
  return address + "\n" + card;
}

std::vector<std::string> addresses_of_alike(const std::vector<std::string>& said) {
  std::vector<std::string> addresses, cards;
  for (const std::string& text : said) {
    const std::size_t end = text.find('\n');
    addresses.push_back(text.substr(0, end));
    cards.push_back(end == std::string::npos ? "" : text.substr(end + 1));
  }
  job::check_alike(cards);
  return addresses;
}

}  // namespace nereus::worker
