// How the ranks of a run reach each other: messages of bytes, in order between any two of them,
// never waited for. mpi_link.hpp has the real one; tests have ranks as threads.
//
//   link.send(3, bytes);                               // goes when it can
//   while (link.receive(from, bytes)) handle(from, bytes);
//
// One thread at a time. A rank may die or fall silent at any time: send then loses the message or
// keeps it pending, and nothing here waits for it.
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

  virtual bool send(int to, std::string bytes) = 0;  // false where the rank is known to be gone
  virtual bool receive(int& from, std::string& bytes) = 0;  // false where nothing has come
  virtual std::size_t num_pending(int to) = 0;              // messages to it that have not left

  // The end of the program's part in the run. With all ranks there they part in good order; else
  // what is left of them is ended, and this process with it (exit_code): it may not return.
  virtual void close(bool all_there, int exit_code) = 0;
};

}  // namespace nereus::spread
