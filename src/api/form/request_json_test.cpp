#include "api/form/request_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "api/verbs/quantity_option.hpp"
#include "api/verbs/verbs.hpp"

namespace nereus::api::request_json_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Fields {
  Fields() : command("try", "for tests") {
    command.argument("KIND", kind, "what to list", {"models", "nodes"});
    command.optional_arguments("RUNS.csv", runs, "tables");
    command.whole("--micro-batch", micro_batch, 1, "samples");
    command.number("--rate", rate, "a number");
    command.flag("--fast", fast, "quick");
    command.toggle("--shuffle", shuffle, "on or off");
    command.text("-m,--model", "NAME", model, "which");
    command.list(
        "--tp", [this](const std::string& given, ErrorList&) { tp = given; }, "degrees");
    command.pairs(
        "--set", "PATH=VALUE",
        [this](const std::string& given, ErrorList&) { sets.push_back(given); }, "override");
    add_quantity<Seconds>(
        command, "--deadline", "TIME", 1, [this](double v) { deadline = v; }, "until");
    command.text("-o,--output", "FILE", file, "where to");
    command.of_words();
    command.rest("COMMAND", words, "what to run");
  }

  std::vector<std::string> refusals(const Json& request) {
    std::vector<std::string> codes;
    try {
      fill(command, request);
    } catch (const Errors& errors) {
      for (const Error& error : errors.list())
        codes.push_back(error.where.file + ": " + error.code);
      text = errors.what();
    }
    return codes;
  }

  Command command;
  std::string kind, model, tp, file, text;
  std::vector<std::string> runs, sets, words;
  std::optional<int> micro_batch;
  std::optional<double> rate;
  std::optional<bool> shuffle;
  bool fast = false;
  double deadline = 0;
};
struct RequestJson : ::testing::Test, Fields {};

const Json kWhole = {{"kind", "models"},
                     {"runs", {"a.csv", "b.csv"}},
                     {"micro_batch", 4},
                     {"rate", 0.1},
                     {"fast", true},
                     {"shuffle", false},
                     {"model", "gpt2"},
                     {"tp", {1, 2, 4}},
                     {"set", {{"model.layers", 4}, {"model.name", "x y"}}},
                     {"deadline", 3600},
                     {"command", {"torchrun", "train.py"}}};

TEST_F(RequestJson, FillsEveryKindOfField) {
  fill(command, kWhole);
  EXPECT_EQ(kind, "models");
  EXPECT_THAT(runs, ElementsAre("a.csv", "b.csv"));
  EXPECT_EQ(micro_batch, 4);
  EXPECT_EQ(rate, 0.1);
  EXPECT_TRUE(fast);
  EXPECT_EQ(shuffle, false);
  EXPECT_EQ(model, "gpt2");
  EXPECT_EQ(tp, "1,2,4");
  EXPECT_THAT(sets, ElementsAre("model.layers=4", "model.name=x y"));
  EXPECT_EQ(deadline, 3600);
  EXPECT_THAT(words, ElementsAre("torchrun", "train.py"));
}

TEST_F(RequestJson, TextServesForListsPairsAndQuantities) {
  fill(command, {{"kind", "nodes"}, {"tp", "2..8*2"}, {"set", "a.b=1"}, {"deadline", "2h"}});
  EXPECT_EQ(tp, "2..8*2");
  EXPECT_THAT(sets, ElementsAre("a.b=1"));
  EXPECT_EQ(deadline, 7200);
}

TEST_F(RequestJson, NullAndFalseAreAsIfNotGiven) {
  fill(command, {{"kind", "nodes"}, {"fast", false}, {"model", nullptr}});
  EXPECT_FALSE(fast);
  EXPECT_EQ(request_json(command), (Json{{"kind", "nodes"}}));
}

// What was given as JSON comes out as JSON that means the same.
TEST_F(RequestJson, ComesOutAsItWentIn) {
  fill(command, kWhole);
  const Json out = request_json(command);
  Fields other;
  fill(other.command, out);
  EXPECT_EQ(request_json(other.command), out);
  EXPECT_EQ(other.sets, sets);
  EXPECT_EQ(other.deadline, deadline);
  EXPECT_EQ(out["rate"], 0.1);
  EXPECT_EQ(out["shuffle"], false);
  EXPECT_EQ(out["command"], kWhole["command"]);
}

TEST_F(RequestJson, SaysAllThatIsWrongAtOnce) {
  EXPECT_THAT(refusals({{"micro_batch", "4"},
                        {"rate", true},
                        {"fast", 1},
                        {"model", {"a", "b"}},
                        {"deadline", 0},
                        {"micro_bach", 2},
                        {"output", "x"}}),
              ElementsAre("micro_batch: api.bad-value", "rate: api.bad-value",
                          "fast: api.bad-value", "model: api.bad-value", "deadline: cli.bad-value",
                          "micro_bach: api.unknown-field", "output: api.unknown-field",
                          "kind: api.missing-field"));
  EXPECT_THAT(text, HasSubstr("did you mean micro_batch?"));
  EXPECT_THAT(refusals(Json::array()), ElementsAre(": api.bad-request"));
  EXPECT_THAT(refusals({{"kind", "nodes"}, {"micro_batch", 0}}),
              ElementsAre("micro_batch: cli.bad-value"));
  EXPECT_THAT(refusals({{"kind", "node"}, {"command", "ls"}}),
              ElementsAre("kind: cli.bad-value", "command: api.bad-value"));
}

TEST_F(RequestJson, SchemaHasEveryFieldButThoseOfACommandLine) {
  const Json schema = request_schema(command);
  for (const auto& [name, value] : kWhole.items())
    EXPECT_TRUE(schema["properties"].contains(name)) << name;
  EXPECT_FALSE(schema["properties"].contains("output"));
  EXPECT_EQ(schema["properties"].size(), kWhole.size());
  EXPECT_EQ(schema["required"], Json{"kind"});
  EXPECT_EQ(schema["properties"]["kind"]["enum"], (Json{"models", "nodes"}));
  EXPECT_EQ(schema["properties"]["micro_batch"]["minimum"], 1);
}

TEST(Verbs, NoFieldHasTheNameOfAnother) {
  Nobody nobody;
  for (const VerbMaker& verb : all_verbs()) {
    const Verb command = verb.build(nobody);
    EXPECT_EQ(command->name(), verb.name);
    std::set<std::string> keys;
    if (command->rest_target() != nullptr) keys.insert("command");
    for (const Option& option : command->options()) {
      if (!option.of_words) {
        EXPECT_TRUE(keys.insert(option.key()).second) << verb.name << ": " << option.key();
      }
    }
  }
}

}  // namespace
}  // namespace nereus::api::request_json_test
