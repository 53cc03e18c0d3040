#include "timeline/read_trace.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_map>

namespace nereus::timeline {

namespace {

using Json = nlohmann::json;

constexpr double kMostMicroseconds = 4e15;  // nanoseconds: two of them still fit in 64 bits

// Takes events apart while the parser runs. A level is the number of open arrays and objects.
class Handler : public nlohmann::json_sax<Json> {
 public:
  explicit Handler(ReadTrace& out) : out_(out) {}

  bool null() override { return other(); }
  bool boolean(bool) override { return other(); }
  bool number_integer(number_integer_t value) override {
    return number(static_cast<double>(value), value);
  }
  bool number_unsigned(number_unsigned_t value) override {
    return number(static_cast<double>(value), static_cast<std::int64_t>(value));
  }
  bool number_float(number_float_t value, const string_t&) override {
    return number(value, std::isfinite(value) && std::abs(value) < kMostMicroseconds
                             ? static_cast<std::int64_t>(value)
                             : 0);
  }
  bool string(string_t& value) override {
    text(value);
    return true;
  }
  bool binary(binary_t&) override { return other(); }

  bool start_object(std::size_t) override {
    if (at_array_of_events()) {
      event_ = {};
      event_.index = num_events_++;
      cat_.clear();
      name_.clear();
      id_.clear();
      in_event_ = true;
    } else if (at_field() && key_ == "args") {
      event_.has_args = true;
    } else {
      value_elsewhere();
    }
    ++level_;
    return true;
  }
  bool end_object() override {
    --level_;
    if (in_event_ && level_ == events_level_) finish_event();
    return true;
  }
  bool start_array(std::size_t) override {
    if (events_level_ < 0 && (level_ == 0 || (level_ == 1 && key_ == "traceEvents"))) {
      events_level_ = level_ + 1;
      seen_events_ = true;
    } else {
      value_elsewhere();
    }
    ++level_;
    return true;
  }
  bool end_array() override {
    --level_;
    if (level_ < events_level_) events_level_ = kDone;
    return true;
  }
  bool key(string_t& key) override {
    key_ = key;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    out_.faults.push_back(fmt::format("not JSON at byte {}: {}", position, error.what()));
    return false;
  }

  bool seen_events() const { return seen_events_; }

 private:
  static constexpr int kDone = 1 << 30;

  bool at_array_of_events() const { return level_ == events_level_; }
  bool at_field() const { return in_event_ && level_ == events_level_ + 1; }
  bool at_argument() const { return in_event_ && level_ == events_level_ + 2 && event_.has_args; }

  int intern(const std::string& text) {
    const auto [entry, is_new] = known_.emplace(text, static_cast<int>(out_.names.size()));
    if (is_new) out_.names.push_back(text);
    return entry->second;
  }

  // An array or object that is no event: as an argument it is one that is no number.
  void value_elsewhere() {
    if (at_array_of_events()) {
      out_.faults.push_back(fmt::format("event {} is no object", num_events_++));
    } else if (at_argument()) {
      ++event_.num_others;
    }
  }
  bool other() {
    value_elsewhere();
    return true;
  }

  static std::int64_t nanoseconds(double microseconds) {
    if (!(std::abs(microseconds) < kMostMicroseconds)) return kNoTime;
    return std::llround(microseconds * 1000);
  }

  bool number(double value, std::int64_t whole) {
    if (at_field()) {
      if (key_ == "pid") event_.process = whole;
      if (key_ == "tid") event_.thread = whole;
      if (key_ == "ts") event_.start = nanoseconds(value);
      if (key_ == "dur") event_.duration = nanoseconds(value);
      if (key_ == "id") id_ = fmt::format("{}", whole);
    } else if (at_argument()) {
      ++event_.num_numbers;
    } else {
      value_elsewhere();
    }
    return true;
  }

  void text(const std::string& value) {
    if (at_argument()) {
      ++event_.num_others;
      if (key_ == "name") event_.label = intern(value);
    } else if (at_field()) {
      if (key_ == "ph" && value.size() == 1) event_.phase = value[0];
      if (key_ == "pid") event_.process = -1 - intern(value);
      if (key_ == "tid") event_.thread = -1 - intern(value);
      if (key_ == "cat") cat_ = value;
      if (key_ == "name") name_ = value;
      if (key_ == "id") id_ = value;
      if (key_ == "bp") event_.binds_enclosing = value == "e";
    } else {
      value_elsewhere();
    }
  }

  void finish_event() {
    in_event_ = false;
    event_.name = intern(name_);
    const bool flow = event_.phase == 's' || event_.phase == 't' || event_.phase == 'f';
    if (flow && !id_.empty()) event_.flow = intern(cat_ + '\n' + name_ + '\n' + id_);
    out_.events.push_back(event_);
  }

  ReadTrace& out_;
  std::unordered_map<std::string, int> known_;
  TraceEvent event_;
  std::string key_, cat_, name_, id_;
  int level_ = 0;
  int events_level_ = -1;
  std::int64_t num_events_ = 0;
  bool in_event_ = false;
  bool seen_events_ = false;
};

}  // namespace

ReadTrace read_trace(std::string_view json) {
  ReadTrace out;
  Handler handler(out);
  const bool parsed = Json::sax_parse(json, &handler);
  if (parsed && !handler.seen_events())
    out.faults.emplace_back("neither an array of events nor an object with traceEvents");
  return out;
}

}  // namespace nereus::timeline
