#include "simulate/network/network_file.hpp"

#include <fmt/format.h>

#include "spec/reader.hpp"

namespace nereus::simulate {

namespace {

using spec::Reader;

// Some hundred times what exists, so that a slipped prefix is caught.
constexpr BytesPerSecond kMostBandwidth{1e15};
constexpr Seconds kMostLatency{10};
constexpr int kMostSize = 1 << 20;
constexpr double kMostOversubscription = 1e4;

enum class FileKind { kRing, kFullyConnected, kSwitch, kFatTree, kRails, kDragonfly, kTorus };

FileKind read_kind(Reader& table) {
  spec::Choices<FileKind> choices;
  for (int i = 0; i < static_cast<int>(FileKind::kTorus); ++i)
    choices.emplace_back(to_string(static_cast<DimensionKind>(i)), static_cast<FileKind>(i));
  choices.emplace_back("torus", FileKind::kTorus);
  return table.required_enum("kind", choices);
}

template <class Q>
double read_quantity(Reader& table, const char* key, Q most, bool required,
                     spec::Zero zero = spec::Zero::kForbidden) {
  const Q value = required ? table.required<Q>(key, zero) : table.optional<Q>(key, Q{}, zero);
  if (value <= most) return value.value;
  table.fail(key, "network.absurd",
             fmt::format("{} = {} is more than can be meant (at most {})", key,
                         spec::write_quantity(value), spec::write_quantity(most)));
  return most.value;
}

// The dimensions of one table: one, or the rings of a torus.
void read_dimension(Reader& table, std::vector<Dimension>& dimensions, ErrorList& errors) {
  const FileKind kind = read_kind(table);
  Dimension d;
  if (kind != FileKind::kTorus) d.kind = static_cast<DimensionKind>(kind);
  std::vector<int> sizes;
  if (kind == FileKind::kTorus)
    sizes = table.required_ints("sizes", 1, kMostSize);
  else
    sizes = {table.required_int("size", 1, kMostSize)};
  if (sizes.empty() && errors.empty())
    table.fail("sizes", "network.impossible", "a torus has a size in every direction",
               "sizes = [4, 4, 4]");
  d.bandwidth = read_quantity(table, "bandwidth", kMostBandwidth, true);
  d.latency = read_quantity(table, "latency", kMostLatency, true, spec::Zero::kAllowed);
  const bool tree = kind == FileKind::kFatTree || kind == FileKind::kRails;
  if (kind == FileKind::kFatTree || kind == FileKind::kDragonfly)
    d.leaf = table.required_int("leaf", 1, kMostSize);
  if (kind == FileKind::kRails) d.leaf = table.optional_int("leaf", 0, 1, kMostSize);
  if (tree)
    d.oversubscription = table.optional_double("oversubscription", 1, 1, kMostOversubscription);
  if (kind == FileKind::kDragonfly) {
    d.group = table.required_int("group", 1, kMostSize);
    d.local_bandwidth = read_quantity(table, "local_bandwidth", kMostBandwidth, false);
    d.global_bandwidth = read_quantity(table, "global_bandwidth", kMostBandwidth, false);
  }
  if (kind == FileKind::kTorus) d.kind = DimensionKind::kRing;
  table.finish();
  if (!errors.empty()) return;  // what cannot be read cannot be judged
  for (const int size : sizes) {
    d.size = size;
    ErrorList impossible;
    check(d, dimensions.size(), impossible);
    for (Error error : impossible.list()) {
      error.where = table.where("kind");
      errors.add(std::move(error));
    }
    dimensions.push_back(d);
  }
}

}  // namespace

Network network_from_value(const spec::Value& value) {
  ErrorList errors;
  Reader file(value, errors);
  file.optional_string("name");
  std::vector<Dimension> dimensions;
  for (Reader& table : file.required_tables("dimensions"))
    read_dimension(table, dimensions, errors);
  file.finish();
  errors.throw_if_any();
  return Network(std::move(dimensions));
}

Network load_network(const std::string& path) {
  const spec::Value file = spec::parse_file(path);
  return network_from_value(file);
}

}  // namespace nereus::simulate
