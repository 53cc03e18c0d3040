#include "job/job.hpp"

#include <fmt/format.h>

#include <sstream>
#include <vector>

#include "base/error.hpp"
#include "base/format.hpp"
#include "base/write_file.hpp"
#include "plan/names.hpp"
#include "plan/plan_json.hpp"
#include "spec/fields.hpp"
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

}  // namespace

template <class V>
void visit_fields(V& v, spec::Like<Training> auto& t) {
  v.always("steps", t.steps, 1);
  v.always("seed", t.seed);
  v.always("optimizer", t.optimizer);
  v.always("rate", t.rate, 0, 1e9);
  v.always("last_rate", t.last_rate, 0, 1e9);
  v.always("rate_schedule", t.rate_schedule);
  v.always("warmup_steps", t.warmup_steps);
  v.always("decay_steps", t.decay_steps);
  v.always("beta1", t.beta1, 0, 1);
  v.always("beta2", t.beta2, 0, 1);
  v.always("epsilon", t.epsilon, 0, 1e9);
  v.always("momentum", t.momentum, 0, 1);
  v.always("weight_decay", t.weight_decay, 0, 1e9);
  v.always("clip", t.clip, 0, 1e18);
  v.always("dropout", t.dropout, 0, 1);
  v.always("norm", t.norm);
  v.always("norm_group", t.norm_group);
}

template <class V>
void visit_fields(V& v, spec::Like<Data> auto& d) {
  v.always("kind", d.kind);
  v.always("path", d.path);
  v.always("shuffle", d.shuffle);
  v.always("workers", d.workers, 1);
  v.always("prefetch", d.prefetch);
  v.always("pinned", d.pinned);
}

template <class V>
void visit_fields(V& v, spec::Like<Checkpoint> auto& c) {
  v.always("folder", c.folder);
  v.always("every", c.every);
  v.always("keep", c.keep, 1);
  v.always("resume", c.resume);
}

template <class V>
void visit_fields(V& v, spec::Like<Machine> auto& m) {
  v.always("device", m.device, kDevices);
  v.always("comm", m.comm, kComms);
  v.always("threads", m.threads, 1);
  v.always("pin", m.pin);
  v.always("timeout_s", m.timeout_s, 0, 1e9);
  v.always("graphs", m.graphs);
  v.always("deterministic", m.deterministic);
  v.always("memory_limits", m.memory_limits);
}

template <class V>
void visit_fields(V& v, spec::Like<Output> auto& o) {
  v.always("timeline", o.timeline);
  v.always("timeline_steps", o.timeline_steps, 1);
  v.always("gradients", o.gradients);
}

template <class V>
void visit_fields(V& v, spec::Like<Measuring> auto& m) {
  v.always("seconds", m.seconds, 0, 1e9);
  v.always("rounds", m.rounds, 2);
  v.always("most_rounds", m.most_rounds, 2);
}

template <class V>
void visit_fields(V& v, spec::Like<Sharing> auto& s) {
  v.always("gates", s.gates);
  v.always("num_gates", s.num_gates, 1);
  v.always("waits", s.waits);
  v.always("gap_s", s.gap_s, 0, 1e3);
}

// All of a job but its plan.
template <class V>
void visit_fields(V& v, spec::Like<Job> auto& job) {
  v.needed("build", job.build);
  v.always("training", job.training);
  v.always("data", job.data);
  v.always("checkpoint", job.checkpoint);
  v.always("machine", job.machine);
  v.always("output", job.output);
  v.always("measuring", job.measuring);
  v.always("sharing", job.sharing);
}

namespace {

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
    throw_input_error(
        "train.memory-limit",
        fmt::format("{} for {}", counted(limits.size(), "size"), counted(num_ranks, "rank")), {},
        "one per rank, or one for all");
  return limits[rank];
}

std::string job_to_json(const Job& job) {
  std::string text = fmt::format("{{\"schema_version\": {}", kJobSchemaVersion);
  spec::PutFields put;
  visit_fields(put, job);
  for (const auto& [key, value] : put.table)
    text += fmt::format(",\n\"{}\": {}", key, spec::to_json(value));
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
  spec::TakeFields take(r);
  visit_fields(take, job);
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
