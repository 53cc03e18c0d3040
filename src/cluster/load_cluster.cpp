#include "cluster/load_cluster.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <system_error>

#include "base/trimmed.hpp"
#include "cluster/check_cluster.hpp"
#include "cluster/read.hpp"
#include "cluster/write_cluster.hpp"

namespace nereus::cluster {

namespace {

constexpr const char* kSyntax = "write it as COUNTxNODE[+COUNTxNODE...], e.g. 16xdgx-h100";

// Cuts at every "+" outside quotes.
std::vector<std::string_view> split_spec(std::string_view spec) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  bool quoted = false;
  for (size_t i = 0; i < spec.size(); ++i) {
    if (spec[i] == '"') quoted = !quoted;
    if (spec[i] != '+' || quoted) continue;
    parts.push_back(spec.substr(begin, i - begin));
    begin = i + 1;
  }
  parts.push_back(spec.substr(begin));
  return parts;
}

// A SPEC that is wrong throughout says the same over and over; the first few faults say it all.
constexpr size_t kMostSpecErrors = 10;

// A whole SPEC with the place of a part in it. Columns are counted in bytes: names are ASCII.
struct SpecText {
  std::string_view spec;
  spec::SourcePtr source;
  Where where(std::string_view part) const {
    return spec::where_in(*source, 1, static_cast<int>(part.data() - spec.data()) + 1);
  }
};

// The count before the first "x"; 0, with an error, if it is wrong.
int read_count(std::string_view part, size_t x, const SpecText& text, const Catalogue& known,
               ErrorList& errors) {
  const std::string_view digits = x == std::string_view::npos ? part : part.substr(0, x);
  int count = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, code] = std::from_chars(digits.data(), end, count);
  if (code == std::errc() && stop == end && x != std::string_view::npos) {
    if (count >= 1 && count <= kMostDevices) return count;
    errors.add("cluster.count",
               fmt::format("{} nodes cannot be: a count is {}", count,
                           count < 1 ? "1 or more" : fmt::format("{} or less", kMostDevices)),
               text.where(part), "1x" + std::string(part.substr(x + 1)));
    return 0;
  }
  if (code == std::errc::result_out_of_range) {
    errors.add("cluster.count",
               fmt::format("a count of {} nodes is out of range: 1 to {}", digits, kMostDevices),
               text.where(part));
    return 0;
  }
  std::string hint = kSyntax;
  if (known.find_node(part) != nullptr) {
    const char* const quote = part.find_first_of(" +") == std::string_view::npos ? "" : "\"";
    hint = fmt::format("1x{}{}{}", quote, part, quote);
  }
  errors.add("cluster.spec", fmt::format("\"{}\" does not start with a count and an x", part),
             text.where(part), hint);
  return 0;
}

// The node's name without quotes; empty, with an error, if it is wrong.
std::string_view read_name(std::string_view name, const SpecText& text, ErrorList& errors) {
  const bool opens = !name.empty() && name.front() == '"';
  const bool closes = name.size() >= 2 && name.back() == '"';
  if (opens && closes && name.size() > 2 && name.find('"', 1) == name.size() - 1)
    return name.substr(1, name.size() - 2);
  if (name.find('"') != std::string_view::npos)
    errors.add("cluster.spec", fmt::format("the quotes of {} do not match", name), text.where(name),
               "a quoted name is quoted as a whole: 4x\"n1-standard-8 + 1xT4\"");
  else if (name.empty())
    errors.add("cluster.spec", "the name of a node is missing", text.where(name), kSyntax);
  else if (name.find(' ') != std::string_view::npos)
    errors.add("cluster.spec", fmt::format("the name \"{}\" holds a space", name), text.where(name),
               "a name that holds \"+\" or a space is quoted");
  else
    return name;
  return {};
}

void add_group(Cluster& cluster, int count, const Node& node) {
  // Equal neighbours are one group: the ranks are numbered the same, and the cluster is uniform.
  if (!cluster.groups.empty() && cluster.groups.back().node == node &&
      cluster.groups.back().count <= kMostDevices)
    cluster.groups.back().count += count;
  else
    cluster.groups.push_back({count, node});
}

bool is_file(std::string_view text) {
  for (const char* extension : {".toml", ".yaml", ".yml", ".json"})
    if (text.ends_with(extension)) return true;
  std::error_code ignored;
  return !text.empty() && std::filesystem::exists(std::filesystem::path(text), ignored);
}

Cluster apply(const Cluster& cluster, const std::vector<Override>& overrides, bool with_levels,
              ErrorList& errors, const Catalogue& known) {
  spec::Value tree = cluster_to_value(cluster, Form::kWritten);
  if (!with_levels)
    std::erase_if(std::get<spec::Table>(tree.data),
                  [](const auto& member) { return member.first == "levels"; });
  for (const Override& o : overrides) spec::set_path(tree, o.path, o.value);
  return cluster_from_value(tree, errors, known);
}

// The usable memory of a device was stated for its previous memory, so it is reset.
void forget_usable(Cluster& cluster, const std::string& path) {
  for (size_t g = 0; g < cluster.groups.size(); ++g)
    if (path == fmt::format("groups.{}.node.device.memory", g) ||
        path == fmt::format("groups.{}.node.device.memory_bytes", g))
      cluster.groups[g].node.device.usable_memory = Bytes{};
}

bool is_level_path(const std::string& path) {
  return path == "levels" || path.starts_with("levels.");
}

// Applies overrides of nodes first, because the level may be derived from them, then overrides of
// levels.
Cluster override_cluster(Cluster cluster, bool derived_levels,
                         const std::vector<Override>& overrides, const Catalogue& known) {
  std::vector<Override> of_nodes, of_levels;
  for (Override o : overrides) {
    if (o.path.starts_with("cluster.")) o.path.erase(0, 8);
    forget_usable(cluster, o.path);
    (is_level_path(o.path) ? of_levels : of_nodes).push_back(std::move(o));
  }
  ErrorList errors;
  if (!of_nodes.empty()) cluster = apply(cluster, of_nodes, !derived_levels, errors, known);
  errors.throw_if_any();
  if (!of_levels.empty()) cluster = apply(cluster, of_levels, true, errors, known);
  errors.throw_if_any();
  return cluster;
}

}  // namespace

Cluster parse_cluster_spec(std::string_view spec, ErrorList& errors, const Catalogue& known) {
  Cluster cluster;
  cluster.name = std::string(trimmed(spec));
  const SpecText text{spec, spec::make_source(spec, "--cluster")};
  for (const std::string_view untrimmed : split_spec(spec)) {
    if (errors.list().size() >= kMostSpecErrors) break;
    const std::string_view part = trimmed(untrimmed);
    const size_t x = part.find('x');
    const int count = read_count(part, x, text, known, errors);
    if (count == 0) continue;
    const std::string_view name = read_name(part.substr(x + 1), text, errors);
    if (name.empty()) continue;
    if (const Node* node = known.find_node(name))
      add_group(cluster, count, *node);
    else
      errors.add(known.unknown_node(name, text.where(part.substr(x + 1))));
  }
  cluster.levels.push_back(node_network_level(cluster));
  return cluster;
}

Cluster load_cluster(std::string_view spec_or_path, const std::vector<Override>& overrides,
                     const Catalogue& known) {
  ErrorList errors;
  Cluster cluster;
  bool derived_levels = true;
  if (is_file(spec_or_path)) {
    const spec::Value file = spec::parse_file(std::string(spec_or_path));
    derived_levels = file.find("levels") == nullptr;
    cluster = cluster_from_value(file, errors, known);
  } else {
    cluster = parse_cluster_spec(spec_or_path, errors, known);
  }
  errors.throw_if_any();
  if (!overrides.empty())
    cluster = override_cluster(std::move(cluster), derived_levels, overrides, known);
  check_cluster(cluster, errors);
  errors.throw_if_any();
  return cluster;
}

}  // namespace nereus::cluster
