#include "job/alike.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string_view>

#include "base/error.hpp"
#include "base/format.hpp"
#include "spec/value.hpp"

namespace nereus::job {

namespace {

constexpr std::size_t kLongestValue = 80;
constexpr std::size_t kMostNamed = 4;  // differences of a rank, and ranks

// FNV-1a, 64 bits (RFC 9923).
std::uint64_t digest(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return hash;
}

const spec::Table& table_of(const spec::Value& root, std::string_view key) {
  for (const spec::Member& member : std::get<spec::Table>(root.data))
    if (member.first == key) return std::get<spec::Table>(member.second.data);
  NEREUS_CHECK(false, fmt::format("a job without {}", key));
  std::abort();
}

class Card {
 public:
  void line(std::string_view name, std::string value) {
    for (char& c : value)
      if (c == '\n') c = ' ';
    if (value.size() > kLongestValue)
      value = fmt::format("{}.. (digest {:016x})", value.substr(0, kLongestValue), digest(value));
    text_ += fmt::format("{} {}\n", name, value);
  }
  void fields(const spec::Table& table, std::initializer_list<std::string_view> names = {}) {
    for (const spec::Member& member : table)
      if (names.size() == 0 || std::find(names.begin(), names.end(), member.first) != names.end())
        line(member.first, spec::to_json(member.second));
  }
  std::string take() { return text_.substr(0, kLongestCard); }

 private:
  std::string text_;
};

std::map<std::string, std::string> lines_of(const std::string& card) {
  std::map<std::string, std::string> lines;
  std::istringstream in(card);
  for (std::string line; std::getline(in, line);) {
    const std::size_t space = line.find(' ');
    lines[line.substr(0, space)] = space == std::string::npos ? "" : line.substr(space + 1);
  }
  return lines;
}

// "seed 7 (rank 0: 3), rate ..": what a card says otherwise than the first.
std::string differences(const std::string& first, const std::string& other) {
  const std::map<std::string, std::string> a = lines_of(first);
  std::map<std::string, std::string> b = lines_of(other);
  for (const auto& [name, value] : a) b.try_emplace(name, "nothing");
  std::vector<std::string> list;
  for (const auto& [name, value] : b) {
    const auto found = a.find(name);
    const std::string expected = found == a.end() ? "nothing" : found->second;
    if (value != expected) list.push_back(fmt::format("{} {} (rank 0: {})", name, value, expected));
  }
  const std::size_t more = list.size() > kMostNamed ? list.size() - kMostNamed : 0;
  list.resize(list.size() - more);
  return fmt::format("{}{}", fmt::join(list, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

}  // namespace

std::string job_card(const Job& job) {
  Job bare = job;
  bare.plan.cluster = {};  // hosts may differ, and each rank describes its own
  const spec::Value root = spec::parse_json(job_to_json(bare), "job");
  Card card;
  card.line("build", job.build);
  std::string model, placement;
  for (const spec::Member& member : table_of(root, "plan"))
    (member.first == "model" ? model : placement) += member.first + spec::to_json(member.second);
  card.line("model", fmt::format("{} of {} (digest {:016x})", job.plan.model.name,
                                 counted(job.plan.model.num_layers(), "layer"), digest(model)));
  card.line("plan", fmt::format("{:016x}", digest(placement)));
  card.line("batch", fmt::format("{}", job.plan.placement.global_batch));
  card.line("precision", std::string(to_string(job.plan.placement.precision)));
  card.fields(table_of(root, "training"));
  card.fields(table_of(root, "data"), {"kind", "shuffle"});
  card.fields(table_of(root, "machine"), {"device", "comm"});
  card.fields(table_of(root, "measuring"));
  card.line("checkpoints", job.checkpoint.folder.empty()
                               ? "none"
                               : fmt::format("every {}", counted(job.checkpoint.every, "step")));
  card.line("resumes", job.checkpoint.resume.empty() ? "no" : "yes");
  return card.take();
}

void check_alike(const std::vector<std::string>& cards) {
  std::vector<std::string> faults;
  for (std::size_t rank = 1; rank < cards.size(); ++rank)
    if (cards[rank] != cards.front() && faults.size() < kMostNamed)
      faults.push_back(
          fmt::format("rank {} has {}", rank, differences(cards.front(), cards[rank])));
  if (faults.empty()) return;
  throw_input_error("train.ranks-differ",
                    fmt::format("the ranks were started differently: {}", fmt::join(faults, "; ")),
                    {}, "use the same program and options for every rank");
}

}  // namespace nereus::job
