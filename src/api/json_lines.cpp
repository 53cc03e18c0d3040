#include "api/json_lines.hpp"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "api/call.hpp"
#include "api/form/exit_codes.hpp"
#include "base/format.hpp"

namespace nereus::api {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostWaiting = 10'000;  // lines read ahead, to look for a cancel
constexpr std::size_t kMostRows = 1'000'000;  // of one request by columns
constexpr auto kBetweenProgress = std::chrono::milliseconds(200);

struct Line {
  Json message;
  Error wrong;  // has a code if the line is not understood
  bool cancelled = false;
};

Line parse_line(const std::string& text) {
  Line line;
  try {
    line.message = Json::parse(text);
  } catch (const Json::exception& error) {
    line.wrong = {"api.bad-json", error.what(), {}, "send one JSON object per line"};
    return line;
  }
  const Json& m = line.message;
  if (!m.is_object())
    line.wrong = {"api.bad-request", "each line must be an object with id, verb and request"};
  else if (m.contains("cancel"))
    return line;
  else if (!m.contains("verb") || !m["verb"].is_string())
    line.wrong = {"api.bad-request", "the verb is missing", {}, R"("verb": "predict")"};
  else if (m.contains("request") && m.contains("requests"))
    line.wrong = {"api.bad-request", "request and requests are both given", {}, "give one of them"};
  else
    for (const auto& [name, value] : m.items())
      if (name != "id" && name != "verb" && name != "request" && name != "requests" &&
          name != "fields")
        line.wrong =
            unknown_word("api.unknown-field", fmt::format("a line may not have '{}'", name), name,
                         {"id", "verb", "request", "requests", "fields", "cancel"});
  return line;
}

// Waiting lines, and which of them were cancelled.
class Inbox {
 public:
  void put(Line line) {
    std::unique_lock lock(mutex_);
    if (line.wrong.code.empty() && line.message.contains("cancel")) {
      cancel(line.message["cancel"]);
      return;
    }
    room_.wait(lock, [this] { return lines_.size() < kMostWaiting; });
    lines_.push_back(std::move(line));
    filled_.notify_one();
  }
  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    filled_.notify_one();
  }
  // False when nothing more comes.
  bool take(Line& line) {
    std::unique_lock lock(mutex_);
    running_ = nullptr;
    filled_.wait(lock, [this] { return ended_ || !lines_.empty(); });
    if (lines_.empty()) return false;
    line = std::move(lines_.front());
    lines_.pop_front();
    stop_ = false;
    if (line.message.is_object()) running_ = line.message.value("id", Json());
    room_.notify_one();
    return true;
  }
  bool stopped() const { return stop_; }

 private:
  void cancel(const Json& id) {
    if (!running_.is_null() && running_ == id) stop_ = true;
    for (Line& line : lines_)
      if (line.message.is_object() && line.message.value("id", Json()) == id) line.cancelled = true;
  }

  std::mutex mutex_;
  std::condition_variable filled_, room_;
  std::deque<Line> lines_;
  Json running_;
  bool ended_ = false;
  std::atomic<bool> stop_ = false;
};

// "memory.worst_rank_bytes" of an answer, or "plans.0.step_s"; null if there is none.
Json field_of(const Json& answer, const std::string& path) {
  const Json* at = &answer;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    if (at->is_object() && at->contains(name))
      at = &(*at)[name];
    else if (at->is_array() && !name.empty() && name.size() < 9 &&
             name.find_first_not_of("0123456789") == std::string::npos &&
             std::stoul(name) < at->size())
      at = &(*at)[std::stoul(name)];
    else
      return nullptr;
    begin = end + 1;
  }
  return *at;
}

// How many requests the columns hold.
std::size_t num_rows(const Json& columns) {
  if (!columns.is_object())
    throw_input_error("api.bad-request", "requests must be columns: an object of arrays", {},
                      R"({"model": "gpt2", "tp": [1, 2]})");
  std::size_t rows = 0;
  std::string first;
  for (const auto& [name, values] : columns.items()) {
    if (!values.is_array()) continue;
    if (first.empty()) {
      first = name;
      rows = values.size();
    } else if (values.size() != rows) {
      throw_input_error("api.columns",
                        fmt::format("{} has {} and {} has {}", first, counted(rows, "value"), name,
                                    values.size()),
                        {name}, "a column holds one value for each request");
    }
  }
  if (first.empty())
    throw_input_error("api.columns", "no column is an array", {}, "\"request\" for a single one");
  if (rows > kMostRows)
    throw_input_error("api.columns", fmt::format("{} requests in one line", rows), {},
                      fmt::format("at most {}", kMostRows));
  return rows;
}

class Session {
 public:
  Session(Inbox& inbox, const WriteLine& write) : inbox_(inbox), write_(write) {}

  void answer(const Line& line) {
    const Json id = line.message.is_object() ? line.message.value("id", Json()) : Json();
    Json reply = {{"id", id}};
    if (!line.wrong.code.empty())
      refuse(line.wrong, kBadInput, reply);
    else if (line.cancelled)
      refuse({"api.cancelled", "cancelled before it started"}, kStoppedEarly, reply);
    else if (line.message.contains("requests"))
      answer_columns(line.message, reply);
    else
      answer_one(line.message, reply);
    send(reply);
  }

 private:
  static void refuse(const Error& error, int exit_code, Json& reply) {
    reply["error"] = error_json(error);
    reply["exit_code"] = exit_code;
  }

  void send(const Json& json) { write_(json.dump(-1, ' ', false, Json::error_handler_t::replace)); }

  CallOptions options_for(const Json& id) {
    CallOptions options;
    options.stop = [this] { return inbox_.stopped(); };
    options.say = [this, id](std::string_view text) {
      send({{"id", id}, {"say", std::string(text)}});
    };
    options.progress = [this, id, last = Clock::now()](const app::Progress& p) mutable {
      if (Clock::now() - last < kBetweenProgress) return;
      last = Clock::now();
      Json progress = {{"what", p.what}, {"done", p.done}};
      if (p.total > 0) progress["total"] = p.total;
      if (!p.best.empty()) progress["best"] = p.best;
      send({{"id", id}, {"progress", progress}});
    };
    return options;
  }

  void answer_one(const Json& message, Json& reply) {
    Reply own = call(message["verb"].get<std::string>(), message.value("request", Json::object()),
                     options_for(reply["id"]));
    if (!own.answer.is_null()) reply["answer"] = std::move(own.answer);
    if (!own.errors.empty()) reply["error"] = errors_json(own.errors);
    if (!own.notes.empty()) reply["notes"] = own.notes;
    if (own.exit_code != kDone) reply["exit_code"] = own.exit_code;
  }

  void answer_columns(const Json& message, Json& reply) {
    try {
      columns(message, reply);
    } catch (const Errors& errors) {
      reply["error"] = errors_json(errors.list());
      reply["exit_code"] = exit_code_of(errors);
    }
  }

  void columns(const Json& message, Json& reply) {
    const Json& given = message["requests"];
    const std::size_t rows = num_rows(given);
    std::vector<std::string> fields;
    if (message.contains("fields")) {
      if (!message["fields"].is_array())
        throw_input_error("api.bad-request", "fields must be an array of names", {},
                          R"(["step_s"])");
      for (const Json& field : message["fields"])
        fields.push_back(field.is_string() ? field.get<std::string>() : field.dump());
    }
    Json answers = fields.empty() ? Json::array() : Json::object();
    for (const std::string& field : fields) answers[field] = Json::array();
    Json errors = Json::object();
    const CallOptions options = options_for(reply["id"]);
    for (std::size_t i = 0; i < rows && !inbox_.stopped(); ++i) {
      Json request = Json::object();
      for (const auto& [name, values] : given.items())
        request[name] = values.is_array() ? values[i] : values;
      Reply own = call(message["verb"].get<std::string>(), request, options);
      if (!own.errors.empty()) errors[std::to_string(i)] = errors_json(own.errors);
      if (fields.empty()) answers.push_back(std::move(own.answer));
      for (const std::string& field : fields) answers[field].push_back(field_of(own.answer, field));
    }
    reply["answers"] = std::move(answers);
    reply["errors"] = std::move(errors);
    if (inbox_.stopped()) reply["exit_code"] = static_cast<int>(kStoppedEarly);
  }

  Inbox& inbox_;
  const WriteLine& write_;
};

}  // namespace

void answer_lines(const ReadLine& read, const WriteLine& write) {
  const auto inbox = std::make_shared<Inbox>();
  std::thread reader([inbox, read] {
    for (std::string text; read(text);)
      if (text.find_first_not_of(" \t\r") != std::string::npos) inbox->put(parse_line(text));
    inbox->end();
  });
  Session session(*inbox, write);
  try {
    for (Line line; inbox->take(line); line = {}) session.answer(line);
  } catch (...) {
    // Nobody reads the answers, and the reader may wait for a line that never comes.
    reader.detach();
    throw;
  }
  reader.join();
}

}  // namespace nereus::api
