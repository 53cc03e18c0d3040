#include "app/export.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "app/predict.hpp"
#include "app/write_file.hpp"
#include "cluster/load.hpp"
#include "cluster/write.hpp"
#include "cost/stack_file.hpp"
#include "plan/plan_json.hpp"

namespace nereus::app {

namespace {

namespace fs = std::filesystem;

void write_into(const exporting::Bundle& files, const fs::path& directory) {
  for (const exporting::TextFile& file : files) {
    const fs::path path = directory / file.name;
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    if (error)
      throw_input_error("output.path", fmt::format("cannot make the folder {}: {}",
                                                   path.parent_path().string(), error.message()));
    write_file(path.string(), file.text);
  }
}

void write_bundle(const exporting::Bundle& files, const std::string& directory) {
  const fs::path target(directory);
  std::error_code error;
  if (fs::exists(target, error)) {
    if (!fs::is_directory(target, error))
      throw_input_error("output.path", fmt::format("{} is no directory", directory), {},
                        "-o names a directory that exists or is made");
    write_into(files, target);
    return;
  }
  // Beside the target, so that the last step is one rename.
  fs::path parent = target;
  if (!parent.has_filename()) parent = parent.parent_path();
  std::string pattern = parent.string() + ".XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr)
    throw_input_error("output.path", fmt::format("cannot make the folder {}", directory), {},
                      "its parent must exist and be writable");
  const fs::path temporary(pattern);
  try {
    write_into(files, temporary);
    fs::permissions(temporary, fs::perms::owner_all | fs::perms::group_read |
                                   fs::perms::group_exec | fs::perms::others_read |
                                   fs::perms::others_exec);
    fs::rename(temporary, parent);
  } catch (...) {
    fs::remove_all(temporary, error);
    throw;
  }
}

// Machines that no SPEC describes go along as a file of their own, and the header names it.
void add_cluster(exporting::Bundle& files, const cluster::Cluster& machines) {
  try {
    if (cluster::load_cluster(machines.name) == machines) return;
  } catch (const Errors&) {
    // A name that is no SPEC: the file it is.
  }
  for (exporting::TextFile& file : files) {
    const std::size_t at = file.text.find("# nereus: cluster=");
    if (at == std::string::npos) continue;
    const std::size_t end = file.text.find('\n', at);
    file.text.replace(at, end - at, fmt::format("# nereus: cluster={}", kClusterFile));
  }
  files.push_back({kClusterFile, cluster::cluster_to_json(machines) + "\n"});
}

}  // namespace

exporting::StackFacts stack_facts(const cost::Stack& stack) {
  return {stack.name, stack.options.selective == cost::SelectiveRule::kAttention,
          stack.options.local_batch_split};
}

ExportAnswer export_plan(const ExportRequest& request) {
  const plan::Plan plan = plan::load_plan(request.plan_file);
  const std::string stack =
      plan.stack.empty() ? default_stack(plan.cluster.groups.front().node.device) : plan.stack;
  // A plan may name a stack of a file that is not here; what matters of it is then the usual.
  exporting::StackFacts facts{stack, true, false};
  if (cost::builtin_stacks().has(stack)) facts = stack_facts(cost::load_stack(stack));
  ExportAnswer answer{request.engine, exporting::write(request.engine, plan, facts),
                      request.directory};
  add_cluster(answer.files, plan.cluster);
  if (!request.directory.empty()) write_bundle(answer.files, request.directory);
  return answer;
}

}  // namespace nereus::app
