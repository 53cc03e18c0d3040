#include <fmt/format.h>

#include <filesystem>

#include "api/form/exit_codes.hpp"
#include "api/reports/explore_page.hpp"
#include "api/reports/explore_pictures.hpp"
#include "api/reports/explore_report.hpp"
#include "api/verbs/open_ranks.hpp"
#include "api/verbs/verbs.hpp"
#include "app/explore/explore.hpp"
#include "app/explore/explore_files.hpp"
#include "base/build_info.hpp"
#include "base/error.hpp"
#include "base/write_file.hpp"

namespace nereus::api {

namespace {

struct ExploreOptions {
  app::ExploreRequest explore;
  std::vector<std::string> sets;
  std::optional<int> threads;
  std::string html_file;
  std::string csv_file;
  std::string svg_folder;
  std::string plan_file;
  OutputOptions output;
};

app::ExploreRequest finished(const ExploreOptions& request, Caller& caller) {
  app::ExploreRequest wanted = request.explore;
  ErrorList errors;
  for (const std::string& text : request.sets) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos)
      errors.add("cli.bad-value", "--set takes PATH=VALUE, not '" + text + "'", {},
                 "--set study.axes.nodes='[8, 16]'");
    else
      wanted.overrides.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  if (wanted.in_memory && !wanted.database.empty())
    errors.add("cli.contradiction", "--db names a file for results, but --no-db keeps none", {},
               "one of the two");
  errors.throw_if_any();
  wanted.threads = request.threads.value_or(0);
  wanted.slices = !request.html_file.empty() || !request.svg_folder.empty();
  wanted.stop = caller.stop();
  return wanted;
}

// A rank other than 0 computes and is silent: rank 0 has all to say, its errors too.
int follow(const app::ExploreRequest& request, spread::Ranks& ranks) {
  try {
    (void)app::explore(request, ranks);
  } catch (const spread::Dismissed&) {
  }
  return ranks.finish(kDone);
}

}  // namespace

Verb explore_verb(Caller& caller) {
  auto request = std::make_shared<ExploreOptions>();
  auto command = std::make_unique<Command>(
      "explore", "find which cluster to build or rent, and how to train on it");
  command->argument("STUDY", request->explore.study,
                    "a study file, or the name of a built-in "
                    "study such as comet-expansion");
  command->texts("--set", "PATH=VALUE", request->sets,
                 "override a field of the study, such as study.axes.nodes='[8, 16]'");
  command->text("--db", "FILE", request->explore.database,
                "database for the results (default: STUDY.sqlite); an interrupted run resumes "
                "from it");
  command->flag("--no-db", request->explore.in_memory, "keep results in memory only");
  command->flag("--restart", request->explore.restart,
                "discard results of another study in the database");
  command->flag("--yes", request->explore.yes, "run the study however large it is");
  command->whole("--threads", request->threads, 1,
                 "number of threads (default: all cores); does "
                 "not change the answer");
  command->text("--html", "FILE", request->html_file, "write a report with pictures as one page");
  command->text("--svg", "FOLDER", request->svg_folder, "write each picture to its own file");
  command->text("--csv", "FILE", request->csv_file,
                "write one row per model and cluster, with its best plan");
  command->text("--plan", "FILE", request->plan_file,
                "write the best plan, as input for the "
                "other verbs");
  add_output_options(*command, request->output);
  command->about(
      "Finds the best plan for every cluster of the study by exact search. It then shows the "
      "Pareto front, the gain from a little more of each resource, the price up to which that "
      "pays off, and where each cluster's time goes. Results are stored in a SQLite file as they "
      "are found. The search uses all cores, and many machines under mpirun, with the same "
      "result.");
  command->example("nereus explore study.toml --html report.html",
                   "print tables and write a "
                   "report with pictures");
  command->example("nereus explore study.toml --set study.strategy.space=mp-dp",
                   "search only tensor and data parallelism, as COMET does");
  command->example("mpirun --map-by ppr:1:node --bind-to none nereus explore study.toml",
                   "run on many machines");
  command->run = [&caller, request] {
    const app::ExploreRequest wanted = finished(*request, caller);
    const auto ranks = spread::open_ranks(
        detect_launch(), {.build = build_id(), .say = [&caller](const std::string& line) {
                            caller.say(fmt::format("nereus: {}\n", line));
                          }});
    if (!ranks->leads()) return follow(wanted, *ranks);
    const app::ExploreAnswer answer = app::explore(wanted, *ranks, caller.progress());
    if (!request->html_file.empty()) write_file(request->html_file, explore_page(answer));
    if (!request->svg_folder.empty()) {
      std::error_code wrong;
      std::filesystem::create_directories(request->svg_folder, wrong);
      for (const StudyPicture& own : explore_pictures(answer))
        write_file((std::filesystem::path(request->svg_folder) / (own.name + ".svg")).string(),
                   own.svg);
    }
    if (!request->csv_file.empty()) app::write_study_csv(request->csv_file, answer);
    if (!request->plan_file.empty() && !answer.best.empty())
      app::write_best_plan(request->plan_file, answer);
    caller.answer(explore_report(answer), request->output);
    const int code = !answer.complete      ? kStoppedEarly
                     : answer.best.empty() ? kNothingFeasible
                                           : kDone;
    return ranks->finish(code);
  };
  return command;
}

}  // namespace nereus::api
