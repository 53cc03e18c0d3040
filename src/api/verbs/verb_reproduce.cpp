#include <fmt/format.h>

#include "api/form/exit_codes.hpp"
#include "api/form/json.hpp"
#include "api/verbs/verbs.hpp"
#include "base/error.hpp"
#include "base/format.hpp"
#include "reproduce/reproduce.hpp"

namespace nereus::api {

namespace {

struct ReproduceOptions {
  app::ReproduceRequest reproduce;
  std::vector<std::string> sets;
  std::optional<int> threads;
  OutputOptions output;
};

Cell number_cell(const std::optional<double>& value) {
  return value ? Cell(format_significant(*value)) : Cell();
}

Report claims_report(const app::ReproduceAnswer& answer) {
  Table table{.name = "claims"};
  table.columns = {{"name", "claim", Unit::kNone, false, true},
                   {"published", "published"},
                   {"ours", "ours"},
                   {"kind", "kind", Unit::kNone, false, false, 2},
                   {"note", "how", Unit::kNone, false, true},
                   {"command", "command", Unit::kNone, false, true, 3}};
  Json claims = Json::array();
  for (const app::Claim& own : answer.claims) {
    table.rows.push_back({own.name, number_cell(own.published), number_cell(own.ours),
                          std::string(to_string(own.kind)), own.note, own.command});
    Json json;
    json["name"] = own.name;
    json["published"] = own.published ? Json(*own.published) : Json(nullptr);
    json["ours"] = own.ours ? Json(*own.ours) : Json(nullptr);
    json["kind"] = to_string(own.kind);
    json["note"] = own.note;
    json["inputs"] = own.inputs;
    json["command"] = own.command;
    json["seconds"] = own.seconds;
    claims.push_back(std::move(json));
  }
  table.notes = answer.notes;
  Json json;
  json["system"] = answer.system;
  json["claims"] = std::move(claims);
  json["notes"] = answer.notes;
  json["complete"] = answer.complete;
  return {{std::move(table)}, json.dump()};
}

}  // namespace

Verb reproduce_verb(Caller& caller) {
  auto request = std::make_shared<ReproduceOptions>();
  auto command = std::make_unique<Command>("reproduce",
                                           "compare published results of other "
                                           "systems with ours");
  command->argument("SYSTEM", request->reproduce.system,
                    "comet, cephalo, varuna, deeppool, stash, sailor or amp",
                    app::reproducible_systems());
  command->texts("--set", "STUDY.PATH=VALUE", request->sets,
                 "change an input, such as all.workload.global_batch=512 or "
                 "expansion.cluster.base=...");
  command->whole("--threads", request->threads, 1,
                 "number of threads (default: all cores); does "
                 "not change the answer");
  add_output_options(*command, request->output);
  command->about(
      "Repeats published case studies and compares the published numbers with ours. Each number "
      "is shown with the command that gives it. comet: Transformer-1T on 1,024 devices with "
      "varying MP x DP, expanded memory, compute and bandwidth; DLRM; named clusters; then the "
      "same cases with every strategy. cephalo: its planner's problem on its own profiles, solved "
      "exactly, for the example in its repository, 19 more cases without communication and 33 "
      "with communication. varuna: the replay of Oobleck's artifact, public traces of spot "
      "machines under three policies, and the paper's claims. deeppool: plans by its rule compared "
      "with ours, on its released profiles of VGG-16 and wide ResNet-101-2; then our whole front "
      "on many ranks and the throughput of a cluster with background jobs, on these profiles and "
      "on that of Inception-v3, whose graph is not a chain. stash: stalls and costs of its "
      "networks on its p2 and p3 machines, published times of collectives, and stalls by number of "
      "layers and bytes. sailor: steps that its authors measured on mixed machines, compared with "
      "predictions from the layer times they measured. amp: its trials on mixed V100s and T4s, "
      "compared with predictions from data sheets.");
  command->example("nereus reproduce comet", "all of COMET's studies, in about half a minute");
  command->example("nereus reproduce comet --set all.workload.global_batch=4096 --format json",
                   "use a larger batch");
  command->example(
      "nereus reproduce cephalo --set all.case=gpt-2_7b-fp16-4gpus --set all.limit=0.9",
      "one case, with a larger share of the memory");
  command->example("nereus reproduce varuna --set all.part=replay --set all.model=GPT-3-6.7B",
                   "the replay of one model, compared with ours");
  command->example("nereus reproduce deeppool --set all.part=throughput --set all.yield=0.5",
                   "background jobs that use half of a free rank's time");
  command->example("nereus reproduce stash --set all.part=network --set all.gradient_bytes=2",
                   "two machines compared with one, with 16-bit gradients");
  command->example("nereus reproduce sailor --set all.machines=turing",
                   "runs on mixed TITAN RTX and RTX 2080 Ti");
  command->run = [&caller, request] {
    app::ReproduceRequest wanted = request->reproduce;
    ErrorList errors;
    for (const std::string& text : request->sets) {
      const std::size_t equals = text.find('=');
      const std::size_t dot = text.find('.');
      if (equals == std::string::npos || dot == std::string::npos || dot > equals)
        errors.add("cli.bad-value", fmt::format("--set takes STUDY.PATH=VALUE, not '{}'", text), {},
                   "--set all.workload.global_batch=512");
      else
        wanted.overrides.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
    errors.throw_if_any();
    wanted.threads = request->threads.value_or(0);
    wanted.stop = caller.stop();
    const app::ReproduceAnswer answer = app::reproduce(wanted, caller.progress());
    caller.answer(claims_report(answer), request->output);
    return answer.complete ? kDone : kStoppedEarly;
  };
  return command;
}

}  // namespace nereus::api
