// Lists and ranges of whole numbers in options: "1,2,4", "2..6" (each), "2..64*2" (doubling),
// "8..32+8" (steps), and any of them joined by commas. Also lists of words: "none,full".
//
//   command.custom("--tp", "LIST", whole_list("--tp", request.tp, 1), "tensor degrees to look at");
#pragma once

#include <string>
#include <vector>

#include "api/form/command.hpp"

namespace nereus::api {

// Returns the numbers in ascending order, without duplicates. Adds an error and returns nothing if
// the text is not a list, or has a number below `least`.
std::vector<int> parse_whole_list(const std::string& option, const std::string& text, int least,
                                  ErrorList& errors);

Take whole_list(std::string option, std::vector<int>& target, int least);

// Calls `take` with the index in `words` of each word.
Take word_list(std::string option, std::vector<std::string> words,
               std::function<void(std::size_t)> take);

}  // namespace nereus::api
