// What the shim writes, and anything else, is blocks that can be compared or an error.
#include "fuzz.hpp"
#include "measure/shim_blocks.hpp"

NEREUS_FUZZER(shim_blocks)(const std::uint8_t* data, std::size_t size) {
  using namespace nereus;
  return fuzz(data, size, [](std::string_view text) {
    const measure::ShimBlocks blocks = measure::read_shim_blocks(text, "blocks.jsonl");
    for (const measure::BlockTime& time : blocks.times)
      NEREUS_CHECK(time.rank < blocks.job.num_ranks, "a rank that the job does not have");
  });
}
