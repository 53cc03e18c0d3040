#include "app/train/train_elastic.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "app/plan/plan_verb.hpp"
#include "app/train/elastic_checks.hpp"
#include "app/train/elastic_plans.hpp"
#include "app/train/local_agents.hpp"
#include "app/train/step_log.hpp"
#include "app/train/train_checks.hpp"
#include "app/train/train_setup.hpp"
#include "base/build_info.hpp"
#include "base/format.hpp"
#include "base/infeasible.hpp"
#include "checkpoint/checkpoint_reader.hpp"
#include "checkpoint/folder_lock.hpp"
#include "cluster/this_machine.hpp"
#include "launch/elastic/agent.hpp"
#include "launch/elastic/coordinator.hpp"
#include "launch/elastic/job_state.hpp"
#include "spec/source.hpp"

namespace nereus::app {

namespace {

TrainEvent to_event(const launch::ElasticEvent& e) {
  TrainEvent event{e.kind, e.step - 1, e.rank, e.text};
  if (e.kind != "morph" && e.kind != "started") return event;
  event.step = e.step;
  event.morph = Morph{e.generation,  e.num_ranks, e.own_bytes, e.peer_bytes,
                      e.saved_bytes, e.seconds,   e.lost_steps};
  return event;
}

}  // namespace

TrainAnswer train_elastic(const TrainRequest& given, const ElasticRequest& elastic,
                          const TrainWatch& watch) {
  check_agents(elastic);
  check_folder(elastic.folder);
  const launch::JobLock lock(elastic.folder);
  const TrainRequest request = completed(given, elastic);
  ElasticPlans plans(request, elastic.shapes);
  const int first = elastic.machines > 0 ? elastic.machines : std::max(1, elastic.agents);
  const std::optional<ElasticPlan> start = plans.best(first);
  if (!start) {
    if (plans.reason()) throw Errors(*plans.reason());
    throw_infeasible("elastic.no-plan",
                     fmt::format("no plan fits on {}", counted(first, "machine")),
                     "a larger --machines, or other --shapes");
  }
  TrainRequest with_shape = request;
  if (start->resolved.degrees) {
    with_shape.plan.degrees.pp = start->resolved.degrees->pp;
    with_shape.plan.degrees.dp = start->resolved.degrees->dp;
  }
  if (!with_shape.plan.cluster.cluster.empty()) {
    const std::string& c = with_shape.plan.cluster.cluster;
    with_shape.plan.cluster.cluster = fmt::format("{}{}", start->num_ranks, c.substr(c.find('x')));
  }
  const TrainSetup setup = set_up(with_shape);
  check_same_job(elastic.folder, setup.job);
  check_norm(setup.resolved.model, request.training);
  const checkpoint::FolderLock writes(request.checkpoint.folder);

  TrainAnswer answer;
  answer.plan = start->resolved;
  answer.num_ranks = start->num_ranks;
  answer.library = setup.worker.library;
  answer.counts_tokens = setup.resolved.model.tokens_per_sample > 0;
  answer.nominal = cluster::is_nominal(setup.resolved.cluster) && !setup.resolved.basis.layers;
  StepLog log(elastic.folder, request.metrics_file, watch, answer);

  launch::CoordinatorOptions options;
  options.folder = elastic.folder;
  options.token = launch::job_token(elastic.folder);
  options.build = build_id();
  options.steps = request.training.steps;
  if (!answer.steps.empty()) options.known = answer.steps.back().step + 1;
  options.first_members = first;
  options.dead_after_s = elastic.dead_after_s;
  options.probation_s = elastic.probation_s;
  options.paces_saves = request.checkpoint.every == 0;
  if (!elastic.listen.empty()) options.listen = launch::parse_address(elastic.listen, "--listen");
  const auto say = [&](const std::string& line) {
    if (watch.say) watch.say(line);
  };
  LocalAgents agents(say);
  launch::CoordinatorHooks hooks;
  hooks.say = say;
  hooks.listening = [&](const launch::Address& address) {
    say(fmt::format("agents: nereus agent --join {}:{} --token {}/token", address.host,
                    address.port, elastic.folder));
    if (elastic.agents > 0) agents.start(request, elastic, address);
  };
  hooks.plan = [&](int machines) -> std::optional<launch::PlannedJob> {
    const std::optional<ElasticPlan> plan = plans.best(machines);
    if (!plan) return std::nullopt;
    launch::PlannedJob planned;
    planned.job = setup.job;
    planned.job.plan = to_plan(plan->resolved);
    planned.num_ranks = plan->num_ranks;
    planned.step_s = plan->step_s;
    planned.text = shape_text(*plan);
    planned.machines = machines;
    return planned;
  };
  hooks.begins = [&](const launch::PlannedJob& planned) {
    answer.num_ranks = planned.num_ranks;
    answer.plan = plans.best(planned.machines)->resolved;
  };
  hooks.step = [&](const job::Message& message) { log.take(message, request.training.clip > 0); };
  hooks.event = [&](const launch::ElasticEvent& event) {
    answer.events.push_back(to_event(event));
  };
  hooks.is_saved = [&](std::int64_t steps_done) {
    return checkpoint::list_checkpoints(request.checkpoint.folder).contains(steps_done);
  };
  if (watch.begin)
    watch.begin({answer.plan.model.name, answer.num_ranks, answer.library, answer.counts_tokens});
  const launch::JobOutcome outcome = launch::run_coordinator(options, hooks);

  answer.exit_code = outcome.exit_code;
  if (outcome.failure) {
    Error error;
    error.code = outcome.failure->code;
    error.message = outcome.failure->message;
    error.hint = outcome.failure->hint;
    error.kind = outcome.failure->input_error ? ErrorKind::kInput : ErrorKind::kEnvironment;
    answer.failure = error;
  }
  answer.step_s = median_step(answer.steps);
  answer.waits = mean_waits(answer.steps);
  if (answer.step_s > 0)
    answer.rate = static_cast<double>(answer.steps.back().tokens) / answer.step_s;
  return answer;
}

int run_agent(const AgentRequest& request, const std::function<void(const std::string&)>& say) {
  ErrorList errors;
  launch::AgentOptions options;
  collect(errors, [&] { options.coordinator = launch::parse_address(request.join, "--join"); });
  collect(errors, [&] { options.token = spec::read_text_file(request.token); });
  while (!options.token.empty() && options.token.back() == '\n') options.token.pop_back();
  if (access(request.worker.c_str(), X_OK) != 0)
    errors.add("train.no-worker", "the program that runs a rank has not been built",
               {request.worker},
               "./nereus train builds it (needs libtorch); or cmake -DNEREUS_WORKER=ON");
  errors.throw_if_any();
  options.name = request.name;
  options.worker = request.worker;
  options.build = build_id();
  options.notice_from = request.notice_from;
  options.give_up_s = request.give_up_s;
  return launch::run_agent(options, say);
}

}  // namespace nereus::app
