#include "job/elastic.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace nereus::job::elastic_test {
namespace {

TEST(ElasticMessage, ReadsBackAsItWasWritten) {
  ElasticMessage hello;
  hello.kind = ElasticKind::kHello;
  hello.name = "spot-3";
  hello.held = 4;
  hello.done = 17;
  hello.gradient_norm = 0.1 + 0.2;
  hello.arrived = true;
  ElasticMessage generation;
  generation.kind = ElasticKind::kGeneration;
  generation.generation = 5;
  generation.rank = 2;
  generation.num_ranks = 4;
  generation.num_present = 5;
  generation.job = "{\"a\": \"line\\nbreak\"}";
  generation.next_held = 4;
  generation.done = 18;
  ElasticMessage note;
  note.kind = ElasticKind::kNote;
  note.key = "rank/1";
  note.note = to_hex_text(std::string("\x00\xff\x10", 3));
  ElasticMessage known;
  known.kind = ElasticKind::kKnown;
  known.generation = 5;
  known.done = 40;
  for (const ElasticMessage& message : {hello, generation, note, known}) {
    const std::string line = to_line(message);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_EQ(parse_elastic(line), message);
  }
  EXPECT_EQ(from_hex_text(note.note), std::string("\x00\xff\x10", 3));
}

TEST(ElasticMessage, RefusesWhatItIsNot) {
  for (const char* wrong : {"", "{}", "{\"kind\": \"dance\"}", "{\"kind\": \"end\", \"rank\": 1}",
                            "{\"kind\": \"generation\", \"num_ranks\": 0}"})
    EXPECT_THROW(parse_elastic(wrong), Errors) << wrong;
  EXPECT_THROW(from_hex_text("0g"), Errors);
  EXPECT_THROW(from_hex_text("012"), Errors);
}

}  // namespace
}  // namespace nereus::job::elastic_test
