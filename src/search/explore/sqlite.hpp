// The few functions of SQLite that are used here; they report errors as Errors. Only for use inside
// search/explore.
//
//   Sqlite db("study.sqlite");
//   Statement insert(db, "INSERT INTO t VALUES (?, ?)");
//   insert.bind(1, 42), insert.bind(2, "text"), insert.run();
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace nereus::explore {

// Ensures one writer per file, also between SQLite's transactions. The lock is held during the
// object's lifetime. It is an environment error if another process holds it.
class WriterLock {
 public:
  explicit WriterLock(const std::string& path);
  ~WriterLock();
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  int file_ = -1;
};

class Sqlite {
 public:
  explicit Sqlite(const std::string& path);  // empty: in memory
  ~Sqlite();
  Sqlite(const Sqlite&) = delete;
  Sqlite& operator=(const Sqlite&) = delete;

  void run(const char* sql);
  void wait_for_readers(int seconds);
  [[noreturn]] void fail(std::string_view what) const;
  sqlite3* get() const { return db_; }
  const std::string& path() const { return path_; }

 private:
  sqlite3* db_ = nullptr;
  std::string path_;
};

class Statement {
 public:
  Statement(const Sqlite& db, const char* sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void bind(int index, std::int64_t value);
  void bind(int index, double value);
  void bind(int index, std::string_view text);
  void bind_blob(int index, std::string_view bytes);
  void bind_null(int index);

  bool step();  // true if there is a row
  void run();   // runs to the end, then resets

  std::int64_t whole(int column) const;
  double number(int column) const;
  std::string text(int column) const;
  std::string blob(int column) const;
  bool is_null(int column) const;
  bool is_number(int column) const;
  int num_columns() const;
  std::string name(int column) const;

 private:
  const Sqlite& db_;
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace nereus::explore
