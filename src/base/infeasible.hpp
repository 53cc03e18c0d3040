// A search that found nothing, if the caller has no place for an empty answer. It is thrown like
// Errors, and the program ends with exit code 3 instead of 2.
//
//   throw_infeasible("job.no-plan", "gpt3-175b fits on no number of machines up to 4",
//                    "larger ones");
#pragma once

#include <string>
#include <utility>

#include "base/error.hpp"

namespace nereus {

class Infeasible : public Errors {
 public:
  using Errors::Errors;
};

[[noreturn]] inline void throw_infeasible(std::string code, std::string message,
                                          std::string hint = {}) {
  throw Infeasible({{std::move(code), std::move(message), {}, std::move(hint)}});
}

}  // namespace nereus
