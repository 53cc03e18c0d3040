// One TCP connection between an agent and its coordinator: frames both ways, after both sides have
// proved that they hold the job's token.
//
//   frame      4 bytes of length, the highest first, then so many bytes of text
//   handshake  coordinator: challenge C        agent: answer A HMAC(token, "agent" C A)
//              coordinator: accepted HMAC(token, "coordinator" A C)
//
// Whoever cannot prove it is refused: it is told why ("refused WHY"), the connection closes and
// fault() says so on both sides. Until then a
// frame has 1 KiB at most. Nothing blocks: the owner polls fd() and calls pump().
//
//   Connection c(fd, token, Connection::Side::kCoordinator);
//   if (!c.pump(frames)) ... c.fault() ...       // closed
//   c.send(text);                                // what the socket does not take now goes later
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
  // Reads and writes what it can. False: it is closed.
  bool pump(std::vector<std::string>& frames);
  void send(std::string_view text);
  const std::string& fault() const { return fault_; }
  const std::string& peer() const { return peer_; }  // "10.0.0.7:51234"

 private:
  bool take(const std::string& frame);  // of the handshake
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
  std::vector<std::string> waiting_;  // for the proof
  std::string fault_;
};

// What the other side says of itself, for a terminal and a log of lines.
std::string printable(std::string text);

struct Address {
  std::string host;
  int port = 0;
};
Address parse_address(const std::string& text, const std::string& option);  // throws Errors

// A listening socket; port 0: any, and `address` learns which. Throws Errors (environment).
int listen_on(Address& address);
int accept_from(int listener);  // -1: nobody
// A socket that is being connected, or -1.
int start_connecting(const Address& address);

}  // namespace nereus::launch
