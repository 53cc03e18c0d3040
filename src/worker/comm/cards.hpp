// The text that a rank sends when it meets the others: its address, and its card, which lists the
// options that all ranks must share (job/alike.hpp).
//
//   std::vector<std::string> addresses = addresses_of_alike(said);   // throws if cards differ
#pragma once

#include <string>
#include <vector>

namespace nereus::worker {

std::string address_and_card(const std::string& address, const std::string& card);
// Returns the addresses of all ranks. Throws Errors if their cards differ.
std::vector<std::string> addresses_of_alike(const std::vector<std::string>& said);

}  // namespace nereus::worker
