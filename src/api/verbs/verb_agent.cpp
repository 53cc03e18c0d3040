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
  auto command = std::make_unique<Command>("agent", "join an elastic job as one of its machines");
  command->text("--join", "HOST:PORT", request->agent.join, "address of the job's coordinator");
  command->text("--token", "FILE", request->agent.token, "the job's token: DIR/token");
  command->text("--name", "NAME", request->agent.name,
                "name that identifies this agent (default: host and process number)");
  command->text("--notice-from", "CLOUD[=HOST:PORT]", request->agent.notice_from,
                "azure, aws or gcp: poll its metadata service for notices that this machine will "
                "be taken away");
  command->number("--give-up", request->give_up,
                  "exit after this many seconds without a "
                  "coordinator (default: 600)");
  command->text("--worker", "FILE", request->agent.worker,
                "the program that runs a rank (default: nereus-worker in the folder of nereus)");
  command->about(
      "Joins a job that `nereus train --elastic` coordinates. An agent may join at any time. It "
      "runs one rank, which may change when the job changes its plan. On SIGTERM, SIGUSR1 or the "
      "cloud's notice, it hands over its state before it leaves. If the coordinator is lost, the "
      "agent reconnects to it while training continues.");
  command->example("nereus agent --join 10.0.0.1:29400 --token job/token", "join a job");
  command->example("nereus agent --join 10.0.0.1:29400 --token job/token --notice-from azure",
                   "join from a spot machine of Azure");
  command->run = [&caller, request] {
    ErrorList errors;
    if (request->agent.join.empty())
      errors.add("cli.missing-option", "--join is missing", {}, "--join HOST:PORT");
    if (request->agent.token.empty())
      errors.add("cli.missing-option", "--token is missing", {}, "--token DIR/token");
    if (request->give_up && !(*request->give_up > 0))
      errors.add("cli.bad-value",
                 fmt::format("--give-up must be above 0, not {}", *request->give_up));
    errors.throw_if_any();
    if (request->agent.worker.empty()) request->agent.worker = worker_beside_this();
    request->agent.give_up_s = request->give_up.value_or(600);
    return app::run_agent(request->agent,
                          [&caller](const std::string& line) { caller.say(line + "\n"); });
  };
  return command;
}

}  // namespace nereus::api
