// The bytes of a message: numbers of 8 bytes, and strings with their length, in this machine's byte
// order (x86-64 and arm64 are both little-endian; rank 0 rejects other builds before anything else
// is read, see leader.hpp).
//
//   std::string bytes = Writer(Kind::kPieces).number(run).number(piece).take();
//   Reader reader(bytes);  reader.kind();  reader.number();
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

namespace nereus::spread {

enum class Kind : std::int64_t {
  kAlive,    // a heartbeat
  kHello,    // to rank 0: build, host, threads
  kReady,    // to rank 0: run, first, count, name, credit
  kResults,  // to rank 0: run, credit, n, n x (piece, failed, bytes)
  kBye,      // to rank 0: needs nothing more
  kPieces,   // from rank 0: run, n, n x piece
  kEnd,      // from rank 0: run, ending, accepted
  kShare,    // from rank 0: bytes
  kFinish,   // from rank 0: there will be no more runs
  kClose,    // from rank 0: whether all ranks are there
};

class Writer {
 public:
  explicit Writer(Kind kind) { number(static_cast<std::int64_t>(kind)); }
  Writer& number(std::int64_t value);
  Writer& text(std::string_view value);
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes);
  Kind kind() const { return kind_; }
  std::int64_t number();  // throws std::runtime_error past the end, like the next functions
  std::string_view text();

 private:
  std::string_view rest_;
  Kind kind_;
};

// An exception that is sent between ranks: `Errors` are unchanged, others keep their text and get
// the place.
std::string failure_to_bytes(const std::exception_ptr& failure, const std::string& place);
std::exception_ptr failure_from_bytes(std::string_view bytes);

}  // namespace nereus::spread
