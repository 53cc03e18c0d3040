// The word a user most likely meant, for hints: 'did you mean "layers"?'.
//
//   nearest("laeyrs", {"layers", "heads"});   // "layers"
//   nearest("zebra", {"layers", "heads"});    // nothing
//
// Distance is the restricted Damerau-Levenshtein distance (insert, delete, replace, swap
// neighbours: 1 each; letters that differ only in case: free). Accepted up to a third of the longer
// word, at least 1; a candidate that starts with the word, or the other way round, is accepted as
// well, after all nearer ones.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nereus {

std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);

// Number of single edits between two words, ignoring case.
int edit_distance(std::string_view a, std::string_view b);

}  // namespace nereus
