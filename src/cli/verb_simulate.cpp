#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/simulate.hpp"
#include "cli/cli.hpp"
#include "cli/collective_report.hpp"
#include "cli/prediction_report.hpp"
#include "cli/verbs.hpp"
#include "timeline/text_drawing.hpp"

namespace nereus::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kPicosecond = 1e-12;

double span(const app::SimulateAnswer& answer) {
  return std::max(1e-12, static_cast<double>(answer.step.played.end) * kPicosecond);
}

Table ranks_table(const app::SimulateAnswer& answer, const Terminal& out) {
  Table table{.name = "ranks",
              .title = "Every pipeline rank",
              .columns = {{"rank", "rank"},
                          {"busy", "busy", Unit::kShare},
                          {"idle", "idle", Unit::kShare},
                          {"peak", "held at most"},
                          {"drawing", "when", Unit::kNone, false, false}}};
  const int width = std::clamp((out.width > 0 ? out.width : 100) - 40, 20, 100);
  const std::vector<std::string> drawings = timeline::text_drawing(answer.timeline, width);
  for (std::size_t rank = 0; rank < answer.step.played.ranks.size(); ++rank) {
    const simulate::PlayedRank& own = answer.step.played.ranks[rank];
    const double busy = static_cast<double>(own.busy) * kPicosecond / span(answer);
    table.rows.push_back({rank, busy, 1 - busy, own.peak, drawings[rank]});
  }
  table.notes.emplace_back(
      "when: digits forward, letters backward, dots weight gradients; held: micro-batches of a "
      "virtual stage");
  return table;
}

Table summary_table(const app::SimulateAnswer& answer) {
  const simulate::SimulatedStep& step = answer.step;
  Table table = prediction_summary(answer.predicted);
  const auto insert = [&](std::size_t at, Column column, Cell cell) {
    table.columns.insert(table.columns.begin() + static_cast<std::ptrdiff_t>(at),
                         std::move(column));
    table.rows[0].insert(table.rows[0].begin() + static_cast<std::ptrdiff_t>(at), std::move(cell));
  };
  insert(0, {"simulated_s", "simulated step", Unit::kSeconds}, step.step);
  insert(1, {"bubble_s", "bubble", Unit::kSeconds},
         static_cast<double>(step.played.bubble()) * kPicosecond);
  table.notes.push_back(fmt::format("{} events in {:.2g} s, for {} of all ranks", step.events,
                                    answer.seconds, step.events_represented));
  return table;
}

std::string json_of(const app::SimulateAnswer& answer) {
  const simulate::SimulatedStep& step = answer.step;
  Json json;
  json["step_s"] = step.step;
  json["predicted_s"] = answer.predicted.prediction.step;
  json["fits"] = answer.predicted.prediction.fits;
  json["events"] = step.events;
  json["events_represented"] = step.events_represented;
  json["seconds"] = answer.seconds;
  json["bubble"] = static_cast<double>(step.played.bubble()) * kPicosecond;
  json["ranks"] = Json::array();
  for (const simulate::PlayedRank& own : step.played.ranks) {
    const double busy = static_cast<double>(own.busy) * kPicosecond / span(answer);
    json["ranks"].push_back({{"busy", busy}, {"idle", 1 - busy}, {"peak_micro_batches", own.peak}});
  }
  json["prediction"] = Json::parse(prediction_json(answer.predicted));
  return json.dump(2);
}

}  // namespace

Verb simulate_verb(const Session& session) {
  struct Request {
    app::SimulateRequest simulate;
    app::SimulateCollectiveRequest collective;
    OutputOptions output;
  };
  auto request = std::make_shared<Request>();
  auto command = std::make_unique<Command>("simulate", "one step of a plan, played pass by pass");
  add_prediction_options(*command, request->simulate.predict);
  add_collective_options(*command, request->collective);
  add_output_options(*command, request->output);
  command->text("--trace", "FILE.json", request->simulate.trace_file,
                "write a Chrome trace, for Perfetto");
  command->text("--svg", "FILE", request->simulate.svg_file, "write a picture of the pipeline");
  command->about(
      "Takes what predict takes and plays the order of the pipeline's passes: when each rank "
      "computes and when it waits. One replica stands for all. Uneven plans, contention and jitter "
      "are not simulated yet.");
  command->example("nereus simulate --model llama3-8b --cluster 2xdgx-h100 --pp 4 --schedule zb-h1",
                   "a zero-bubble schedule");
  command->example("nereus simulate best.plan --svg step.svg --trace step.json",
                   "a plan file, as a picture and for Perfetto");
  command->example("nereus simulate --collective all-reduce --bytes 64MiB --cluster 16xdgx-h100",
                   "one collective, every algorithm");
  command->run = [&session, request] {
    if (const auto report = network_simulation(request->simulate.predict, request->collective,
                                               request->output.format)) {
      emit(*report, request->output, session);
      return kDone;
    }
    const app::SimulateAnswer answer = app::simulate_plan(request->simulate);
    Report report{.tables = {summary_table(answer), ranks_table(answer, session.out)},
                  .json = json_of(answer)};
    if (request->output.format == Format::kCsv) report.tables = {ranks_table(answer, session.out)};
    emit(report, request->output, session);
    return kDone;
  };
  return command;
}

}  // namespace nereus::cli
