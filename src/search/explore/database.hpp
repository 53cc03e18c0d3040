// The results of a study in one SQLite file, which any SQLite program can read.
//
//   points       one row per kept plan of a point: place 0 is the best
//   strategies   the plans that points refer to
//   axes, axis_values, variants, machines   what a point's number means (study.hpp)
//   results      a view of all these tables, with names instead of numbers
//   study        identity of the study, and its progress
//
// One writer adds points in order, with a fixed number per transaction. If the writer dies, the
// file contains only whole transactions (SQLite rolls the last one back). Two files of the same
// study are equal byte for byte, no matter how often the work was interrupted and which process
// computed which point.
//
//   Database db = Database::open("study.sqlite", identity, study);   // new, or continued
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
  Found found;  // if status is kFound; `strategy` is the index of its degrees
  std::int64_t strategy = -1;
};

class Database {
 public:
  // Opens or creates the file; an empty path keeps everything in memory. A file of another study is
  // an error; one that another process is writing is an environment error. `identity` must contain
  // everything that decides the results.
  static Database open(const std::string& path, const std::string& identity, const Study& study,
                       bool restart);
  ~Database();
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;

  std::int64_t num_points() const { return next_point_; }  // number of points in the file
  // Adds the results of the next points. They are only stored permanently by commit().
  void append(const std::vector<PointResult>& results);
  void commit();

  // Calls `take` for every row, in order of points and places.
  void scan(const std::function<void(std::int64_t, int, const PointRow&)>& take) const;
  // Writes the view `results` as CSV lines; the first line has the names.
  void write_csv(const std::function<void(std::string_view)>& write) const;
  PointRow row(std::int64_t point, int place) const;  // must exist
  plan::Degrees strategy(std::int64_t id) const;

 private:
  struct Handle;
  explicit Database(std::unique_ptr<Handle> handle);

  std::unique_ptr<Handle> handle_;
  std::int64_t next_point_ = 0;
};

// A fingerprint of everything that decides the results of a study: its file, models, machines,
// stacks, and the program's commit.
std::string identity_of(const Study& study, const std::string& commit);

}  // namespace nereus::explore
