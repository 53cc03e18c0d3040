#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "base/parse_number.hpp"
#include "base/units.hpp"
#include "profile/import_parts.hpp"
#include "profile/layer_times.hpp"
#include "spec/value.hpp"

namespace nereus::profile {

namespace {

using spec::Array;
using spec::Table;
using spec::Value;

constexpr double kMillisecond = 1e-3;
constexpr double kLongestLayer = 3600;  // seconds
constexpr double kMostMemory = 1e15;    // bytes
constexpr std::size_t kMostPoints = 1 << 16;
constexpr std::size_t kGrowthPoints = 5;  // of Cephalo's planner

// Every element a number in (0, most] after scaling; an error for each that is not.
std::vector<double> points(const Array& list, double scale, double most, const char* what,
                           ErrorList& errors) {
  std::vector<double> out;
  for (const Value& value : list) {
    const std::optional<double> own = number_in(value);
    if (!own || !(*own > 0) || !(*own * scale <= most))
      errors.add(
          "profile.value",
          fmt::format("{} is {}, and must be above 0 and at most {}", what,
                      own ? fmt::format("{}", *own) : std::string(value.type_name()), most / scale),
          value.where());
    out.push_back(own.value_or(1) * scale);
  }
  if (out.size() > kMostPoints)
    errors.add("profile.points", fmt::format("{} points; at most {}", out.size(), kMostPoints));
  return out;
}

const Array* array_of(const Value& value, std::size_t size) {
  const Array* list = std::get_if<Array>(&value.data);
  return list && list->size() == size ? list : nullptr;
}

bool read_line(const Value& value, Curve& curve) {
  const Array* line = array_of(value, 2);
  if (!line) return false;
  const std::optional<double> slope = number_in((*line)[0]), intercept = number_in((*line)[1]);
  if (!slope || !intercept) return false;
  curve.slope = *slope * kMillisecond;
  curve.intercept = *intercept * kMillisecond;
  return true;
}

// Members of a table; an error if the value is not a table.
const Table& members(const Value& value, const char* what, ErrorList& errors) {
  static const Table none;
  if (const Table* table = std::get_if<Table>(&value.data)) return *table;
  errors.add("profile.shape", fmt::format("{} is {}, not a table", what, value.type_name()),
             value.where());
  return none;
}

bool read_times(const Value& value, LayerTimes& times, ErrorList& errors) {
  const Array* list = std::get_if<Array>(&value.data);
  if (!list || (list->size() != 2 && list->size() != 4)) return false;
  if (!read_line((*list)[0], times.forward) || !read_line((*list)[1], times.backward)) return false;
  if (list->size() == 2) return true;
  const Array* forward = std::get_if<Array>(&(*list)[2].data);
  const Array* backward = std::get_if<Array>(&(*list)[3].data);
  if (!forward || !backward) return false;
  times.forward.points = points(*forward, kMillisecond, kLongestLayer, "a forward time", errors);
  times.backward.points = points(*backward, kMillisecond, kLongestLayer, "a backward time", errors);
  return true;
}

void read_latencies(const Value& root, LayerProfile& profile, ErrorList& errors) {
  for (const auto& [model, devices] : members(root, "the profile", errors))
    for (const auto& [device, lengths] : members(devices, "a model", errors))
      for (const auto& [length, precisions] : members(lengths, "a device", errors))
        for (const auto& [precision, value] : members(precisions, "a sequence length", errors)) {
          LayerTimes times{model, device, parse_number<int>(length).value_or(0), precision, {}, {}};
          if (times.seq < 1)
            errors.add("profile.sequence",
                       fmt::format("'{}' is no sequence length of {} on {}", length, model, device),
                       value.where());
          if (read_times(value, times, errors))
            profile.times.push_back(std::move(times));
          else
            profile.left_out.push_back(
                fmt::format("{} on {}, {} tokens, {}: not a line forward and one backward with or "
                            "without points",
                            model, device, length, precision));
        }
}

void read_memory(const Value& root, LayerProfile& profile, ErrorList& errors) {
  for (const auto& [setting, models] : members(root, "the memory file", errors))
    for (const auto& [model, value] : members(models, "a setting", errors)) {
      const Value* parameters = value.find("parameters");
      const std::optional<double> count = parameters ? number_in(*parameters) : std::nullopt;
      if (!count || !(*count >= 1) || !(*count < kMostMemory)) {
        errors.add("profile.parameters",
                   fmt::format("{} of {} states no number of parameters", model, setting),
                   value.where());
        continue;
      }
      const Value* by_precision = value.find("profiled_compute_memory");
      if (!by_precision) {
        profile.left_out.push_back(
            fmt::format("{} of {}: no memory by micro-batch", model, setting));
        continue;
      }
      for (const auto& [precision, list] :
           members(*by_precision, "the memory of a model", errors)) {
        const Array* values = std::get_if<Array>(&list.data);
        if (!values || values->empty()) {
          errors.add("profile.shape", "the memory of a micro-batch is a list of GiB", list.where());
          continue;
        }
        ComputeMemory memory{setting, model, precision, *count, {}};
        std::vector<double>& at = memory.bytes.points =
            points(*values, kGiB, kMostMemory, "memory", errors);
        const std::size_t last = std::min(at.size(), kGrowthPoints);
        if (last > 1)
          memory.bytes.slope = (at.back() - at[at.size() - last]) / static_cast<double>(last - 1);
        memory.bytes.intercept = at.back() - memory.bytes.slope * static_cast<double>(at.size());
        profile.memory.push_back(std::move(memory));
      }
    }
}

}  // namespace

LayerProfile read_cephalo_latencies(const Value& latencies, ErrorList& errors) {
  LayerProfile profile;
  read_latencies(latencies, profile, errors);
  return profile;
}

LayerProfile read_cephalo_profile(std::string_view latencies, const std::string& latencies_file,
                                  std::string_view memory, const std::string& memory_file) {
  LayerProfile profile;
  ErrorList errors;
  const Value times = spec::parse_json(latencies, latencies_file);
  const Value bytes = spec::parse_json(memory, memory_file);
  read_latencies(times, profile, errors);
  read_memory(bytes, profile, errors);
  errors.throw_if_any();
  return profile;
}

}  // namespace nereus::profile
