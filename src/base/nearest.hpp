// The word that a user most likely meant, for hints: 'did you mean "layers"?'.
//
//   nearest("laeyrs", {"layers", "heads"});   // "layers"
//   nearest("zebra", {"layers", "heads"});    // empty
//
// The distance is the restricted Damerau-Levenshtein distance: insert, delete, replace and swap of
// adjacent letters cost 1 each; letters that differ only in case cost nothing. A word is accepted
// if its distance is at most 1, or at most a third of the longer word's length. A word that starts
// with the given word, or with which the given word starts, is accepted too, after all nearer
// words.
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
