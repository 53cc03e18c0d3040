// torchtitan: its configuration if it is told to print it (a Python dict after "Running with args:"
// until October 2025, JSON after "Running with configs:" since), the mesh, and a line per logging
// interval:
//
//   [titan] ... - Building device mesh with parallelism: pp=1, dp_replicate=1, dp_shard=8, cp=1, ...
//   [titan] ... - Building 2-D device mesh with ['dp_shard', 'tp'], [4, 2]
//   [titan] ... - CUDA capacity: NVIDIA H100 80GB HBM3 with 79.10GiB memory
//   [titan] ... - step: 10  loss: 7.1  memory: 29.90GiB(37.7%)  tps: 7,234  tflops: ..  mfu: ..
//
// tps is tokens per second and device; memory is what the allocator reserved at most.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.hpp"
#include "logs/log_text.hpp"
#include "spec/value.hpp"

namespace nereus::logs {

namespace {

// What a configuration in JSON says in the form of train.toml, on the same lines. Sections in
// sections are of no matter to a plan.
std::string toml_of(const spec::Value& config) {
  PlacedLines lines("");
  const auto* sections = std::get_if<spec::Table>(&config.data);
  if (sections == nullptr) return {};
  for (const auto& [section, content] : *sections) {
    const auto* keys = std::get_if<spec::Table>(&content.data);
    if (keys == nullptr) continue;
    for (const auto& [key, value] : *keys) {
      if (value.is_null() || std::holds_alternative<spec::Table>(value.data)) continue;
      spec::Value quoted;
      quoted.data = key;
      const std::string name = spec::to_json(quoted);
      quoted.data = section;
      lines.add(value.line,
                fmt::format("{}.{} = {}", spec::to_json(quoted), name, spec::to_json(value)));
    }
  }
  return lines.text();
}

// The product of "pp=1, dp_replicate=2, ..." or of the last list in brackets. Experts share ranks.
int devices_of(const LogText& text, const LogLine& line, ErrorList& errors) {
  double devices = 1;
  if (line.text.find("with parallelism:") != std::string::npos) {
    for (const char* axis : {" pp=", " dp_replicate=", " dp_shard=", " cp=", " tp="})
      devices *= std::max(1, text.count_after(line, axis, errors));
  } else {
    const std::size_t open = line.text.rfind('[');
    if (open == std::string::npos) return 0;
    for (std::size_t i = open; i < line.text.size() && line.text[i] != ']'; ++i)
      if (line.text[i] == '[' || line.text[i] == ',')
        devices *=
            std::max(1, text.count_after({line.number, line.text.substr(i + 1)}, "", errors));
  }
  return devices <= 1 << 20 ? static_cast<int>(devices) : 0;
}

}  // namespace

TrainLog read_torchtitan_log(const LogText& text, ErrorList& errors) {
  TrainLog log;
  log.measure = Measure::kTokensPerSecondPerDevice;
  for (std::size_t i = 0; i < text.lines().size(); ++i) {
    const LogLine& line = text.lines()[i];
    const auto has = [&](std::string_view what) {
      return line.text.find(what) != std::string::npos;
    };
    if (has("Running with args: {") || has("Running with configs: {")) {
      const bool python = has("Running with args: {");
      const auto block = text.block(i, line.text.find("Running with"), '{');
      if (!block) {
        errors.add("log.value", "the configuration does not end", text.where(line));
        continue;
      }
      const std::string json =
          std::string(static_cast<std::size_t>(std::max(0, block->line - 1)), '\n') +
          (python ? json_of_python(block->text) : block->text);
      log.layout = {{text.file() + " (config).toml", toml_of(spec::parse_json(json, text.file()))}};
      i = block->end - 1;
    } else if (has("device mesh with")) {
      log.devices = std::max(log.devices, devices_of(text, line, errors));
    } else if (has(" capacity: ") && has(" with ") && has("GiB memory")) {
      const std::size_t from = line.text.find(" capacity: ") + 11;
      const std::size_t to = line.text.rfind(" with ");
      if (to > from) log.device = line.text.substr(from, to - from);
    } else if (has("Compiling each ") || has("with torch.compile")) {
      log.compiled = true;
    } else if (has("tps: ") && has("memory: ") && has("step:")) {
      if (const auto tps = text.number_after(line, "tps: ", 1e-6, 1e12, errors))
        log.steps.push_back({line.number, *tps});
      if (const auto gib = text.number_after(line, "memory: ", 0, 1e6, errors))
        log.memory = std::max(log.memory, *gib * kGiB);
    }
  }
  return log;
}

}  // namespace nereus::logs
