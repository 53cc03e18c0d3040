#include "launch/elastic/notices.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>

#include "base/error.hpp"
#include "spec/value.hpp"

namespace nereus::launch {

namespace {

constexpr std::chrono::milliseconds kPeriod{2000};
constexpr int kPatience = 1000;  // ms

struct Reply {
  int status = 0;
  std::string body;
};

// One request, one connection, HTTP/1.0: these servers are small and near.
Reply ask(const Address& address, const std::string& line, const std::string& header) {
  Reply reply;
  const int fd = start_connecting(address);
  if (fd < 0) return reply;
  pollfd ready{fd, POLLOUT, 0};
  const std::string request =
      fmt::format("{} HTTP/1.0\r\nHost: {}\r\n{}\r\n", line, address.host, header);
  std::string text;
  if (poll(&ready, 1, kPatience) == 1 && send(fd, request.data(), request.size(), MSG_NOSIGNAL) ==
                                             static_cast<ssize_t>(request.size())) {
    ready.events = POLLIN;
    char buffer[4096];
    while (text.size() < (1u << 20) && poll(&ready, 1, kPatience) == 1) {
      const ssize_t count = recv(fd, buffer, sizeof buffer, 0);
      if (count <= 0) break;
      text.append(buffer, static_cast<std::size_t>(count));
    }
  }
  close(fd);
  const std::size_t body = text.find("\r\n\r\n");
  if (!text.starts_with("HTTP/1.") || body == std::string::npos) return reply;
  reply.status = std::atoi(text.substr(9, 3).c_str());
  reply.body = text.substr(body + 4);
  return reply;
}

std::string text_of(const spec::Value& table, std::string_view key) {
  const spec::Value* value = table.find(key);
  const auto* text = value ? std::get_if<std::string>(&value->data) : nullptr;
  return text ? *text : "";
}

}  // namespace

std::optional<CloudNotice> read_notice(Cloud cloud, int status, std::string_view body) {
  if (status != 200) return std::nullopt;
  if (cloud == Cloud::kGcp) {
    if (!body.starts_with("TRUE")) return std::nullopt;
    return CloudNotice{30, "Google Cloud: preempted"};
  }
  spec::Value root;
  try {
    root = spec::parse_json(body, "the cloud's answer");
  } catch (const Errors&) {
    return std::nullopt;
  }
  if (cloud == Cloud::kAws) {
    const std::string action = text_of(root, "action");
    if (action.empty()) return std::nullopt;
    return CloudNotice{120, fmt::format("AWS: {} at {}", action, text_of(root, "time"))};
  }
  const spec::Value* events = root.find("Events");
  const auto* list = events ? std::get_if<spec::Array>(&events->data) : nullptr;
  if (list == nullptr) return std::nullopt;
  for (const spec::Value& event : *list) {
    const std::string type = text_of(event, "EventType");
    if (type == "Preempt" || type == "Terminate")
      return CloudNotice{30,
                         fmt::format("Azure: {} not before {}", type, text_of(event, "NotBefore"))};
  }
  return std::nullopt;
}

NoticeWatch::NoticeWatch(const std::string& source) {
  if (source.empty()) return;
  const std::string cloud = source.substr(0, source.find('='));
  if (cloud == "azure")
    cloud_ = Cloud::kAzure;
  else if (cloud == "aws")
    cloud_ = Cloud::kAws;
  else if (cloud == "gcp")
    cloud_ = Cloud::kGcp;
  else
    throw_input_error("elastic.cloud", fmt::format("--notice-from {}: no such cloud", source), {},
                      "azure, aws or gcp");
  address_ = {"169.254.169.254", 80};
  if (source.size() > cloud.size())
    address_ = parse_address(source.substr(cloud.size() + 1), "--notice-from");
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { watch(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

NoticeWatch::~NoticeWatch() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  stop_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::optional<CloudNotice> NoticeWatch::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(notice_, std::nullopt);
}

void NoticeWatch::watch() {
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    lock.unlock();
    Reply reply;
    if (cloud_ == Cloud::kAzure) {
      reply = ask(address_, "GET /metadata/scheduledevents?api-version=2020-07-01",
                  "Metadata: true\r\n");
    } else if (cloud_ == Cloud::kGcp) {
      reply = ask(address_, "GET /computeMetadata/v1/instance/preempted",
                  "Metadata-Flavor: Google\r\n");
    } else {
      const Reply token = ask(address_, "PUT /latest/api/token",
                              "X-aws-ec2-metadata-token-ttl-seconds: 60\r\nContent-Length: 0\r\n");
      const std::string header =
          token.status == 200 ? fmt::format("X-aws-ec2-metadata-token: {}\r\n", token.body) : "";
      reply = ask(address_, "GET /latest/meta-data/spot/instance-action", header);
    }
    const std::optional<CloudNotice> notice = read_notice(cloud_, reply.status, reply.body);
    lock.lock();
    if (notice) {
      notice_ = notice;
      return;  // it stays so
    }
    stop_.wait_for(lock, kPeriod, [this] { return stopped_; });
  }
}

}  // namespace nereus::launch
