// The word that a user most likely meant, for hints: 'did you mean "layers"?'.
//
//   nearest("laeyrs", {"layers", "heads"});   // "layers"
//   nearest("zebra", {"layers", "heads"});    // empty
//
// The distance is the restricted Damerau-Levenshtein distance: insert, delete, replace and swap of
// adjacent letters cost 1 each; letters that differ only in case cost nothing. Words within a third
// of the length of the longer word, at least 1, are accepted. Words that start with the given word,
// or the other way round, are accepted too, after all nearer ones.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nereus {

std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);

// The number of single edits between two words, ignoring case.
int edit_distance(std::string_view a, std::string_view b);

}  // namespace nereus
