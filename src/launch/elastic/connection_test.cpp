// Who holds the token is heard, who does not is refused; and what proves it.
#include "launch/elastic/connection.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.hpp"
#include "job/elastic.hpp"
#include "launch/elastic/hmac.hpp"

namespace nereus::launch::connection_test {
namespace {

using Side = Connection::Side;

TEST(Hmac, IsThatOfTheStandards) {
  // FIPS 180-4's example, and RFC 4231's test cases 1, 2 and 6.
  EXPECT_EQ(job::to_hex_text(sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(job::to_hex_text(sha256(std::string(1000000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(hmac_sha256(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hmac_sha256("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hmac_sha256(std::string(131, '\xaa'),
                        "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  EXPECT_TRUE(same_text("abc", "abc"));
  EXPECT_FALSE(same_text("abc", "abd"));
  EXPECT_FALSE(same_text("abc", "ab"));
}

struct Pair {
  std::unique_ptr<Connection> coordinator, agent;
  std::vector<std::string> to_coordinator, to_agent;
  bool coordinator_open = true, agent_open = true;

  Pair(const std::string& token, const std::string& other) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    coordinator = std::make_unique<Connection>(ends[0], token, Side::kCoordinator);
    agent = std::make_unique<Connection>(ends[1], other, Side::kAgent);
  }
  void talk() {
    for (int i = 0; i < 5; ++i) {
      coordinator_open = coordinator_open && coordinator->pump(to_coordinator);
      agent_open = agent_open && agent->pump(to_agent);
    }
  }
};

TEST(Connection, CarriesFramesOnceBothHaveProvedThemselves) {
  Pair pair("secret", "secret");
  pair.agent->send("hello");
  pair.coordinator->send(std::string(300'000, 'x'));
  pair.talk();
  EXPECT_EQ(pair.to_coordinator, (std::vector<std::string>{"hello"}));
  for (int i = 0; i < 100 && pair.to_agent.empty(); ++i) pair.talk();
  ASSERT_EQ(pair.to_agent.size(), 1u);
  EXPECT_EQ(pair.to_agent[0].size(), 300'000u);
  EXPECT_TRUE(pair.coordinator->is_proved() && pair.agent->is_proved());
}

TEST(Connection, RefusesWhoeverHoldsAnotherToken) {
  Pair pair("secret", "guess");
  pair.agent->send("hello");
  pair.talk();
  EXPECT_FALSE(pair.coordinator_open);
  EXPECT_TRUE(pair.to_coordinator.empty());
  EXPECT_FALSE(pair.coordinator->is_proved());
  EXPECT_NE(pair.coordinator->fault().find("token"), std::string::npos);
}

TEST(Connection, RefusesACoordinatorThatCannotProveItself) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  Connection agent(ends[1], "secret", Side::kAgent);
  const auto say = [&](const std::string& text) {
    std::string frame(4, '\0');
    frame[3] = static_cast<char>(text.size());
    frame += text;
    ASSERT_EQ(write(ends[0], frame.data(), frame.size()), static_cast<ssize_t>(frame.size()));
  };
  std::vector<std::string> frames;
  say("challenge 00");
  EXPECT_TRUE(agent.pump(frames));
  say("accepted " + std::string(64, '0'));
  EXPECT_FALSE(agent.pump(frames));
  EXPECT_FALSE(agent.is_proved());
  close(ends[0]);
}

TEST(Connection, RefusesNoise) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  Connection coordinator(ends[0], "secret", Side::kCoordinator);
  const std::string noise = "GET / HTTP/1.1\r\n\r\n";
  ASSERT_GT(write(ends[1], noise.data(), noise.size()), 0);
  std::vector<std::string> frames;
  EXPECT_FALSE(coordinator.pump(frames));
  EXPECT_NE(coordinator.fault().find("bytes"), std::string::npos);
  close(ends[1]);
}

TEST(Address, HasAHostAndAPort) {
  EXPECT_EQ(parse_address("10.0.0.1:29400", "--join").port, 29400);
  for (const char* wrong : {"10.0.0.1", ":80", "a:b", "a:80x", "a:70000", ""})
    EXPECT_THROW(parse_address(wrong, "--join"), Errors) << wrong;
}

}  // namespace
}  // namespace nereus::launch::connection_test
