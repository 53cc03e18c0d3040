#include "worker/elastic/sources.hpp"

#include <algorithm>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.hpp"
#include "base/parse_number.hpp"
#include "checkpoint/checksum.hpp"

namespace nereus::worker {

namespace {

using checkpoint::SharedRun;
using checkpoint::SliceMap;

using Key = std::pair<std::string_view, checkpoint::TensorKind>;

struct Holder {
  int rank = 0;
  std::size_t place = 0;
};
using Index = std::map<Key, std::vector<Holder>>;

Index index_of(const std::vector<PartNames>& holds) {
  Index index;
  for (std::size_t rank = 0; rank < holds.size(); ++rank)
    for (std::size_t place = 0; place < holds[rank].size(); ++place) {
      const PartName& part = holds[rank][place];
      index[{part.tensor, part.kind}].push_back({static_cast<int>(rank), place});
    }
  return index;
}

// Elements of a needed part that are still without a source, as ranges of its slice.
class Open {
 public:
  Open(std::int64_t begin, std::int64_t end) {
    if (begin < end) ranges_[begin] = end;
  }
  bool empty() const { return ranges_.empty(); }
  // Takes what of a run is open, and closes it.
  void take(const SharedRun& run, std::vector<SharedRun>& taken) {
    auto at = ranges_.upper_bound(run.to);
    if (at != ranges_.begin()) --at;
    while (at != ranges_.end() && at->first < run.to + run.size) {
      const std::int64_t begin = std::max(at->first, run.to);
      const std::int64_t end = std::min(at->second, run.to + run.size);
      if (begin >= end) {
        ++at;
        continue;
      }
      taken.push_back({run.from + (begin - run.to), begin, end - begin});
      const auto [first, last] = *at;
      at = ranges_.erase(at);
      if (first < begin) ranges_[first] = begin;
      if (end < last) at = ranges_.insert({end, last}).first;
    }
  }

 private:
  std::map<std::int64_t, std::int64_t> ranges_;
};

// Which holders may provide a part: those of one version of its tensor. A tied weight has one
// version in each of its layers; ranks that need the same part must get the same version, or
// replicas would differ by a bit.
class Versions {
 public:
  Versions(const std::vector<PartNames>& holds, const Index& index, const Distrusted& distrusted)
      : holds_(holds), index_(index), distrusted_(distrusted) {}

  // The version of its layer, or else of the first layer that has the complete tensor.
  const std::vector<Holder>& holders_for(const PartName& need) {
    static const std::vector<Holder> kNone;
    const auto found = index_.find({need.tensor, need.kind});
    if (found == index_.end()) return kNone;
    auto& layers = known_[{need.tensor, need.kind}];
    if (layers.empty()) layers = whole_versions(found->second, need);
    const auto own = layers.find(need.layer);
    if (own != layers.end()) return own->second;
    return layers.empty() ? kNone : layers.begin()->second;
  }

 private:
  using ByLayer = std::map<int, std::vector<Holder>>;

  ByLayer whole_versions(const std::vector<Holder>& holders, const PartName& need) const {
    ByLayer layers;
    for (const Holder& holder : holders) {
      const PartName& held = holds_[holder.rank][holder.place];
      if (!distrusted_.contains({holder.rank, holder.place}) && held.shape == need.shape &&
          held.dtype == need.dtype)
        layers[held.layer].push_back(holder);
    }
    const SliceMap whole(need.shape, {});
    std::erase_if(layers, [&](const auto& version) {
      Open open(0, whole.size());
      std::vector<SharedRun> taken;
      for (const Holder& holder : version.second) {
        const PartName& held = holds_[holder.rank][holder.place];
        const SliceMap map(held.shape, held.slice);
        for (const SharedRun& run : checkpoint::shared_runs({map, held.begin, held.end, nullptr},
                                                            {whole, 0, whole.size(), nullptr}))
          open.take(run, taken);
        if (open.empty()) return false;
      }
      return !open.empty();
    });
    return layers;
  }

  const std::vector<PartNames>& holds_;
  const Index& index_;
  const Distrusted& distrusted_;
  std::map<Key, ByLayer> known_;
};

// Itself first, then the others in turn from a place of its own.
std::vector<Holder> in_turn(std::vector<Holder> holders, int rank, std::size_t place) {
  const auto others = std::stable_partition(holders.begin(), holders.end(),
                                            [&](const Holder& h) { return h.rank == rank; });
  const auto count = static_cast<std::size_t>(holders.end() - others);
  if (count > 1)
    std::rotate(
        others,
        others + static_cast<std::ptrdiff_t>((static_cast<std::size_t>(rank) + place) % count),
        holders.end());
  return holders;
}

std::int64_t number_of(std::string_view text) {
  const std::optional<std::int64_t> value = parse_number<std::int64_t>(text);
  if (!value) throw_environment_error("elastic.bad-list", fmt::format("\"{}\" is no number", text));
  return *value;
}

}  // namespace

std::int64_t Move::elements() const {
  std::int64_t sum = 0;
  for (const SharedRun& run : runs) sum += run.size;
  return sum;
}

PartNames names_of(const std::vector<checkpoint::Part>& parts, bool with_checksums) {
  PartNames names;
  for (const checkpoint::Part& part : parts)
    names.push_back({part.tensor, part.kind, part.dtype, part.shape,
                     checkpoint::canonical(part.slice), part.begin, part.end, part.layer,
                     with_checksums ? checkpoint::xxh64(part.bytes) : 0});
  return names;
}

std::string to_text(const PartNames& names) {
  std::string text;
  for (const PartName& n : names)
    text += fmt::format("{}\t{}\t{}\t{}\t{} {} {} {}\t{} {}\t{}\t{}\n", n.tensor,
                        static_cast<int>(n.kind), static_cast<int>(n.dtype),
                        fmt::join(n.shape, " "), n.slice.slice, n.slice.of, n.slice.dim,
                        n.slice.groups, n.begin, n.end, n.layer, checkpoint::to_hex(n.checksum));
  return text;
}

PartNames parse_names(std::string_view text) {
  const auto split = [](std::string_view line, char mark) {
    std::vector<std::string_view> parts;
    for (std::size_t at = 0; at <= line.size();) {
      const std::size_t end = std::min(line.find(mark, at), line.size());
      if (end > at)
        parts.push_back(line.substr(at, end - at));
      else if (mark == '\t')
        parts.emplace_back();
      at = end + 1;
    }
    return parts;
  };
  PartNames names;
  for (const std::string_view line : split(text, '\n')) {
    const auto fields = split(line, '\t');
    if (fields.size() != 8)
      throw_environment_error("elastic.bad-list",
                              fmt::format("a part of {} fields", fields.size()));
    const auto numbers = [&](std::size_t field, std::size_t count) {
      std::vector<std::int64_t> list;
      for (const std::string_view number : split(fields[field], ' '))
        list.push_back(number_of(number));
      if (count > 0 && list.size() != count)
        throw_environment_error("elastic.bad-list", std::string(line));
      return list;
    };
    PartName name;
    name.tensor = fields[0];
    name.kind = static_cast<checkpoint::TensorKind>(numbers(1, 1)[0]);
    name.dtype = static_cast<checkpoint::DType>(numbers(2, 1)[0]);
    name.shape = numbers(3, 0);
    const auto slice = numbers(4, 4);
    name.slice = {static_cast<int>(slice[0]), static_cast<int>(slice[1]),
                  static_cast<int>(slice[2]), static_cast<int>(slice[3])};
    const auto range = numbers(5, 2);
    name.begin = range[0];
    name.end = range[1];
    name.layer = static_cast<int>(numbers(6, 1)[0]);
    name.checksum = checkpoint::parse_hex(fields[7]).value_or(0);
    names.push_back(std::move(name));
  }
  return names;
}

Distrusted odd_copies(const std::vector<PartNames>& holds) {
  using Same = std::tuple<std::string_view, checkpoint::TensorKind, int, int, int, int, int,
                          std::int64_t, std::int64_t>;
  std::map<Same, std::map<std::uint64_t, std::vector<Holder>>> copies;
  for (std::size_t rank = 0; rank < holds.size(); ++rank)
    for (std::size_t place = 0; place < holds[rank].size(); ++place) {
      const PartName& p = holds[rank][place];
      copies[{p.tensor, p.kind, p.layer, p.slice.slice, p.slice.of, p.slice.dim, p.slice.groups,
              p.begin, p.end}][p.checksum]
          .push_back({static_cast<int>(rank), place});
    }
  Distrusted odd;
  for (const auto& [same, values] : copies) {
    if (values.size() == 1) continue;
    std::size_t most = 0, second = 0;
    for (const auto& [checksum, holders] : values) {
      second = std::max(second, std::min(most, holders.size()));
      most = std::max(most, holders.size());
    }
    for (const auto& [checksum, holders] : values)
      if (holders.size() < most || most == second)
        for (const Holder& holder : holders) odd.insert({holder.rank, holder.place});
  }
  return odd;
}

Sources find_sources(const std::vector<PartNames>& holds, const std::vector<PartNames>& needs,
                     const Distrusted& distrusted, const Wanted* wanted) {
  const Index index = index_of(holds);
  Versions versions(holds, index, distrusted);
  Sources sources;
  for (std::size_t rank = 0; rank < needs.size(); ++rank)
    for (std::size_t place = 0; place < needs[rank].size(); ++place) {
      const int to = static_cast<int>(rank);
      if (wanted && !wanted->contains({to, place})) continue;
      const PartName& need = needs[rank][place];
      const SliceMap need_map(need.shape, need.slice);
      Open open(need.begin, need.end);
      for (const Holder& holder : in_turn(versions.holders_for(need), to, place)) {
        if (open.empty()) break;
        const PartName& held = holds[holder.rank][holder.place];
        const SliceMap held_map(held.shape, held.slice);
        Move move{holder.rank, to, holder.place, place, need.layer, {}};
        for (const SharedRun& run :
             checkpoint::shared_runs({held_map, held.begin, held.end, nullptr},
                                     {need_map, need.begin, need.end, nullptr}))
          open.take(run, move.runs);
        if (!move.runs.empty()) sources.moves.push_back(std::move(move));
      }
      if (!open.empty())
        sources.missing.push_back(
            fmt::format("{} ({}) of rank {}", need.tensor, checkpoint::to_string(need.kind), rank));
    }
  std::stable_sort(sources.moves.begin(), sources.moves.end(),
                   [](const Move& a, const Move& b) { return a.layer < b.layer; });
  return sources;
}

}  // namespace nereus::worker
