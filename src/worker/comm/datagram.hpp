// UDP for the ranks of a job: small messages that need no connection, so a rank that hangs or died
// holds up nobody.
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

// The address of this host by which it reaches `host`: the one to tell the others.
std::string local_address_towards(const std::string& host);

class DatagramSocket {
 public:
  explicit DatagramSocket(const std::string& own_address);  // on a port that is free
  ~DatagramSocket();
  DatagramSocket(const DatagramSocket&) = delete;
  DatagramSocket& operator=(const DatagramSocket&) = delete;

  int port() const { return port_; }
  // Lost datagrams are the receiver's to notice, so nothing is reported.
  void send(const SocketAddress& to, const void* data, std::size_t size);
  // The size of what came; 0: nothing, or woken.
  std::size_t receive(void* data, std::size_t size, std::chrono::milliseconds timeout);
  void wake();  // receive() of another thread returns

 private:
  int socket_ = -1;
  int wake_ = -1;
  int port_ = 0;
};

}  // namespace nereus::worker
