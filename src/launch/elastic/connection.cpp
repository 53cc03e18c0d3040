#include "launch/elastic/connection.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <sstream>

#include "base/error.hpp"
#include "launch/elastic/hmac.hpp"

namespace nereus::launch {

namespace {

constexpr std::size_t kMostUnproved = 1024, kMost = 256u << 20;
constexpr int kNonceBytes = 16;

std::string name_of_peer(int fd) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  char text[INET_ADDRSTRLEN] = {};
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      inet_ntop(AF_INET, &address.sin_addr, text, sizeof text) == nullptr)
    return "an unknown address";
  return fmt::format("{}:{}", text, ntohs(address.sin_port));
}

void set_up_socket(int fd) {
  const int yes = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  fcntl(fd, F_SETFL, O_NONBLOCK);
  fcntl(fd, F_SETFD, FD_CLOEXEC);
}

bool resolve(const Address& address, sockaddr_in& out, std::string* why = nullptr) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  const int error = getaddrinfo(address.host.c_str(), nullptr, &hints, &found);
  if (error != 0 || found == nullptr) {
    if (why != nullptr) *why = fmt::format("the host is not known here ({})", gai_strerror(error));
    return false;
  }
  std::memcpy(&out, found->ai_addr, sizeof out);
  out.sin_port = htons(static_cast<std::uint16_t>(address.port));
  freeaddrinfo(found);
  return true;
}

}  // namespace

Connection::Connection(int fd, std::string token, Side side)
    : fd_(fd), token_(std::move(token)), side_(side), peer_(name_of_peer(fd)) {
  set_up_socket(fd);
  if (side_ != Side::kCoordinator) return;
  challenge_ = random_hex(kNonceBytes);
  put("challenge " + challenge_);
}

Connection::~Connection() {
  if (fd_ >= 0) close(fd_);
}

void Connection::put(std::string_view text) {
  const auto size = static_cast<std::uint32_t>(text.size());
  for (int shift = 24; shift >= 0; shift -= 8) out_ += static_cast<char>(size >> shift & 0xff);
  out_ += text;
}

void Connection::send(std::string_view text) {
  if (proved_)
    put(text);
  else
    waiting_.emplace_back(text);
}

bool Connection::refuse(const std::string& why) {
  fault_ = why;
  return false;
}

bool Connection::take(const std::string& frame) {
  std::istringstream words(frame);
  std::string kind, first, second;
  words >> kind >> first >> second;
  if (side_ == Side::kAgent && kind == "challenge" && answer_.empty()) {
    challenge_ = first;
    answer_ = random_hex(kNonceBytes);
    put(fmt::format("answer {} {}", answer_, hmac_sha256(token_, "agent" + challenge_ + answer_)));
    return true;
  }
  if (side_ == Side::kAgent && kind == "refused") {
    refused_ = true;
    return refuse(printable(frame.substr(std::min(frame.size(), kind.size() + 1))));
  }
  if (side_ == Side::kCoordinator && kind == "answer") {
    answer_ = first;
    if (!same_text(second, hmac_sha256(token_, "agent" + challenge_ + answer_))) {
      put("refused the token is not the job's");
      flush();
      return refuse("it does not hold the job's token");
    }
    put("accepted " + hmac_sha256(token_, "coordinator" + answer_ + challenge_));
    proved_ = true;
  } else if (side_ == Side::kAgent && kind == "accepted" && !answer_.empty()) {
    if (!same_text(first, hmac_sha256(token_, "coordinator" + answer_ + challenge_)))
      return refuse("the coordinator does not hold the job's token");
    proved_ = true;
  } else {
    return refuse("it does not speak as an agent or a coordinator does");
  }
  for (const std::string& text : waiting_) put(text);
  waiting_.clear();
  return true;
}

bool Connection::flush() {
  while (!out_.empty()) {
    const ssize_t count = ::send(fd_, out_.data(), out_.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == ENOTCONN || errno == EINPROGRESS)) break;
    if (count < 0) return refuse(std::strerror(errno));
    out_.erase(0, static_cast<std::size_t>(count));
  }
  return true;
}

bool Connection::pump(std::vector<std::string>& frames) {
  char buffer[65536];
  bool open = true;
  while (open) {
    const ssize_t count = recv(fd_, buffer, sizeof buffer, 0);
    if (count > 0) {
      in_.append(buffer, static_cast<std::size_t>(count));
      if (!proved_ && in_.size() > kMostUnproved + 4) break;
      continue;
    }
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == ENOTCONN || errno == EINPROGRESS)) break;
    open = refuse(count == 0 ? "it closed the connection" : std::strerror(errno));
  }
  std::size_t at = 0;
  while (in_.size() - at >= 4) {
    std::uint32_t size = 0;
    for (std::size_t i = 0; i < 4; ++i) size = size << 8 | static_cast<unsigned char>(in_[at + i]);
    if (size > (proved_ ? kMost : kMostUnproved))
      return refuse(fmt::format("a message of {} bytes", size));
    if (in_.size() - at - 4 < size) break;
    std::string frame = in_.substr(at + 4, size);
    at += 4 + size;
    if (proved_)
      frames.push_back(std::move(frame));
    else if (!take(frame))
      return false;
  }
  in_.erase(0, at);
  return open && flush();
}

Address parse_address(const std::string& text, const std::string& option) {
  const std::size_t colon = text.rfind(':');
  Address address{text.substr(0, colon), 0};
  try {
    std::size_t end = 0;
    const std::string port = colon == std::string::npos ? "" : text.substr(colon + 1);
    address.port = std::stoi(port, &end);
    if (end != port.size()) address.port = -1;
  } catch (const std::exception&) {
    address.port = -1;
  }
  if (address.host.empty() || address.port < 0 || address.port > 65535)
    throw_input_error("elastic.address", fmt::format("{} \"{}\" is no HOST:PORT", option, text), {},
                      option + " 10.0.0.1:29400");
  return address;
}

int listen_on(Address& address) {
  const auto refuse = [&](const std::string& reason) {
    throw_environment_error(
        "elastic.listen",
        fmt::format("{}:{} cannot be listened on: {}", address.host, address.port, reason),
        "--listen with an address of this machine and a free port");
  };
  sockaddr_in place{};
  if (std::string why; !resolve(address, place, &why)) refuse(why);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int yes = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  socklen_t size = sizeof place;
  if (bind(fd, reinterpret_cast<sockaddr*>(&place), size) != 0 || listen(fd, 256) != 0 ||
      getsockname(fd, reinterpret_cast<sockaddr*>(&place), &size) != 0) {
    const std::string reason = std::strerror(errno);
    close(fd);
    refuse(reason);
  }
  address.port = ntohs(place.sin_port);
  return fd;
}

std::string printable(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  constexpr std::size_t kLongest = 200;
  return text.size() > kLongest ? text.substr(0, kLongest) : text;
}

int accept_from(int listener) { return accept4(listener, nullptr, nullptr, SOCK_CLOEXEC); }

int start_connecting(const Address& address) {
  sockaddr_in place{};
  if (!resolve(address, place)) return -1;
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&place), sizeof place) != 0 &&
      errno != EINPROGRESS) {
    close(fd);
    return -1;
  }
  return fd;
}

}  // namespace nereus::launch
