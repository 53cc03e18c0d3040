#include "timeline/read_trace.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_map>

namespace nereus::timeline {

namespace {

using Json = nlohmann::json;

// Takes events apart while the parser runs.
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
    if (walk_.at_field() && walk_.key() == "args") {
      event_.has_args = true;
    } else if (!walk_.at_events()) {
      value_elsewhere();
    }
    if (walk_.open_object()) {
      event_ = {};
      event_.index = num_events_++;
      cat_.clear();
      name_.clear();
      id_.clear();
    }
    return true;
  }
  bool end_object() override {
    if (walk_.close_object()) finish_event();
    return true;
  }
  bool start_array(std::size_t) override {
    value_elsewhere();
    walk_.open_array();
    return true;
  }
  bool end_array() override {
    walk_.close_array();
    return true;
  }
  bool key(string_t& key) override {
    walk_.set_key(key);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    out_.faults.push_back(fmt::format("not JSON at byte {}: {}", position, error.what()));
    return false;
  }

  bool has_events() const { return walk_.has_events(); }

 private:
  bool at_argument() const { return walk_.in_field() && event_.has_args; }

  int intern(const std::string& text) {
    const auto [entry, is_new] = known_.emplace(text, static_cast<int>(out_.names.size()));
    if (is_new) out_.names.push_back(text);
    return entry->second;
  }

  // An array or object that is no event: as an argument it is one that is no number.
  void value_elsewhere() {
    if (walk_.at_events()) {
      out_.faults.push_back(fmt::format("event {} is no object", num_events_++));
    } else if (at_argument()) {
      ++event_.num_others;
    }
  }
  bool other() {
    value_elsewhere();
    return true;
  }

  bool number(double value, std::int64_t whole) {
    if (walk_.at_field()) {
      const std::string& key = walk_.key();
      if (key == "pid") event_.process = whole;
      if (key == "tid") event_.thread = whole;
      if (key == "ts") event_.start = nanoseconds(value);
      if (key == "dur") event_.duration = nanoseconds(value);
      if (key == "id") id_ = fmt::format("{}", whole);
    } else if (at_argument()) {
      ++event_.num_numbers;
    } else {
      value_elsewhere();
    }
    return true;
  }

  void text(const std::string& value) {
    const std::string& key = walk_.key();
    if (at_argument()) {
      ++event_.num_others;
      if (key == "name") event_.label = intern(value);
    } else if (walk_.at_field()) {
      if (key == "ph" && value.size() == 1) event_.phase = value[0];
      if (key == "pid") event_.process = -1 - intern(value);
      if (key == "tid") event_.thread = -1 - intern(value);
      if (key == "cat") cat_ = value;
      if (key == "name") name_ = value;
      if (key == "id") id_ = value;
      if (key == "bp") event_.binds_enclosing = value == "e";
    } else {
      value_elsewhere();
    }
  }

  void finish_event() {
    event_.name = intern(name_);
    const bool flow = event_.phase == 's' || event_.phase == 't' || event_.phase == 'f';
    if (flow && !id_.empty()) event_.flow = intern(cat_ + '\n' + name_ + '\n' + id_);
    out_.events.push_back(event_);
  }

  ReadTrace& out_;
  std::unordered_map<std::string, int> known_;
  TraceEvent event_;
  TraceWalk walk_;
  std::string cat_, name_, id_;
  std::int64_t num_events_ = 0;
};

}  // namespace

ReadTrace read_trace(std::string_view json) {
  ReadTrace out;
  Handler handler(out);
  const bool parsed = Json::sax_parse(json, &handler);
  if (parsed && !handler.has_events()) out.faults.emplace_back(kNoEvents);
  return out;
}

}  // namespace nereus::timeline
