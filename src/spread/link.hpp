// The connection between the ranks of a run: byte messages, in order between any two ranks, without
// blocking. mpi_link.hpp has the real one; tests use ranks as threads.
//
//   link.send(3, bytes);                               // sent when possible
//   while (link.receive(from, bytes)) handle(from, bytes);
//
// Only one thread may use it at a time. A rank may die or become silent at any time: send then
// loses the message or keeps it pending, and nothing here waits for it.
#pragma once

#include <cstddef>
#include <string>

namespace nereus::spread {

class Link {
 public:
  virtual ~Link() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual int threads() const = 0;       // this rank's share of its machine's cores
  virtual std::string host() const = 0;  // for messages

  virtual bool send(int to, std::string bytes) = 0;         // false if the rank is known to be gone
  virtual bool receive(int& from, std::string& bytes) = 0;  // false if there is none
  virtual std::size_t num_pending(int to) = 0;              // unsent messages to that rank

  // Ends the program's part in the run. If all ranks are there, they shut down in order. Otherwise
  // the remaining ranks are killed, including this process (with exit_code), so it may not return.
  virtual void close(bool all_there, int exit_code) = 0;
};

}  // namespace nereus::spread
