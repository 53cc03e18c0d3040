#include "api/form/exit_codes.hpp"
#include "api/verbs/launched_rank.hpp"
#include "api/verbs/verbs.hpp"
#include "app/train/doctor.hpp"

namespace nereus::api {

namespace {

const char* word(app::CheckStatus status) {
  switch (status) {
    case app::CheckStatus::kWorks:
      return "works";
    case app::CheckStatus::kAbsent:
      return "absent";
    case app::CheckStatus::kBroken:
      return "broken";
  }
  return "";
}

Report to_report(const app::DoctorAnswer& answer) {
  Table checks{.name = "checks",
               .columns = {{"group", "group"},
                           {"name", "what"},
                           {"status", "status"},
                           {"detail", "detail", Unit::kNone, false, true},
                           {"needed_for", "needed for", Unit::kNone, false, false, 1}}};
  int num_absent = 0;
  for (const app::Check& check : answer.checks) {
    checks.rows.push_back({check.group, check.name, word(check.status), check.detail,
                           check.needed_for.empty() ? Cell{} : Cell{check.needed_for}});
    num_absent += check.status == app::CheckStatus::kAbsent ? 1 : 0;
  }
  checks.notes.push_back(answer.healthy
                             ? "Everything that every verb needs works; " +
                                   std::to_string(num_absent) + " optional things are absent."
                             : "Something that every verb needs is broken; see above.");
  Table summary{.columns = {{"healthy", "healthy"}}, .rows = {{answer.healthy}}, .record = true};
  return {.tables = {checks, summary}};
}

Report to_report(const std::string& file, const timeline::TraceCheck& check) {
  return {.tables = {
              Table{.name = "trace",
                    .columns = {{"file", "trace"},
                                {"good", "good"},
                                {"processes", "processes"},
                                {"threads", "threads"},
                                {"slices", "slices"},
                                {"flows", "flows"},
                                {"samples", "counter samples"},
                                {"length_s", "length", Unit::kSeconds}},
                    .rows = {{file, true, check.num_processes, check.num_threads, check.num_slices,
                              check.num_flows, check.num_samples, check.seconds}},
                    .record = true}}};
}

}  // namespace

Verb doctor_verb(Caller& caller) {
  auto command = std::make_unique<Command>("doctor",
                                           "check what is installed on this machine and "
                                           "what works");
  auto output = std::make_shared<OutputOptions>();
  auto trace = std::make_shared<std::string>();
  command->text("--trace", "FILE", *trace,
                "check this trace instead (JSON or gzipped JSON): will Perfetto accept all of it?");
  add_output_options(*command, *output);
  command->about(
      "Checks this program, its libraries and data, the machine, optional tools and permissions. "
      "It changes nothing. The exit code is 4 if something that every verb needs is broken. With "
      "--trace it checks a trace by the rules of Perfetto's reader and reports what Perfetto "
      "would drop (exit code 2).");
  command->example("nereus doctor", "a table");
  command->example("nereus doctor --format json", "JSON for scripts");
  command->example("nereus doctor --trace step.json.gz", "check a trace");
  command->run = [&caller, output, trace] {
    if (!trace->empty()) {
      caller.answer(to_report(*trace, app::check_trace(*trace)), *output);
      return kDone;
    }
    const app::DoctorAnswer answer = app::doctor(worker_beside_this());
    caller.answer(to_report(answer), *output);
    return answer.healthy ? kDone : kBadEnvironment;
  };
  return command;
}

}  // namespace nereus::api
