#include "search/explore/sqlite.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/error.hpp"

namespace nereus::explore {

WriterLock::WriterLock(const std::string& path) {
  if (path.empty()) return;
  // SQLite reports the error if the file cannot be opened.
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0 || ::flock(file_, LOCK_EX | LOCK_NB) == 0) return;
  ::close(file_);
  throw_environment_error("explore.database-busy",
                          fmt::format("another run is writing to {}", path),
                          "wait for it, or --db OTHER");
}

// After SQLite has closed the file: closing any handle of it drops the locks of all.
WriterLock::~WriterLock() {
  if (file_ >= 0) ::close(file_);
}

Sqlite::Sqlite(const std::string& path) : path_(path) {
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  if (sqlite3_open_v2(path.empty() ? ":memory:" : path.c_str(), &db_, flags, nullptr) !=
      SQLITE_OK) {
    const std::string why = sqlite3_errmsg(db_);
    sqlite3_close(db_);
    throw_environment_error("explore.database", fmt::format("cannot open {}: {}", path, why),
                            "--db FILE in a folder that can be written to");
  }
}

Sqlite::~Sqlite() { sqlite3_close(db_); }

void Sqlite::fail(std::string_view what) const {
  const int code = sqlite3_errcode(db_);
  if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
    throw_environment_error("explore.database-busy",
                            fmt::format("{} is constantly being read", path_),
                            "close what reads it, or --db OTHER");
  if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT)
    throw_input_error("explore.no-database", fmt::format("{} is not a database of a study", path_),
                      {path_}, "--db OTHER");
  throw_environment_error("explore.database",
                          fmt::format("{}: {}: {}", path_, what, sqlite3_errmsg(db_)),
                          "is the disk full?");
}

void Sqlite::wait_for_readers(int seconds) { sqlite3_busy_timeout(db_, 1000 * seconds); }

void Sqlite::run(const char* sql) {
  if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail(sql);
}

Statement::Statement(const Sqlite& db, const char* sql) : db_(db) {
  if (sqlite3_prepare_v2(db.get(), sql, -1, &statement_, nullptr) != SQLITE_OK) db.fail(sql);
}

Statement::~Statement() { sqlite3_finalize(statement_); }

void Statement::bind(int index, std::int64_t value) {
  sqlite3_bind_int64(statement_, index, value);
}
void Statement::bind(int index, double value) { sqlite3_bind_double(statement_, index, value); }
void Statement::bind(int index, std::string_view text) {
  sqlite3_bind_text(statement_, index, text.data(), static_cast<int>(text.size()),
                    SQLITE_TRANSIENT);
}
void Statement::bind_blob(int index, std::string_view bytes) {
  sqlite3_bind_blob(statement_, index, bytes.data(), static_cast<int>(bytes.size()),
                    SQLITE_TRANSIENT);
}
void Statement::bind_null(int index) { sqlite3_bind_null(statement_, index); }

bool Statement::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) db_.fail("step");
  sqlite3_reset(statement_);
  return false;
}

void Statement::run() {
  while (step()) {
  }
}

std::int64_t Statement::whole(int column) const { return sqlite3_column_int64(statement_, column); }
double Statement::number(int column) const { return sqlite3_column_double(statement_, column); }
std::string Statement::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return text == nullptr
             ? std::string()
             : std::string(text,
                           static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
}
std::string Statement::blob(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  return bytes == nullptr
             ? std::string()
             : std::string(bytes,
                           static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
}
bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

bool Statement::is_number(int column) const {
  const int type = sqlite3_column_type(statement_, column);
  return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}
int Statement::num_columns() const { return sqlite3_column_count(statement_); }
std::string Statement::name(int column) const { return sqlite3_column_name(statement_, column); }

}  // namespace nereus::explore
