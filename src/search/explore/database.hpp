// The results of a study in one SQLite file, which any SQLite reader opens.
//
//   points       one row for each plan kept of a point: place 0 is the best
//   strategies   the plans that points name
//   axes, axis_values, variants, machines   what a point's number stands for (study.hpp)
//   results      a view with all of it in words
//   study        what the file is of, and how far it is
//
// Points come in order, a fixed number in each transaction, by one writer. So a file holds whole
// transactions whenever its writer dies (SQLite rolls the others back), and two files of the same
// study are the same byte for byte, however often the work was broken off, and whoever computed
// it.
//
//   Database db = Database::open("study.sqlite", identity, study);   // new, or goes on
//   db.append(results);                                              // of the next points
//   db.scan([&](std::int64_t point, int place, const PointRow& row) { ... });
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "search/explore/point.hpp"

namespace nereus::explore {

struct PointRow {
  Status status = Status::kNoCluster;
  std::int64_t strategies = 0;
  std::int64_t evaluated = 0;
  double beyond = 0;
  Found found;  // where status is kFound; degrees are looked up by `strategy`
  std::int64_t strategy = -1;
};

class Database {
 public:
  // Opens or makes the file; an empty path keeps all in memory. A file of another study is an
  // error, one that another process writes to an environment error. `identity` is all that decides
  // the results.
  static Database open(const std::string& path, const std::string& identity, const Study& study,
                       bool restart);
  ~Database();
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;

  std::int64_t num_points() const { return next_point_; }  // that are in
  // Of the points that come next. Nothing is kept for good before commit().
  void append(const std::vector<PointResult>& results);
  void commit();

  // Every row in order of points and places.
  void scan(const std::function<void(std::int64_t, int, const PointRow&)>& take) const;
  // The view `results` as lines of comma-separated values, the first with their names.
  void write_csv(const std::function<void(std::string_view)>& write) const;
  PointRow row(std::int64_t point, int place) const;  // that is there
  plan::Degrees strategy(std::int64_t id) const;

 private:
  struct Handle;
  explicit Database(std::unique_ptr<Handle> handle);

  std::unique_ptr<Handle> handle_;
  std::int64_t next_point_ = 0;
};

// A fingerprint of all that decides the results of a study: its file, models, machines, stacks, and
// the program.
std::string identity_of(const Study& study, const std::string& commit);

}  // namespace nereus::explore
