// An order that is read can be played and written, and reads back the same.
#include "fuzz.hpp"
#include "simulate/pipeline/order_file.hpp"
#include "simulate/pipeline/pipeline_play.hpp"

NEREUS_FUZZER(order)(const std::uint8_t* data, std::size_t size) {
  using namespace nereus;
  return fuzz(data, size, [](std::string_view text) {
    const simulate::OrderFile file = simulate::parse_order(text, "fuzz.order");
    const simulate::OrderFile back =
        simulate::parse_order(simulate::write_order(file.order), "back.order");
    NEREUS_CHECK(back == file, "an order changes on its way through text");
    const simulate::PlayedPipeline played =
        simulate::play(file.order, file.size, simulate::equal_times(file.size, {3, 2, 1, 1, 1, 2}));
    NEREUS_CHECK(played.end > 0, "passes that take no time");
  });
}
