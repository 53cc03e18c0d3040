#include "search/explore/database.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>

#include "base/error.hpp"
#include "search/explore/row.hpp"
#include "search/explore/sqlite.hpp"

namespace nereus::explore {

namespace {

constexpr std::int64_t kApplicationId = 0x4E455245;  // "NERE"

constexpr const char* kSchema = R"sql(
CREATE TABLE study (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE variants (variant INTEGER PRIMARY KEY, name TEXT, parameters REAL, global_batch INTEGER, steps REAL);
CREATE TABLE machines (machine INTEGER PRIMARY KEY, name TEXT, stack TEXT);
CREATE TABLE axes (axis INTEGER PRIMARY KEY, name TEXT, stride INTEGER, size INTEGER);
CREATE TABLE axis_values (axis INTEGER, machine INTEGER, position INTEGER, value REAL, text TEXT,
  PRIMARY KEY (axis, machine, position)) WITHOUT ROWID;
CREATE TABLE statuses (status INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE resources (resource INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE strategies (strategy INTEGER PRIMARY KEY, tp INTEGER, pp INTEGER, dp INTEGER, cp INTEGER, ep INTEGER,
  interleave INTEGER, micro_batch INTEGER, zero INTEGER, recompute TEXT, schedule TEXT, plan BLOB);
CREATE TABLE points (point INTEGER, place INTEGER, status INTEGER, strategies INTEGER, evaluated INTEGER,
  beyond_s REAL, strategy INTEGER, step_s REAL, busy_s REAL, memory_bytes REAL, mfu REAL, flop_per_byte REAL,
  memory_bound REAL, binding INTEGER, time_s REAL, money_usd REAL, energy_j REAL, devices INTEGER,
  PRIMARY KEY (point, place)) WITHOUT ROWID;
)sql";

}  // namespace

struct Database::Handle {
  // The journal makes a killed writer harmless; the lock excludes a second writer. Readers are
  // allowed, and may delay a commit for a while.
  Handle(const std::string& path) : lock(path), db(path) {
    db.run("PRAGMA journal_mode = DELETE");
    db.run("PRAGMA cache_size = -32768");
    db.wait_for_readers(60);
    db.run("BEGIN IMMEDIATE");
  }

  // The file says itself whose it is (SQLite's application_id).
  bool has_schema() {
    Statement id(db, "PRAGMA application_id");
    return id.step() && id.whole(0) == kApplicationId;
  }
  bool is_empty() {
    Statement count(db, "SELECT count(*) FROM sqlite_master");
    return count.step() && count.whole(0) == 0;
  }

  std::string value_of(const char* key) {
    Statement select(db, "SELECT value FROM study WHERE key = ?");
    select.bind(1, std::string_view(key));
    return select.step() ? select.text(0) : std::string();
  }
  void set_value(const char* key, std::string_view value) {
    Statement one(db, "INSERT INTO study VALUES (?, ?)");
    one.bind(1, std::string_view(key));
    one.bind(2, value);
    one.run();
  }

  void make(const std::string& identity, const Study& study);
  void prepare();
  std::int64_t strategy_id(const plan::Degrees& degrees);

  WriterLock lock;  // goes last
  Sqlite db;
  std::optional<Statement> insert;
  std::optional<Statement> insert_strategy;
  std::map<std::string, std::int64_t> strategies;  // by encoded plan
};

void Database::Handle::make(const std::string& identity, const Study& study) {
  db.run(kSchema);
  db.run(fmt::format("PRAGMA application_id = {}", kApplicationId).c_str());
  set_value("schema_version", "1");
  set_value("name", study.name);
  set_value("identity", identity);
  set_value("points", std::to_string(study.num_points()));
  const auto names = [&](const char* sql, int count, auto&& name) {
    Statement rows(db, sql);
    for (int i = 0; i < count; ++i) {
      rows.bind(1, std::int64_t{i});
      rows.bind(2, std::string_view(name(i)));
      rows.run();
    }
  };
  names("INSERT INTO statuses VALUES (?, ?)", kNumStatuses,
        [](int i) { return to_string(static_cast<Status>(i)); });
  names("INSERT INTO resources VALUES (?, ?)", kNumResources,
        [](int i) { return to_string(static_cast<Resource>(i)); });
  Statement variant(db, "INSERT INTO variants VALUES (?, ?, ?, ?, ?)");
  for (std::size_t i = 0; i < study.variants.size(); ++i) {
    const Variant& own = study.variants[i];
    variant.bind(1, static_cast<std::int64_t>(i));
    variant.bind(2, std::string_view(own.name));
    variant.bind(3, own.unbuildable.empty() ? own.model.parameters() : 0);
    variant.bind(4, std::int64_t{own.global_batch});
    variant.bind(5, own.unbuildable.empty() ? own.steps() : 0);
    variant.run();
  }
  Statement machine(db, "INSERT INTO machines VALUES (?, ?, ?)");
  for (std::size_t i = 0; i < study.machines.size(); ++i) {
    machine.bind(1, static_cast<std::int64_t>(i));
    machine.bind(2, std::string_view(study.machines[i].name));
    machine.bind(3, std::string_view(study.machines[i].bases.begin()->second.stack.name));
    machine.run();
  }
  Statement axis(db, "INSERT INTO axes VALUES (?, ?, ?, ?)");
  Statement value(db, "INSERT INTO axis_values VALUES (?, ?, ?, ?, ?)");
  std::int64_t stride = 1;
  std::string columns;
  for (std::size_t i = study.axes.size(); i-- > 0;) {
    const StudyAxis& own = study.axes[i];
    const auto size = static_cast<std::int64_t>(own.values.size());
    const std::string name(info(own.axis).name);
    axis.bind(1, static_cast<std::int64_t>(i));
    axis.bind(2, std::string_view(name));
    axis.bind(3, stride);
    axis.bind(4, size);
    axis.run();
    for (std::size_t m = 0; m < study.machines.size(); ++m)
      for (std::size_t v = 0; v < own.values.size(); ++v) {
        const double number = own.values[v].on(study.machines[m].cluster, own.axis);
        value.bind(1, static_cast<std::int64_t>(i));
        value.bind(2, static_cast<std::int64_t>(m));
        value.bind(3, static_cast<std::int64_t>(v));
        value.bind(4, number);
        value.bind(5, std::string_view(value_text(own.axis, number)));
        value.run();
      }
    columns = fmt::format(
                  ", (SELECT value FROM axis_values v WHERE v.axis = {} AND v.machine = "
                  "m.machine AND v.position = (p.point / {}) % {}) AS {}",
                  i, stride, size, name) +
              columns;
    stride *= size;
  }
  db.run(fmt::format("CREATE VIEW results AS SELECT p.point, p.place, w.name AS workload, m.name "
                     "AS machine{}, s.name AS status, r.name AS binding, p.step_s, p.time_s, "
                     "p.money_usd, p.energy_j, p.devices, p.memory_bytes, p.mfu, p.flop_per_byte, "
                     "p.memory_bound, p.beyond_s, t.tp, t.pp, t.dp, t.cp, t.ep, t.interleave, "
                     "t.micro_batch, t.zero, t.recompute, t.schedule, p.strategies, p.evaluated "
                     "FROM points p JOIN machines m ON m.machine = (p.point / {}) % {} JOIN "
                     "variants w ON w.variant = p.point / {} JOIN statuses s USING (status) LEFT "
                     "JOIN resources r ON r.resource = p.binding LEFT JOIN strategies t USING "
                     "(strategy)",
                     columns, stride, study.machines.size(),
                     stride * static_cast<std::int64_t>(study.machines.size()))
             .c_str());
}

void Database::Handle::prepare() {
  insert.emplace(
      db, "INSERT INTO points VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  insert_strategy.emplace(db, "INSERT INTO strategies VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  Statement known(db, "SELECT strategy, plan FROM strategies");
  while (known.step()) strategies.emplace(known.blob(1), known.whole(0));
}

std::int64_t Database::Handle::strategy_id(const plan::Degrees& d) {
  const auto [place, fresh] =
      strategies.try_emplace(encode(d), static_cast<std::int64_t>(strategies.size()));
  if (!fresh) return place->second;
  Statement& s = *insert_strategy;
  s.bind(1, place->second);
  int column = 2;
  for (const int value : {d.tp, d.pp, d.dp, d.cp, d.ep, d.interleave, d.micro_batch, d.zero})
    s.bind(column++, std::int64_t{value});
  s.bind(column++, to_string(d.recompute));
  s.bind(column++, to_string(d.schedule));
  s.bind_blob(column, place->first);
  s.run();
  return place->second;
}

Database::Database(std::unique_ptr<Handle> handle) : handle_(std::move(handle)) {}
Database::~Database() = default;
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;

Database Database::open(const std::string& path, const std::string& identity, const Study& study,
                        bool restart) {
  auto handle = std::make_unique<Handle>(path);
  if (!handle->has_schema()) {
    if (!handle->is_empty())
      throw_input_error("explore.no-database", fmt::format("{} is not a database of a study", path),
                        {path}, "--db OTHER");
    handle->make(identity, study);
    handle->db.run("COMMIT; BEGIN IMMEDIATE");
  } else if (handle->value_of("identity") != identity) {
    if (!restart)
      throw_input_error("explore.other-study",
                        fmt::format("{} contains '{}' with other inputs or from another build of "
                                    "nereus",
                                    path, handle->value_of("name")),
                        {path}, "--restart discards it; --db OTHER keeps it");
    handle->db.run("ROLLBACK");
    handle.reset();
    std::remove(path.c_str());
    return open(path, identity, study, false);
  }
  handle->prepare();
  Database database(std::move(handle));
  Statement last(database.handle_->db, "SELECT max(point) FROM points");
  if (last.step() && !last.is_null(0)) database.next_point_ = last.whole(0) + 1;
  return database;
}

void Database::append(const std::vector<PointResult>& results) {
  Statement& s = *handle_->insert;
  for (const PointResult& result : results) {
    for (std::size_t place = 0; place < std::max<std::size_t>(1, result.found.size()); ++place) {
      s.bind(1, next_point_);
      s.bind(2, static_cast<std::int64_t>(place));
      s.bind(3, static_cast<std::int64_t>(result.status));
      s.bind(4, result.strategies);
      s.bind(5, result.evaluated);
      if (result.beyond > 0)
        s.bind(6, result.beyond);
      else
        s.bind_null(6);
      if (result.found.empty()) {
        for (int column = 7; column <= 18; ++column) s.bind_null(column);
      } else {
        const Found& own = result.found[place];
        s.bind(7, handle_->strategy_id(own.degrees));
        s.bind(8, own.step);
        s.bind(9, own.busy);
        s.bind(10, own.memory);
        s.bind(11, own.mfu);
        s.bind(12, own.intensity);
        s.bind(13, own.memory_bound);
        s.bind(14, static_cast<std::int64_t>(own.binding));
        for (int goal = 0; goal + 1 < kNumGoals; ++goal) s.bind(15 + goal, own.values[goal]);
        s.bind(18, static_cast<std::int64_t>(own.values.back()));
      }
      s.run();
    }
    ++next_point_;
  }
}

void Database::commit() { handle_->db.run("COMMIT; BEGIN IMMEDIATE"); }

namespace {

PointRow read_row(const Statement& rows) {
  PointRow row;
  row.status = static_cast<Status>(rows.whole(2));
  row.strategies = rows.whole(3);
  row.evaluated = rows.whole(4);
  row.beyond = rows.number(5);
  if (rows.is_null(6)) return row;
  row.strategy = rows.whole(6);
  Found& own = row.found;
  own.step = rows.number(7);
  own.busy = rows.number(8);
  own.memory = rows.number(9);
  own.mfu = rows.number(10);
  own.intensity = rows.number(11);
  own.memory_bound = rows.number(12);
  own.binding = static_cast<Resource>(rows.whole(13));
  for (int goal = 0; goal + 1 < kNumGoals; ++goal) own.values[goal] = rows.number(14 + goal);
  own.values.back() = static_cast<double>(rows.whole(17));
  return row;
}

}  // namespace

void Database::scan(const std::function<void(std::int64_t, int, const PointRow&)>& take) const {
  Statement rows(handle_->db, "SELECT * FROM points ORDER BY point, place");
  while (rows.step()) take(rows.whole(0), static_cast<int>(rows.whole(1)), read_row(rows));
}

void Database::write_csv(const std::function<void(std::string_view)>& write) const {
  Statement rows(handle_->db, "SELECT * FROM results ORDER BY point, place");
  std::string line;
  for (int i = 0; i < rows.num_columns(); ++i) {
    if (i > 0) line += ',';
    line += rows.name(i);
  }
  write(line += '\n');
  while (rows.step()) {
    line.clear();
    for (int i = 0; i < rows.num_columns(); ++i) {
      if (i > 0) line += ',';
      if (rows.is_null(i)) continue;
      const std::string text = rows.is_number(i) ? fmt::format("{}", rows.number(i)) : rows.text(i);
      if (text.find_first_of(",\"\n") == std::string::npos) {
        line += text;
        continue;
      }
      line += '"';
      for (const char c : text) line += c == '"' ? std::string("\"\"") : std::string(1, c);
      line += '"';
    }
    write(line += '\n');
  }
}

PointRow Database::row(std::int64_t point, int place) const {
  Statement one(handle_->db, "SELECT * FROM points WHERE point = ? AND place = ?");
  one.bind(1, point);
  one.bind(2, std::int64_t{place});
  NEREUS_CHECK(one.step(), "only points that are there are asked for");
  return read_row(one);
}

plan::Degrees Database::strategy(std::int64_t id) const {
  Statement select(handle_->db, "SELECT plan FROM strategies WHERE strategy = ?");
  select.bind(1, id);
  NEREUS_CHECK(select.step(), "points name strategies that are there");
  return decode_degrees(select.blob(0));
}

}  // namespace nereus::explore
