// DeepSpeed: its configuration, which every rank 0 prints, and a line per `steps_per_print`:
//
//   [INFO] [config.py:1000:print]   world_size ................... 16
//   [INFO] [config.py:987:print_user_config]   json = { "train_batch_size": 64, ... }
//   [INFO] [timer.py:260:stop] epoch=0/micro_step=40/global_step=10, RunningAvgSamplesPerSec=25.0,
//     CurrSamplesPerSec=25.7, MemAllocated=4.32GB, MaxMemAllocated=38.49GB
//   steps: 10 loss: 7.1 iter time (s): 0.512 samples/sec: 31.2         (its pipeline engine)
//
// with gibibytes. Samples are those of the whole job. The model is not in the log.
#include <algorithm>

#include "base/units.hpp"
#include "logs/log_text.hpp"

namespace nereus::logs {

TrainLog read_deepspeed_log(const LogText& text, ErrorList& errors) {
  TrainLog log;
  log.measure = Measure::kSamplesPerSecond;
  std::vector<LoggedStep> pipeline;
  for (std::size_t i = 0; i < text.lines().size(); ++i) {
    const LogLine& line = text.lines()[i];
    if (const std::size_t at = line.text.find("json = {"); at != std::string::npos) {
      const auto block = text.block(i, at, '{');
      if (!block) {
        errors.add("log.value", "the configuration after \"json =\" does not end",
                   text.where(line));
        continue;
      }
      // Every rank may print it; the last job of the log counts.
      log.layout = {{text.file() + " (json).json",
                     std::string(static_cast<std::size_t>(std::max(0, block->line - 1)), '\n') +
                         block->text}};
      i = block->end - 1;
    } else if (line.text.find("world_size ..") != std::string::npos) {
      const std::size_t dots = line.text.find("..");
      const std::size_t after = line.text.find_first_not_of('.', dots);
      if (after == std::string::npos) continue;
      log.devices = text.count_after({line.number, line.text.substr(after)}, " ", errors);
    } else if (line.text.find("world_size = ") != std::string::npos &&
               line.text.find("mesh_device") != std::string::npos) {
      log.devices = text.count_after(line, "world_size = ", errors);
    } else if (line.text.find("CurrSamplesPerSec=") != std::string::npos) {
      if (const auto rate = text.number_after(line, "CurrSamplesPerSec=", 1e-9, 1e12, errors))
        log.steps.push_back({line.number, *rate});
      if (line.text.find("MaxMemAllocated=") == std::string::npos) continue;
      if (const auto gib = text.number_after(line, "MaxMemAllocated=", 0, 1e6, errors))
        log.memory = std::max(log.memory, *gib * kGiB);
    } else if (line.text.find("iter time (s):") != std::string::npos) {
      if (const auto rate = text.number_after(line, "samples/sec:", 1e-9, 1e12, errors))
        pipeline.push_back({line.number, *rate});
    }
  }
  if (log.steps.empty()) log.steps = std::move(pipeline);
  return log;
}

}  // namespace nereus::logs
