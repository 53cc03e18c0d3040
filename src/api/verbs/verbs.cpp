#include "api/verbs/verbs.hpp"

namespace nereus::api {

const std::vector<VerbMaker>& all_verbs() {
  static const std::vector<VerbMaker> kVerbs = {
      {"plan", plan_verb},         {"predict", predict_verb},     {"simulate", simulate_verb},
      {"explore", explore_verb},   {"recommend", recommend_verb}, {"measure", measure_verb},
      {"train", train_verb},       {"agent", agent_verb},         {"data", data_verb},
      {"explain", explain_verb},   {"export", export_verb},       {"import", import_verb},
      {"validate", validate_verb}, {"calibrate", calibrate_verb}, {"reproduce", reproduce_verb},
      {"catalog", catalog_verb},   {"doctor", doctor_verb},       {"schema", schema_verb},
      {"version", version_verb}};
  return kVerbs;
}

Verb make_verb(std::string_view name, Caller& caller) {
  for (const VerbMaker& verb : all_verbs())
    if (verb.name == name) return verb.build(caller);
  return nullptr;
}

std::vector<std::string> verb_names() {
  std::vector<std::string> names;
  for (const VerbMaker& verb : all_verbs()) names.emplace_back(verb.name);
  return names;
}

}  // namespace nereus::api
