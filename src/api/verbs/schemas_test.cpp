#include "api/verbs/schemas.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/verbs/verbs.hpp"
#include "base/embedded.hpp"

namespace nereus::api::schemas_test {
namespace {

using Json = nlohmann::json;

TEST(Schemas, EveryVerbButAgentHasBoth) {
  for (const std::string& verb : verb_names()) {
    for (const std::string& kind : schema_kinds()) {
      const auto text = schema_text(verb, kind);
      ASSERT_EQ(text.has_value(), verb != "agent" || kind == "request") << verb << " " << kind;
      if (!text) continue;
      EXPECT_EQ(text->back(), '\n');
      EXPECT_EQ(Json::parse(*text)["title"], verb + " " + kind);
    }
  }
}

TEST(Schemas, EveryFileIsOfAVerb) {
  int num_files = 0;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.path.starts_with("schema/")) continue;
    ++num_files;
    const std::string_view name = file.path.substr(7, file.path.size() - 12);
    Nobody nobody;
    EXPECT_NE(make_verb(name, nobody), nullptr) << file.path;
  }
  EXPECT_EQ(num_files, static_cast<int>(verb_names().size()) - 1);
}

TEST(Schemas, NothingOfWhatThereIsNot) {
  EXPECT_FALSE(schema_text("predikt", "answer"));
  EXPECT_FALSE(schema_text("predikt", "request"));
  EXPECT_FALSE(schema_text("predict", "reply"));
}

}  // namespace
}  // namespace nereus::api::schemas_test
