#include <fmt/format.h>

#include "api/form/exit_codes.hpp"
#include "api/verbs/launched_rank.hpp"
#include "api/verbs/verbs.hpp"
#include "app/train/train_elastic.hpp"
#include "base/error.hpp"

namespace nereus::api {

Verb agent_verb(Caller& caller) {
  struct Request {
    app::AgentRequest agent;
    std::optional<double> give_up;
  };
  auto request = std::make_shared<Request>();
  auto command = std::make_unique<Command>("agent", "a machine of an elastic job");
  command->text("--join", "HOST:PORT", request->agent.join, "where its coordinator listens");
  command->text("--token", "FILE", request->agent.token, "the job's token: DIR/token");
  command->text("--name", "NAME", request->agent.name,
                "tells agents apart (host and process number)");
  command->text("--notice-from", "CLOUD[=HOST:PORT]", request->agent.notice_from,
                "azure, aws or gcp: ask its metadata service whether this machine is to go");
  command->number("--give-up", request->give_up, "seconds without a coordinator (600)");
  command->text("--worker", "FILE", request->agent.worker,
                "the program that runs a rank (nereus-worker beside this one)");
  command->about(
      "Joins a job that `nereus train --elastic` coordinates, at any time, and runs one rank of it "
      "after another as the job changes its plan. SIGTERM, SIGUSR1 or the cloud's notice hand its "
      "state over first; a coordinator that is gone is called again while training goes on.");
  command->example("nereus agent --join 10.0.0.1:29400 --token job/token", "at any time");
  command->example("nereus agent --join 10.0.0.1:29400 --token job/token --notice-from azure",
                   "on a spot machine of Azure");
  command->run = [&caller, request] {
    ErrorList errors;
    if (request->agent.join.empty())
      errors.add("cli.missing-option", "--join is not given", {}, "--join HOST:PORT");
    if (request->agent.token.empty())
      errors.add("cli.missing-option", "--token is not given", {}, "--token DIR/token");
    if (request->give_up && !(*request->give_up > 0))
      errors.add("cli.bad-value", fmt::format("--give-up {} is not above 0", *request->give_up));
    errors.throw_if_any();
    if (request->agent.worker.empty()) request->agent.worker = worker_beside_this();
    request->agent.give_up_s = request->give_up.value_or(600);
    return app::run_agent(request->agent,
                          [&caller](const std::string& line) { caller.say(line + "\n"); });
  };
  return command;
}

}  // namespace nereus::api
