// What the readers of other engines' files promise, whatever the file says: an answer or Errors,
// and degrees that are whole positive numbers.
#pragma once

#include <string>
#include <string_view>

#include "export/bundle.hpp"
#include "fuzz.hpp"
#include "model/read/load_model.hpp"

namespace nereus {

inline int fuzz_engine_file(const std::uint8_t* data, std::size_t size, const char* name) {
  static const model::Model kModel = model::load_model("gpt2");
  return fuzz(data, size, [&](std::string_view text) {
    const exporting::Bundle files = {{name, std::string(text)}};
    const exporting::Hints hints = exporting::read_hints(files);
    const bool own_model = hints.engine != exporting::Engine::kMegatron;
    const exporting::Reading reading = exporting::read(
        files, hints,
        {64, {"generic", true, size % 2 == 0}, own_model ? std::optional(kModel) : std::nullopt});
    const plan::Degrees& d = reading.degrees;
    NEREUS_CHECK(d.tp >= 1 && d.pp >= 1 && d.dp >= 1 && d.cp >= 1 && d.ep >= 1 && d.expert_tp >= 1,
                 "a degree below 1");
    NEREUS_CHECK(d.interleave >= 1 && d.micro_batch >= 1 && d.global_batch >= 1, "an empty batch");
    NEREUS_CHECK(d.zero >= 0 && d.zero_group >= 0 && d.recompute_blocks >= 0, "a negative number");
  });
}

}  // namespace nereus
