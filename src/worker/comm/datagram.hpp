// UDP between the ranks of a job: small messages without a connection, so that a rank that hangs or
// died blocks no other rank.
//
//   DatagramSocket socket(local_address_towards("10.0.0.1"));
//   socket.send(resolve("10.0.0.2", 40123), &question, sizeof question);
//   if (socket.receive(&answer, sizeof answer, 100ms)) ...
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <string>

namespace nereus::worker {

struct SocketAddress {
  sockaddr_storage storage = {};
  socklen_t size = 0;
};

// Throws an environment error if the name is unknown.
SocketAddress resolve(const std::string& host, int port);

// The address of this host on the route to `host`: the one to tell other ranks.
std::string local_address_towards(const std::string& host);

class DatagramSocket {
 public:
  explicit DatagramSocket(const std::string& own_address);  // on a free port
  ~DatagramSocket();
  DatagramSocket(const DatagramSocket&) = delete;
  DatagramSocket& operator=(const DatagramSocket&) = delete;

  int port() const { return port_; }
  // Reports no errors: the receiver must notice lost datagrams.
  void send(const SocketAddress& to, const void* data, std::size_t size);
  // Returns the size of the datagram; 0: none came, or wake() was called.
  std::size_t receive(void* data, std::size_t size, std::chrono::milliseconds timeout);
  void wake();  // makes receive() in another thread return

 private:
  int socket_ = -1;
  int wake_ = -1;
  int port_ = 0;
};

}  // namespace nereus::worker
