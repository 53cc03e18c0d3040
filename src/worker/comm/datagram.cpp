#include "worker/comm/datagram.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"

namespace nereus::worker {
namespace {

[[noreturn]] void throw_socket_error(const std::string& what) {
  throw_environment_error("comm.socket", fmt::format("{}: {}", what, std::strerror(errno)));
}

int open_socket(const SocketAddress& address) {
  const int descriptor =
      ::socket(address.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) throw_socket_error("no socket");
  return descriptor;
}

SocketAddress own_name(int descriptor) {
  SocketAddress own;
  own.size = sizeof own.storage;
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&own.storage), &own.size) != 0)
    throw_socket_error("no address of a socket");
  return own;
}

}  // namespace

SocketAddress resolve(const std::string& host, int port) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failure != 0)
    throw_environment_error("comm.address",
                            fmt::format("no address of \"{}\": {}", host, ::gai_strerror(failure)));
  SocketAddress address;
  std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
  address.size = found->ai_addrlen;
  ::freeaddrinfo(found);
  return address;
}

std::string local_address_towards(const std::string& host) {
  const SocketAddress remote = resolve(host, 9);
  const int descriptor = open_socket(remote);
  // Connecting a datagram socket sends nothing; it asks the routing table.
  const int failure =
      ::connect(descriptor, reinterpret_cast<const sockaddr*>(&remote.storage), remote.size);
  SocketAddress own;
  if (failure == 0) own = own_name(descriptor);
  ::close(descriptor);
  if (failure != 0) throw_socket_error(fmt::format("no way to \"{}\"", host));
  char text[NI_MAXHOST];
  ::getnameinfo(reinterpret_cast<const sockaddr*>(&own.storage), own.size, text, sizeof text,
                nullptr, 0, NI_NUMERICHOST);
  return text;
}

DatagramSocket::DatagramSocket(const std::string& own_address) {
  const SocketAddress address = resolve(own_address, 0);
  socket_ = open_socket(address);
  if (::bind(socket_, reinterpret_cast<const sockaddr*>(&address.storage), address.size) != 0) {
    ::close(socket_);
    throw_socket_error(fmt::format("no port on \"{}\"", own_address));
  }
  const SocketAddress own = own_name(socket_);
  // The port lies at the same place for IPv4 and IPv6.
  sockaddr_in named = {};
  std::memcpy(&named, &own.storage, sizeof named);
  port_ = ntohs(named.sin_port);
  wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

DatagramSocket::~DatagramSocket() {
  ::close(socket_);
  ::close(wake_);
}

void DatagramSocket::send(const SocketAddress& to, const void* data, std::size_t size) {
  (void)::sendto(socket_, data, size, MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&to.storage),
                 to.size);
}

std::size_t DatagramSocket::receive(void* data, std::size_t size,
                                    std::chrono::milliseconds timeout) {
  pollfd watched[2] = {{socket_, POLLIN, 0}, {wake_, POLLIN, 0}};
  if (::poll(watched, 2, static_cast<int>(timeout.count())) <= 0) return 0;
  if (watched[1].revents != 0) {
    eventfd_t count = 0;
    (void)::eventfd_read(wake_, &count);
  }
  const ssize_t received = ::recv(socket_, data, size, MSG_DONTWAIT);
  return received > 0 ? static_cast<std::size_t>(received) : 0;
}

void DatagramSocket::wake() { (void)::eventfd_write(wake_, 1); }

}  // namespace nereus::worker
