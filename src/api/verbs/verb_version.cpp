#include "api/form/exit_codes.hpp"
#include "api/verbs/verbs.hpp"
#include "app/version.hpp"

namespace nereus::api {

namespace {

Report to_report(const app::VersionAnswer& answer) {
  Table table{.columns = {{"version", "nereus"},
                          {"commit", "commit"},
                          {"compiler", "compiler"},
                          {"architecture", "architecture"},
                          {"system", "system"},
                          {"build_type", "build"}},
              .rows = {{answer.version, answer.commit, answer.compiler, answer.architecture,
                        answer.system, answer.build_type}},
              .record = true};
  if (!answer.sanitizers.empty()) {
    table.columns.push_back({"sanitizers", "sanitizers"});
    table.rows[0].push_back(answer.sanitizers);
  }
  return {.tables = {table}};
}

}  // namespace

Verb version_verb(Caller& caller) {
  auto command = std::make_unique<Command>("version",
                                           "show version, commit, compiler and "
                                           "architecture");
  auto output = std::make_shared<OutputOptions>();
  add_output_options(*command, *output);
  command->example("nereus version --format json", "for a bug report");
  command->run = [&caller, output] {
    caller.answer(to_report(app::version()), *output);
    return kDone;
  };
  return command;
}

}  // namespace nereus::api
