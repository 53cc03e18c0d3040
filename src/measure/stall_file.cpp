#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/parse_number.hpp"
#include "measure/what_if.hpp"
#include "spec/quantity.hpp"
#include "spec/reader.hpp"
#include "spec/value.hpp"

namespace nereus::measure {

namespace {

constexpr const char* kChanges = "cores=2, disk=2, cached=0.5, links=2, bucket=4MiB, device=1.5";
constexpr double kMostSeconds = 1e9;
constexpr int kMostFileRanks = 1 << 20;

[[noreturn]] void refuse(const std::string& message, const std::string& hint = kChanges) {
  throw_input_error("measure.change", message, {}, hint);
}

Stall stall_of(StallKind kind, spec::Reader reader) {
  Stall stall;
  stall.kind = kind;
  stall.measured = reader.optional_bool("measured", true);
  stall.seconds = reader.required_double("seconds", -kMostSeconds, kMostSeconds);
  stall.low = reader.required_double("low", -kMostSeconds, kMostSeconds);
  stall.high = reader.required_double("high", -kMostSeconds, kMostSeconds);
  stall.significant = reader.required_bool("significant");
  stall.note = reader.optional_string("note");
  reader.skip_rest();
  return stall;
}

}  // namespace

Change parse_change(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  std::vector<std::string> names;
  for (int i = 0; i < kNumChanges; ++i) names.emplace_back(to_string(static_cast<ChangeKind>(i)));
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    const auto near = nearest(name, names);
    refuse(fmt::format("--change {}: '{}' is not something that can be changed", text, name),
           near ? fmt::format("did you mean {}? as in {}", *near, kChanges) : kChanges);
  }
  Change change;
  change.kind = static_cast<ChangeKind>(found - names.begin());
  std::string value = equals == std::string::npos ? "" : text.substr(equals + 1);
  if (change.kind == ChangeKind::kBucket) {
    const spec::Parsed<Bytes> bytes = spec::parse_bytes(value);
    if (!bytes.value || bytes.value->value < 1 || bytes.value->value > 1e15)
      refuse(fmt::format("--change {}: a bucket is a number of bytes from 1", text));
    change.value = bytes.value->value;
    return change;
  }
  if (!value.empty() && value.back() == 'x') value.pop_back();
  const std::optional<double> number = parse_number<double>(value);
  const bool is_number = number.has_value();
  change.value = number.value_or(0);
  const bool share = change.kind == ChangeKind::kCached;
  if (!is_number || !(share ? change.value >= 0 && change.value <= 1
                            : change.value >= 1e-6 && change.value <= 1e6))
    refuse(fmt::format("--change {}: {}", text,
                       share ? "a share from 0 to 1" : "a factor from 0.000001 to 1,000,000"));
  return change;
}

MeasuredStep read_stall_file(std::string_view text, const std::string& file) {
  const spec::Value value = spec::parse_json(text, file);
  ErrorList errors;
  spec::Reader reader(value, errors);
  MeasuredStep out;
  StallReport& report = out.report;
  out.model = reader.optional_string("model", "the job");
  report.num_ranks = reader.required_int("ranks", 1, kMostFileRanks);
  report.num_hosts = reader.optional_int("hosts", 1, 1, kMostFileRanks);
  report.step_s = reader.required_double("step_s", 1e-9, kMostSeconds);
  report.alone_s = reader.required_double("one_device_s", 0, kMostSeconds);
  report.at_hand_s = reader.optional_double("at_hand_s", report.step_s, 0, kMostSeconds);
  report.warm_s = reader.optional_double("warm_s", report.step_s, 0, kMostSeconds);
  report.rounds = reader.optional_int("rounds", 0, 0);
  out.parameters = reader.optional_double("parameters", 0, 0, 1e15);
  out.bucket_bytes = reader.optional_double("bucket_bytes", out.bucket_bytes, 1, 1e15);
  spec::Reader stalls = reader.required_table("stalls");
  for (int i = 0; i < kNumStalls; ++i) {
    const auto kind = static_cast<StallKind>(i);
    report.stalls.push_back(stall_of(kind, stalls.required_table(std::string(to_string(kind)))));
    report.stalls.back().share = report.stalls.back().seconds / report.step_s;
  }
  stalls.skip_rest();
  reader.skip_rest();
  errors.throw_if_any();
  return out;
}

}  // namespace nereus::measure
