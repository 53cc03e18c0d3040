#include "app/train_elastic.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <thread>

#include "app/elastic_plans.hpp"
#include "app/plan.hpp"
#include "app/train_checks.hpp"
#include "app/train_setup.hpp"
#include "app/train_steps.hpp"
#include "base/build_info.hpp"
#include "base/format.hpp"
#include "cluster/this_machine.hpp"
#include "launch/child.hpp"
#include "launch/elastic/agent.hpp"
#include "launch/elastic/coordinator.hpp"
#include "launch/elastic/job_state.hpp"
#include "model/cnn_recipe.hpp"
#include "spec/reader.hpp"
#include "spec/source.hpp"

namespace nereus::app {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kUsualEvery = 20;  // steps between checkpoints where nobody says

// Steps in the order they were first done, on disk and in the answer.
class StepLog {
 public:
  StepLog(const std::string& folder, const std::string& metrics_file, const TrainWatch& watch,
          TrainAnswer& answer)
      : watch_(watch), answer_(answer) {
    const std::string file = folder + "/steps.jsonl";
    // Whole lines alone: a kill may have cut the last one.
    std::error_code error;
    if (fs::exists(file)) fs::resize_file(file, read(file), error);
    log_.open(file, std::ios::app);
    if (!log_ || error)
      throw_environment_error("elastic.folder", fmt::format("{} cannot be written", file));
    if (metrics_file.empty()) return;
    metrics_.open(metrics_file, answer_.steps.empty() ? std::ios::trunc : std::ios::app);
    if (!metrics_)
      throw_environment_error("train.metrics", fmt::format("{} cannot be written", metrics_file));
  }

  void take(const job::Message& message, bool clips) {
    if (!answer_.steps.empty() && message.step <= answer_.steps.back().step) {
      // Another rank's, or done again after a checkpoint was read.
      TrainStep& last = answer_.steps.back();
      if (message.step == last.step) last.seconds = std::max(last.seconds, message.seconds);
      return;
    }
    TrainStep step;
    step.step = message.step;
    step.loss = message.loss;
    if (clips) step.gradient_norm = message.gradient_norm;
    step.rate = message.rate;
    step.seconds = message.seconds;
    step.tokens = message.tokens;
    step.memory_bytes = message.memory_bytes;
    step.waits = message.waits;
    const std::string line = metrics_line(step, answer_.counts_tokens);
    log_ << line << std::endl;
    if (metrics_.is_open()) metrics_ << line << std::endl;
    answer_.steps.push_back(step);
    if (watch_.step) watch_.step(step);
  }

 private:
  // Returns the bytes of the lines that are whole.
  std::uintmax_t read(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    std::uintmax_t bytes = 0;
    for (std::string line; std::getline(in, line) && !in.eof();) {
      try {
        const spec::Value root = spec::parse_json(line, file);
        ErrorList errors;
        spec::Reader r(root, errors, spec::Units::kRawSi);
        TrainStep step;
        step.step = r.required_int64("step", 0);
        step.loss = r.required_double("loss");
        step.rate = r.required_double("rate");
        step.seconds = r.required_double("step_s");
        const char* rate = answer_.counts_tokens ? "tokens_per_s" : "samples_per_s";
        step.tokens = static_cast<std::int64_t>(r.required_double(rate) * step.seconds + 0.5);
        step.memory_bytes = r.required_double("memory_bytes");
        const spec::Value* norm = r.raw("gradient_norm");  // null without --clip
        if (norm != nullptr && std::holds_alternative<double>(norm->data))
          step.gradient_norm = std::get<double>(norm->data);
        errors.throw_if_any();
        if (answer_.steps.empty() || step.step > answer_.steps.back().step)
          answer_.steps.push_back(step);
      } catch (const Errors&) {
        break;  // of a process that was killed
      }
      bytes += line.size() + 1;
    }
    return bytes;
  }

  const TrainWatch& watch_;
  TrainAnswer& answer_;
  std::ofstream log_, metrics_;
};

// Agents on this machine, and what they print. They end with this process.
class LocalAgents {
 public:
  explicit LocalAgents(std::function<void(const std::string&)> say) : say_(std::move(say)) {}
  ~LocalAgents() {
    ending_ = true;
    if (thread_.joinable()) thread_.join();
    for (const launch::Child& child : children_) {
      for (int i = 0; i < 100 && waitpid(child.pid, nullptr, WNOHANG) == 0; ++i) usleep(20'000);
      kill(-child.pid, SIGKILL);
      waitpid(child.pid, nullptr, 0);
      close(child.text_fd);
    }
  }
  LocalAgents(const LocalAgents&) = delete;
  LocalAgents& operator=(const LocalAgents&) = delete;

  void start(const TrainRequest& request, const ElasticRequest& elastic,
             const launch::Address& coordinator) {
    const std::string host = coordinator.host == "0.0.0.0" ? "127.0.0.1" : coordinator.host;
    for (int i = 0; i < elastic.agents; ++i)
      children_.push_back(launch::start_child(
          {.arguments = {elastic.program, "agent", "--join",
                         fmt::format("{}:{}", host, coordinator.port), "--token",
                         elastic.folder + "/token", "--name", fmt::format("local-{}", i),
                         "--worker", request.worker}}));
    thread_ = std::thread([this] { read(); });
  }

 private:
  void read() {
    std::vector<std::string> texts(children_.size());
    while (!ending_) {
      std::vector<pollfd> list;
      for (const launch::Child& child : children_) list.push_back({child.text_fd, POLLIN, 0});
      poll(list.data(), list.size(), 100);
      bool any = false;
      for (std::size_t i = 0; i < children_.size(); ++i) {
        any |= launch::read_available(children_[i].text_fd, texts[i]);
        for (std::size_t end; (end = texts[i].find('\n')) != std::string::npos;
             texts[i].erase(0, end + 1))
          say_(fmt::format("local-{}: {}", i, texts[i].substr(0, end)));
      }
      if (!any) usleep(100'000);  // all have ended
    }
  }

  std::function<void(const std::string&)> say_;
  std::vector<launch::Child> children_;
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

std::string shape_text(const ElasticPlan& plan) {
  if (!plan.resolved.degrees) return fmt::format("{} ranks", plan.num_ranks);
  const plan::Degrees& d = *plan.resolved.degrees;
  std::string text = fmt::format("pp {} dp {}", d.pp, d.dp);
  if (d.tp > 1) text += fmt::format(" tp {}", d.tp);
  return text;
}

void check_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || access(folder.c_str(), W_OK) != 0)
    throw_input_error("elastic.folder", fmt::format("--job {} cannot be written to", folder),
                      {folder}, "a folder that every machine sees");
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

// The request as train() would take it: gloo, checkpoints in the job's folder.
TrainRequest completed(TrainRequest request, const ElasticRequest& elastic) {
  if (request.machine.comm.empty()) request.machine.comm = "gloo";
  if (request.machine.comm != "gloo")
    throw_input_error("elastic.comm",
                      fmt::format("--comm {}: ranks of an elastic job are freed from a lost one "
                                  "by gloo alone",
                                  request.machine.comm),
                      {}, "--comm gloo");
  if (request.launched)
    throw_input_error("elastic.launcher",
                      "an elastic job starts its own ranks, and " + request.launched->launcher +
                          " started this one",
                      {}, "nereus agent on each machine");
  const DegreesRequest& d = request.plan.degrees;
  if (d.pp || d.dp || d.tp.value_or(1) > 1 || d.cp.value_or(1) > 1)
    throw_input_error("elastic.degrees",
                      "stages and replicas follow the machines that are there, and each computes "
                      "whole layers",
                      {}, "leave --pp, --dp, --tp and --cp out; --shapes 4x2,3x2 allows only some");
  if (!request.timeline_file.empty() || !request.record_file.empty() || request.compare)
    throw_input_error("elastic.output",
                      "--timeline, --record and --compare are of one plan, and this job has many",
                      {}, "leave them out; steps.jsonl of --job has every step");
  if (request.checkpoint.folder.empty())
    request.checkpoint.folder = elastic.folder + "/checkpoints";
  if (request.checkpoint.every == 0) request.checkpoint.every = kUsualEvery;
  if (request.machine.threads == 0)
    request.machine.threads = std::max(1, usable_cores() / std::max(1, elastic.agents));
  return request;
}

// A folder goes on with the job it was begun with.
void check_same_job(const std::string& folder, const job::Job& job) {
  const std::optional<launch::JobState> before = launch::load_state(folder);
  if (!before || before->job.empty()) return;
  const job::Job other = job::parse_job(before->job, folder + "/coordinator.json");
  const auto refuse = [&](const std::string& what) {
    throw_input_error("elastic.other-job",
                      fmt::format("--job {} is of another job: {}", folder, what), {folder},
                      "another folder, or the options that it was begun with");
  };
  if (!(other.plan.model == job.plan.model))
    refuse(fmt::format("its model is {} of {} layers, {} parameters, {:g} tokens a sample",
                       other.plan.model.name, other.plan.model.num_layers(),
                       format_count(static_cast<std::int64_t>(other.plan.model.parameters())),
                       other.plan.model.tokens_per_sample));
  if (other.plan.placement.global_batch != job.plan.placement.global_batch)
    refuse(fmt::format("its global batch is {}", other.plan.placement.global_batch));
  if (other.training.seed != job.training.seed)
    refuse(fmt::format("its seed is {}", other.training.seed));
  if (other.training.optimizer != job.training.optimizer)
    refuse(fmt::format("its optimizer is {}", job::to_string(other.training.optimizer)));
  if (other.plan.placement.precision != job.plan.placement.precision)
    refuse(fmt::format("its precision is {}", to_string(other.plan.placement.precision)));
  job::Training same = job.training;
  same.steps = other.training.steps;
  if (!(other.training == same))
    refuse("its rate, its schedule, its optimizer's numbers, dropout or norm");
}

bool has_batch_norm(const model::Model& model) {
  if (!model.cnn) return false;
  const std::vector<model::CnnLayer> layers = model::cnn_recipe(*model.cnn);
  return std::any_of(layers.begin(), layers.end(),
                     [](const model::CnnLayer& layer) { return !layer.norm.empty(); });
}

TrainEvent to_event(const launch::ElasticEvent& e) {
  TrainEvent event{e.kind, e.step - 1, e.rank, e.text};
  if (e.kind != "morph" && e.kind != "started") return event;
  event.step = e.step;
  event.morph = Morph{e.generation,  e.num_ranks, e.own_bytes, e.peer_bytes,
                      e.saved_bytes, e.seconds,   e.lost_steps};
  return event;
}

}  // namespace

std::vector<Shape> parse_shapes(const std::string& text) {
  std::vector<Shape> shapes;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string one = text.substr(at, end - at);
    Shape shape{0, 0};
    const char* last = one.data() + one.size();
    const auto [middle, first_error] = std::from_chars(one.data(), last, shape.pp);
    if (first_error == std::errc() && middle != last && *middle == 'x') {
      const auto [stop, second_error] = std::from_chars(middle + 1, last, shape.dp);
      if (second_error != std::errc() || stop != last) shape.dp = 0;
    }
    if (shape.pp < 1 || shape.dp < 1)
      throw_input_error("elastic.shapes", fmt::format("--shapes: \"{}\" is no shape", one), {},
                        "stages x replicas: --shapes 4x2,3x2,2x3");
    shapes.push_back(shape);
    at = end + 1;
  }
  return shapes;
}

TrainAnswer train_elastic(const TrainRequest& given, const ElasticRequest& elastic,
                          const TrainWatch& watch) {
  check_folder(elastic.folder);
  const launch::JobLock lock(elastic.folder);
  const TrainRequest request = completed(given, elastic);
  ElasticPlans plans(request, elastic.shapes);
  const int first = elastic.machines > 0 ? elastic.machines : std::max(1, elastic.agents);
  const std::optional<ElasticPlan> start = plans.best(first);
  if (!start) {
    if (plans.reason()) throw Errors(*plans.reason());
    throw_input_error("elastic.no-plan", fmt::format("no plan fits on {} machines", first), {},
                      "--machines with more, or other --shapes");
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
  const job::Training& t = request.training;
  if (has_batch_norm(setup.resolved.model) &&
      (t.norm_group == 0 || t.norm == job::NormScope::kSync))
    throw_input_error("elastic.norm",
                      "without --norm-group BatchNorm normalises over micro-batches, which change "
                      "with the machines, and so would the losses",
                      {}, "--norm-group 1, or what divides every micro-batch");

  TrainAnswer answer;
  answer.plan = start->resolved;
  answer.num_ranks = start->num_ranks;
  answer.library = setup.worker.library;
  answer.counts_tokens = setup.resolved.model.tokens_per_sample > 0;
  answer.nominal = cluster::is_nominal(setup.resolved.cluster);
  StepLog log(elastic.folder, request.metrics_file, watch, answer);

  launch::CoordinatorOptions options;
  options.folder = elastic.folder;
  options.token = launch::job_token(elastic.folder);
  options.build = build_id();
  options.steps = request.training.steps;
  options.first_members = first;
  options.dead_after_s = elastic.dead_after_s;
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
    answer.num_ranks = plan->num_ranks;
    answer.plan = plan->resolved;
    return planned;
  };
  hooks.step = [&](const job::Message& message) { log.take(message, request.training.clip > 0); };
  hooks.event = [&](const launch::ElasticEvent& event) {
    answer.events.push_back(to_event(event));
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
    errors.add("train.no-worker", "the program that runs a rank is not built", {request.worker},
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
