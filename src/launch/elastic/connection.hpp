// One TCP connection between an agent and its coordinator: frames in both directions, after both
// sides have proved that they know the job's token.
//
//   frame      4 bytes of length, big-endian, then that many bytes of text
//   handshake  coordinator: challenge C        agent: answer A HMAC(token, "agent" C A)
//              coordinator: accepted HMAC(token, "coordinator" A C)
//
// A side that cannot prove this is rejected: the other side sends the reason ("refused WHY"), the
// connection closes, and fault() returns the reason on both sides. During the handshake a frame is
// limited to 1 KiB. No function blocks: the owner polls fd() and calls pump().
//
//   Connection c(fd, token, Connection::Side::kCoordinator);
//   if (!c.pump(frames)) ... c.fault() ...       // closed
//   c.send(text);                                // sends later what the socket does not accept now
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nereus::launch {

class Connection {
 public:
  enum class Side { kCoordinator, kAgent };
  Connection(int fd, std::string token, Side side);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int fd() const { return fd_; }
  bool is_proved() const { return proved_; }
  bool is_refused() const { return refused_; }  // by the other side
  bool wants_to_write() const { return !out_.empty(); }
  // Reads and writes as much as possible. Returns false if the connection is closed.
  bool pump(std::vector<std::string>& frames);
  void send(std::string_view text);
  const std::string& fault() const { return fault_; }
  const std::string& peer() const { return peer_; }  // "10.0.0.7:51234"

 private:
  bool take(const std::string& frame);  // a frame of the handshake
  void put(std::string_view text);
  bool refuse(const std::string& why);
  bool flush();

  int fd_;
  std::string token_;
  Side side_;
  std::string challenge_, answer_;
  bool proved_ = false, refused_ = false;
  std::string peer_;
  std::string in_, out_;
  std::vector<std::string> waiting_;  // until the handshake is done
  std::string fault_;
};

// Text from the other side, made safe for a terminal and for a log of lines.
std::string printable(std::string text);

struct Address {
  std::string host;
  int port = 0;
};
Address parse_address(const std::string& text, const std::string& option);  // throws Errors

// Opens a listening socket. Port 0: any free port; `address.port` is then set to it. Throws Errors
// (environment).
int listen_on(Address& address);
int accept_from(int listener);  // -1: none is waiting
// Returns a socket that is connecting, or -1.
int start_connecting(const Address& address);

}  // namespace nereus::launch
