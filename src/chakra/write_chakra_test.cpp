#include "chakra/write_chakra.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <numeric>

#include "base/temporary_folder.hpp"
#include "chakra/encode.hpp"
#include "chakra/test_steps.hpp"

namespace nereus::chakra::write_chakra_test {
namespace {

using namespace testing;

// protoc, which knows nothing of either side, reads the same messages.
TEST(Chakra, ProtocReadsTheSame) {
  const model::Model model = small_model();
  plan::Degrees d;
  d.tp = 2;
  d.pp = 2;
  d.dp = 2;
  d.global_batch = 8;
  d.zero = 1;
  d.sequence_parallel = true;
  const ChakraStep step = make_step(model, cluster::load_cluster("1xdgx-h100"),
                                    cost::Basis(cost::builtin_stacks().resolve("megatron")), d);
  const std::string bytes = step.trace(3);
  const DecodedTrace trace = decode(bytes);
  // A stream of messages is one message with field 1 repeated, once each has that field's tag.
  std::string wrapped;
  for (WireReader stream(bytes); !stream.done();) {
    Encoder one;
    wrapped += one.set_text(1, stream.delimited()).bytes();
  }
  const TemporaryFolder folder;
  const std::string file = folder.write("trace", wrapped);
  FILE* pipe = popen(("protoc --decode_raw < " + file + " 2>&1").c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::vector<std::string> ids;
  std::vector<std::string> durations;
  std::size_t messages = 0;
  std::array<char, 4096> line{};
  while (std::fgets(line.data(), static_cast<int>(line.size()), pipe) != nullptr) {
    const std::string text(line.data());
    if (text.rfind("1 {", 0) == 0) ++messages;
    if (text.rfind("  1: ", 0) == 0 && text.find('"') == std::string::npos)
      ids.push_back(text.substr(5, text.size() - 6));
    if (text.rfind("  7: ", 0) == 0) durations.push_back(text.substr(5, text.size() - 6));
  }
  EXPECT_EQ(pclose(pipe), 0);
  EXPECT_EQ(messages, trace.nodes.size() + 1);
  ASSERT_EQ(ids.size(), trace.nodes.size());
  std::vector<std::string> expected;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(ids[i], std::to_string(trace.nodes[i].id));
    if (trace.nodes[i].microseconds > 0)
      expected.push_back(std::to_string(trace.nodes[i].microseconds));
  }
  EXPECT_EQ(durations, expected);
}

TEST(Chakra, TheSizeIsKnownBeforehand) {
  plan::Degrees d;
  d.tp = d.pp = 2;
  d.dp = 4;
  d.global_batch = 16;
  const ChakraStep step = make_step(small_model(), cluster::load_cluster("2xdgx-h100"),
                                    cost::Basis(cost::builtin_stacks().resolve("megatron")), d);
  std::vector<int> ranks(16);
  std::iota(ranks.begin(), ranks.end(), 0);
  double bytes = 0;
  std::int64_t nodes = 0;
  for (const int rank : ranks) {
    bytes += static_cast<double>(step.trace(rank).size());
    nodes += static_cast<std::int64_t>(decode(step.trace(rank)).nodes.size());
  }
  EXPECT_NEAR(static_cast<double>(step.num_bytes(ranks)) / bytes, 1, 0.01);
  EXPECT_EQ(step.num_nodes(ranks), nodes);
}

}  // namespace
}  // namespace nereus::chakra::write_chakra_test
