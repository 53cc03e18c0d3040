// What a rank says when it meets the others: where it is reached, and its card (job/alike.hpp).
//
//   std::vector<std::string> addresses = addresses_of_alike(said);   // throws where cards differ
#pragma once

#include <string>
#include <vector>

namespace nereus::worker {

std::string address_and_card(const std::string& address, const std::string& card);
// Of all ranks, once their cards were compared. Throws Errors.
std::vector<std::string> addresses_of_alike(const std::vector<std::string>& said);

}  // namespace nereus::worker
