#include "chakra/encode.hpp"

#include <gtest/gtest.h>

namespace nereus::chakra::encode_test {
namespace {

TEST(Encode, VarintsAreThoseOfTheDocumentation) {
  std::string bytes;
  append_varint(bytes, 150);
  EXPECT_EQ(bytes, "\x96\x01");  // protobuf.dev, "Encoding"
  Encoder message;
  message.text(2, "testing");
  EXPECT_EQ(message.bytes(), "\x12\x07testing");
  message.clear();
  message.number(3, 0).text(4, "").numbers(6, {3, 270, 86942});
  EXPECT_EQ(message.bytes(), std::string("\x32\x06\x03\x8e\x02\x9e\xa7\x05"));
}

}  // namespace
}  // namespace nereus::chakra::encode_test
