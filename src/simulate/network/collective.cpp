#include "simulate/network/collective.hpp"

#include <cctype>
#include <string>

namespace nereus::simulate {

std::string_view to_string(Collective collective) {
  switch (collective) {
    case Collective::kAllReduce:
      return "all-reduce";
    case Collective::kReduceScatter:
      return "reduce-scatter";
    case Collective::kAllGather:
      return "all-gather";
    default:
      return "all-to-all";
  }
}

std::optional<Collective> parse_collective(std::string_view text) {
  const auto letters_of = [](std::string_view word) {
    std::string letters;
    for (const char c : word)
      if (std::isalpha(static_cast<unsigned char>(c)))
        letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return letters;
  };
  for (const Collective collective : {Collective::kAllReduce, Collective::kReduceScatter,
                                      Collective::kAllGather, Collective::kAllToAll})
    if (letters_of(text) == letters_of(to_string(collective))) return collective;
  return std::nullopt;
}

}  // namespace nereus::simulate
