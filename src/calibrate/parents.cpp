#include "calibrate/parents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/error.hpp"
#include "calibrate/evaluate_runs.hpp"
#include "cluster/this_machine.hpp"

namespace nereus::calibrate {

namespace {

using cost::StackLibrary;

// The ancestor just below the root, or the root itself: what kind of software it is.
bool descends(const StackLibrary& library, const std::string& stack, std::string_view ancestor) {
  return library.applies({cost::Scope::Kind::kStack, std::string(ancestor)}, {}, stack, {});
}

// Lower case, words separated by single dashes.
std::string words_of(std::string_view name) {
  std::string words = "-";
  for (const char c : name) {
    const bool letter = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (letter)
      words += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (words.back() != '-')
      words += '-';
  }
  if (words.back() != '-') words += '-';
  return words;
}

std::vector<const Run*> measured(const std::vector<Run>& runs) {
  std::vector<const Run*> out;
  for (const Run& run : runs)
    if (!run.failed && run.suspect.empty()) out.push_back(&run);
  return out;
}

double mean_log_error(const std::vector<const Run*>& runs, const StackLibrary& library) {
  double sum = 0;
  int count = 0;
  for (const Run* run : runs) {
    if (run->step <= 0) continue;
    sum += std::abs(std::log(predict(*run, library).step / run->step));
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

}  // namespace

double mean_time_error(const std::vector<const Run*>& runs, const StackLibrary& library) {
  double sum = 0;
  int count = 0;
  for (const Run* run : runs) {
    if (run->step <= 0) continue;
    sum += std::abs(predict(*run, library).step / run->step - 1);
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

double mean_memory_error(const std::vector<const Run*>& runs, const StackLibrary& library) {
  double sum = 0;
  int count = 0;
  for (const Run* run : runs) {
    if (run->memory <= 0) continue;
    sum += std::abs(memory_error(*run, predict(*run, library), library));
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

bool is_penalty(std::string_view parameter) {
  constexpr std::string_view kPenalties[] = {
      "misaligned_head",        "host_fallback",         "network_jitter",  "pipelined_latency",
      "transfer_stall_devices", "transfer_stall_memory", "memory_pressure", "transfer_stall"};
  return std::find(std::begin(kPenalties), std::end(kPenalties), parameter) != std::end(kPenalties);
}

bool suits(const StackLibrary& library, const std::string& stack, const model::Model& model,
           const cluster::Device& device) {
  const bool on_cpu = cluster::own_device_kind(device.name) == "cpu";
  const bool has_tables = model.table_layer() >= 0;
  if (descends(library, stack, "ideal")) return false;
  if (descends(library, stack, "nereus") && !on_cpu) return false;
  if (descends(library, stack, "recommender") && !has_tables) return false;
  if (stack == "generic") return true;
  if (on_cpu) return descends(library, stack, "nereus");
  // Stacks of transformer software have no kernels for tables or convolutions.
  if (has_tables) return descends(library, stack, "recommender");
  return model.transformer.has_value();
}

std::string named_parent(const StackLibrary& library, std::string_view name) {
  const std::string words = words_of(name);
  std::string best;
  for (const std::string& known : library.stack_names()) {
    if (known == "generic" || known == "other" || known == "ideal") continue;
    if (words.find(words_of(known)) != std::string::npos && known.size() > best.size())
      best = known;
  }
  return best;
}

void add_stack(StackLibrary& library, const std::string& name, const std::string& parent) {
  cost::StackEntry entry = library.stacks.find(parent)->second;
  entry.inherits = parent;
  entry.description = fmt::format("calibrated from your runs, based on {}", parent);
  entry.settings.clear();
  entry.variants.clear();
  entry.releases.clear();
  const cost::Scope scope{cost::Scope::Kind::kStack, name};
  library.stacks[name] = entry;
  for (const cost::ParameterInfo& info : cost::parameter_table()) {
    if (!is_penalty(info.name)) continue;
    const std::string parameter(info.name);
    const double usual = cost::Parameters{}.*info.member;
    if (library.inherited(scope, parameter) != usual) library.set(scope, parameter, usual);
  }
}

ParentChoice choose_parent(const StackLibrary& library, const std::string& name,
                           const ReadRuns& read) {
  const std::vector<Run> rows = read(library, "generic");
  const auto all_suit = [&](const std::string& stack) {
    return std::all_of(rows.begin(), rows.end(), [&](const Run& run) {
      return suits(library, stack, *run.model, run.cluster.groups.front().node.device);
    });
  };
  std::vector<std::string> candidates;
  const std::string named = named_parent(library, name);
  if (!named.empty() && all_suit(named)) {
    candidates.push_back(named);
    const cost::StackEntry& entry = library.stacks.find(named)->second;
    for (const auto& list : {entry.variants, entry.releases})
      for (const auto& [key, stack] : list)
        if (library.has(stack) && all_suit(stack)) candidates.push_back(stack);
  }
  ParentChoice best;
  best.by_name = !candidates.empty();
  if (candidates.empty())
    for (const std::string& stack : library.stack_names())
      if (stack != "other" && all_suit(stack)) candidates.push_back(stack);
  for (const std::string& stack : candidates) {
    StackLibrary with = library;
    add_stack(with, name, stack);
    const std::vector<Run> runs = read(with, name);
    const std::vector<const Run*> used = measured(runs);
    const double error = mean_log_error(used, with) + mean_memory_error(used, with);
    if (best.parent.empty() || error < best.error) {
      best.parent = stack;
      best.error = error;
    }
  }
  return best;
}

}  // namespace nereus::calibrate
