#include "app/explore_files.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/error.hpp"
#include "cost/general.hpp"
#include "plan/plan_json.hpp"

namespace nereus::app {

void write_study_csv(const std::string& path, const ExploreAnswer& answer) {
  // Line by line: a study may have more points than fit into memory.
  const std::string part = path + ".part";
  const auto fail = [&] {
    const std::string why = std::strerror(errno);
    std::remove(part.c_str());
    throw_environment_error("environment.write", fmt::format("cannot write {}: {}", path, why),
                            "a folder that can be written to, with room");
  };
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(part.c_str(), "wb"), std::fclose);
  if (!file) fail();
  answer.results->write_csv([&](std::string_view line) {
    if (std::fwrite(line.data(), 1, line.size(), file.get()) != line.size()) fail();
  });
  if (std::fclose(file.release()) != 0 || std::rename(part.c_str(), path.c_str()) != 0) fail();
}

void write_best_plan(const std::string& path, const ExploreAnswer& answer) {
  const PointDetail& best = answer.best.front();
  const explore::Variant& variant =
      answer.study.variants[static_cast<std::size_t>(best.answer.at.variant)];
  const explore::StudyMachine& machine =
      answer.study.machines[static_cast<std::size_t>(best.answer.at.machine)];
  plan::Plan file;
  file.model = variant.model;
  file.cluster = best.cluster;
  file.stack = machine.stack_for(variant).name;
  file.degrees = best.answer.found.degrees;
  file.placement = cost::expand_for(*file.degrees, file.model, machine.stack_for(variant));
  plan::save_plan(path, file);
}

}  // namespace nereus::app
