#include "job/job.hpp"

#include <fmt/format.h>

#include <sstream>
#include <vector>

#include "base/error.hpp"
#include "base/write_file.hpp"
#include "job/fields.hpp"
#include "plan/plan_json.hpp"
#include "spec/quantity.hpp"
#include "spec/source.hpp"

namespace nereus::job {

namespace {

constexpr plan::Names<OptimizerKind, 2> kOptimizers = {
    {{OptimizerKind::kAdamW, "adamw"}, {OptimizerKind::kSgd, "sgd"}}};
constexpr plan::Names<RateSchedule, 3> kSchedules = {{{RateSchedule::kConstant, "constant"},
                                                      {RateSchedule::kLinear, "linear"},
                                                      {RateSchedule::kCosine, "cosine"}}};
constexpr plan::Names<NormScope, 2> kNorms = {
    {{NormScope::kGroup, "group"}, {NormScope::kSync, "sync"}}};
constexpr plan::Names<Data::Kind, 4> kDataKinds = {{{Data::Kind::kSynthetic, "synthetic"},
                                                    {Data::Kind::kTokens, "tokens"},
                                                    {Data::Kind::kImages, "images"},
                                                    {Data::Kind::kTensors, "tensors"}}};

template <class V, class T>
void visit_training(V& v, T& t) {
  v.whole("steps", t.steps, 1);
  v.whole("seed", t.seed);
  v.name("optimizer", t.optimizer, kOptimizers);
  v.real("rate", t.rate, 0, 1e9);
  v.real("last_rate", t.last_rate, 0, 1e9);
  v.name("rate_schedule", t.rate_schedule, kSchedules);
  v.whole("warmup_steps", t.warmup_steps);
  v.whole("decay_steps", t.decay_steps);
  v.real("beta1", t.beta1, 0, 1);
  v.real("beta2", t.beta2, 0, 1);
  v.real("epsilon", t.epsilon, 0, 1e9);
  v.real("momentum", t.momentum, 0, 1);
  v.real("weight_decay", t.weight_decay, 0, 1e9);
  v.real("clip", t.clip, 0, 1e18);
  v.real("dropout", t.dropout, 0, 1);
  v.name("norm", t.norm, kNorms);
  v.whole("norm_group", t.norm_group);
}

template <class V, class T>
void visit_data(V& v, T& d) {
  v.name("kind", d.kind, kDataKinds);
  v.text("path", d.path);
  v.truth("shuffle", d.shuffle);
  v.whole("workers", d.workers, 1);
  v.whole("prefetch", d.prefetch);
  v.truth("pinned", d.pinned);
}

template <class V, class T>
void visit_checkpoint(V& v, T& c) {
  v.text("folder", c.folder);
  v.whole("every", c.every);
  v.whole("keep", c.keep, 1);
  v.text("resume", c.resume);
}

template <class V, class T>
void visit_machine(V& v, T& m) {
  v.word("device", m.device, kDevices);
  v.word("comm", m.comm, kComms);
  v.whole("threads", m.threads, 1);
  v.truth("pin", m.pin);
  v.real("timeout_s", m.timeout_s, 0, 1e9);
  v.truth("graphs", m.graphs);
  v.truth("deterministic", m.deterministic);
  v.text("memory_limits", m.memory_limits);
}

template <class V, class T>
void visit_output(V& v, T& o) {
  v.text("timeline", o.timeline);
  v.whole("timeline_steps", o.timeline_steps, 1);
  v.text("gradients", o.gradients);
}

template <class V, class T>
void visit_measuring(V& v, T& m) {
  v.real("seconds", m.seconds, 0, 1e9);
  v.whole("rounds", m.rounds, 2);
  v.whole("most_rounds", m.most_rounds, 2);
}

template <class V, class T>
void visit_sharing(V& v, T& s) {
  v.text("gates", s.gates);
  v.whole("num_gates", s.num_gates, 1);
  v.truth("waits", s.waits);
  v.real("gap_s", s.gap_s, 0, 1e3);
}

// Every part of a job but its plan. `part(key, visitor)` is called for each.
template <class JobT, class Part>
void each_part(JobT& job, const Part& part) {
  part("training", [&](auto& v) { visit_training(v, job.training); });
  part("data", [&](auto& v) { visit_data(v, job.data); });
  part("checkpoint", [&](auto& v) { visit_checkpoint(v, job.checkpoint); });
  part("machine", [&](auto& v) { visit_machine(v, job.machine); });
  part("output", [&](auto& v) { visit_output(v, job.output); });
  part("measuring", [&](auto& v) { visit_measuring(v, job.measuring); });
  part("sharing", [&](auto& v) { visit_sharing(v, job.sharing); });
}

// A file of another version is not read with this one's rules.
void require_version(spec::Reader& r) {
  const int version = r.required_int("schema_version", 1);
  if (!r.has("schema_version") || version == kJobSchemaVersion) return;
  r.fail("schema_version", "job.schema-version",
         fmt::format("this job has schema_version {}, and this program reads version {}", version,
                     kJobSchemaVersion),
         "nereus and nereus-worker must be of one build");
}

}  // namespace

std::string_view to_string(OptimizerKind kind) { return plan::name_of(kOptimizers, kind); }
std::string_view to_string(RateSchedule schedule) { return plan::name_of(kSchedules, schedule); }
std::string_view to_string(NormScope norm) { return plan::name_of(kNorms, norm); }
std::string_view to_string(Data::Kind kind) { return plan::name_of(kDataKinds, kind); }

std::string gate_file(const Sharing& sharing, int local_rank) {
  if (sharing.gates.empty()) return {};
  return fmt::format("{}/gate-{}", sharing.gates, local_rank % sharing.num_gates);
}

double memory_limit(const Machine& machine, int rank, int num_ranks) {
  if (machine.memory_limits.empty()) return 0;
  std::vector<double> limits;
  std::istringstream words(machine.memory_limits + ",");  // so that an empty last one is seen
  for (std::string word; std::getline(words, word, ',');) {
    const spec::Parsed<Bytes> size = spec::parse_bytes(word);
    if (!size.value || !(size.value->value > 0))
      throw_input_error("train.memory-limit",
                        fmt::format("'{}' is not a memory size{}{}", word,
                                    size.reason.empty() ? "" : ": ", size.reason),
                        {}, "--memory-limit 40GiB,10GiB");
    limits.push_back(size.value->value);
  }
  if (limits.size() == 1) return limits.front();
  if (limits.size() != static_cast<std::size_t>(num_ranks))
    throw_input_error("train.memory-limit",
                      fmt::format("{} sizes for {} {}", limits.size(), num_ranks,
                                  num_ranks == 1 ? "rank" : "ranks"),
                      {}, "one per rank, or one for all");
  return limits[static_cast<std::size_t>(rank)];
}

std::string job_to_json(const Job& job) {
  std::string text = fmt::format("{{\"schema_version\": {},\n\"build\": {}", kJobSchemaVersion,
                                 spec::to_json({.data = job.build}));
  each_part(job, [&](const char* key, const auto& visit) {
    PutFields put;
    visit(put);
    text += fmt::format(",\n\"{}\": {}", key, spec::to_json(put.take()));
  });
  std::string plan = plan::plan_to_json(job.plan);
  while (!plan.empty() && plan.back() == '\n') plan.pop_back();
  return text + ",\n\"plan\": " + plan + "}\n";
}

Job parse_job(std::string_view text, const std::string& file) {
  const spec::Value root = spec::parse_json(text, file);
  ErrorList errors;
  spec::Reader r(root, errors, spec::Units::kRawSi);
  require_version(r);
  errors.throw_if_any();

  Job job;
  job.build = r.required_string("build");
  each_part(job, [&](const char* key, const auto& visit) {
    spec::Reader part = r.optional_table(key);
    TakeFields take(part);
    visit(take);
    take.finish();
  });
  if (const spec::Value* plan = r.raw("plan"))
    job.plan = plan::plan_from_value(*plan, errors);
  else
    r.fail("plan", "spec.missing-key", "the key \"plan\" is missing");
  r.finish();
  errors.throw_if_any();
  return job;
}

Job load_job(const std::string& path) {
  Job job = parse_job(spec::read_text_file(path), path);
  std::vector<Error> errors = plan::check_plan(job.plan);
  for (Error& error : errors) error.where.file = path;
  if (!errors.empty()) throw Errors(std::move(errors));
  return job;
}

void save_job(const std::string& path, const Job& job) { write_file(path, job_to_json(job)); }

}  // namespace nereus::job
