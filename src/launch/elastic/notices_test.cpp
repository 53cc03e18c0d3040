// The three clouds' answers, as their documentation shows them, and a stand-in for their servers.
#include "launch/elastic/notices.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.hpp"

namespace nereus::launch::notices_test {
namespace {

const std::string kAzure =
    R"({"DocumentIncarnation": 2, "Events": [{"EventId": "A123", "EventStatus": "Scheduled",
        "EventType": "Preempt", "ResourceType": "VirtualMachine", "Resources": ["vm-3"],
        "NotBefore": "Mon, 11 Apr 2022 22:26:58 GMT", "Description": "", "EventSource": "Platform",
        "DurationInSeconds": -1}]})";
const std::string kAws = R"({"action": "terminate", "time": "2017-09-18T08:22:00Z"})";

TEST(Notices, AreReadAsEachCloudWritesThem) {
  EXPECT_EQ(read_notice(Cloud::kAzure, 200, kAzure)->seconds, 30);
  EXPECT_FALSE(read_notice(Cloud::kAzure, 200, R"({"DocumentIncarnation": 1, "Events": []})"));
  EXPECT_FALSE(
      read_notice(Cloud::kAzure, 200, R"({"Events": [{"EventType": "Freeze", "NotBefore": ""}]})"));
  EXPECT_EQ(read_notice(Cloud::kAws, 200, kAws)->text, "AWS: terminate at 2017-09-18T08:22:00Z");
  EXPECT_FALSE(read_notice(Cloud::kAws, 404, "<html>not found</html>"));
  EXPECT_TRUE(read_notice(Cloud::kGcp, 200, "TRUE"));
  EXPECT_FALSE(read_notice(Cloud::kGcp, 200, "FALSE"));
  EXPECT_FALSE(read_notice(Cloud::kAzure, 200, "{broken"));
  EXPECT_FALSE(read_notice(Cloud::kAzure, 500, kAzure));
}

// Answers requests until it is stopped, and remembers them.
class StandIn {
 public:
  explicit StandIn(std::function<std::string(const std::string&)> answer)
      : address_{"127.0.0.1", 0}, listener_(listen_on(address_)), answer_(std::move(answer)) {
    thread_ = std::thread([this] { serve(); });
  }
  ~StandIn() {
    stopped_ = true;
    thread_.join();
    close(listener_);
  }
  std::string place() const { return "127.0.0.1:" + std::to_string(address_.port); }

 private:
  void serve() {
    while (!stopped_) {
      pollfd ready{listener_, POLLIN, 0};
      if (poll(&ready, 1, 20) < 1) continue;
      const int fd = accept_from(listener_);
      if (fd < 0) continue;
      char buffer[4096];
      const ssize_t count = recv(fd, buffer, sizeof buffer, 0);
      const std::string reply =
          answer_({buffer, static_cast<std::size_t>(std::max<ssize_t>(0, count))});
      send(fd, reply.data(), reply.size(), MSG_NOSIGNAL);
      close(fd);
    }
  }

  Address address_;
  int listener_;
  std::function<std::string(const std::string&)> answer_;
  std::atomic<bool> stopped_ = false;
  std::thread thread_;
};

std::string ok(const std::string& body) {
  return "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n" + body;
}

std::optional<CloudNotice> wait_for(NoticeWatch& watch) {
  for (int i = 0; i < 300; ++i) {
    if (auto notice = watch.take()) return notice;
    usleep(20'000);
  }
  return std::nullopt;
}

TEST(Notices, AreAskedForWithTheHeadersThatCloudsWant) {
  const std::string refused = "HTTP/1.0 400 Bad Request\r\n\r\n";
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  StandIn azure([&](const std::string& request) {
    return has(request, "GET /metadata/scheduledevents?api-version=2020-07-01 ") &&
                   has(request, "Metadata: true\r\n")
               ? ok(kAzure)
               : refused;
  });
  StandIn aws([&](const std::string& request) {
    if (has(request, "PUT /latest/api/token ")) return ok("TOKEN");
    return has(request, "GET /latest/meta-data/spot/instance-action ") &&
                   has(request, "X-aws-ec2-metadata-token: TOKEN\r\n")
               ? ok(kAws)
               : refused;
  });
  std::atomic<int> asked = 0;
  StandIn gcp([&](const std::string& request) {
    const bool right = has(request, "GET /computeMetadata/v1/instance/preempted ") &&
                       has(request, "Metadata-Flavor: Google\r\n");
    return right ? ok(asked++ == 0 ? "FALSE" : "TRUE") : refused;
  });
  NoticeWatch from_azure("azure=" + azure.place()), from_aws("aws=" + aws.place()),
      from_gcp("gcp=" + gcp.place());
  EXPECT_TRUE(wait_for(from_azure));
  EXPECT_EQ(wait_for(from_aws)->seconds, 120);
  EXPECT_TRUE(wait_for(from_gcp));
  EXPECT_EQ(asked, 2);            // not at the first
  EXPECT_FALSE(from_gcp.take());  // told once
  EXPECT_THROW(NoticeWatch("oracle"), Errors);
}

}  // namespace
}  // namespace nereus::launch::notices_test
