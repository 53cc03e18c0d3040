// Plans a model on a cluster and says the best layouts: plan_a_model llama3-8b 4xdgx-h100
#include <cstdio>
#include <nereus/nereus.hpp>
#include <nlohmann/json.hpp>

using Json = nlohmann::json;

int main(int argc, char** argv) {
  const Json request = {{"model", argc > 1 ? argv[1] : "llama3-8b"},
                        {"cluster", argc > 2 ? argv[2] : "4xdgx-h100"},
                        {"top", 3}};
  nereus::Watch watch;
  watch.progress = [](const std::string& what, double done, double total, const std::string&) {
    std::fprintf(stderr, "%.0f of %.0f %s\n", done, total, what.c_str());
  };
  const nereus::Result result = nereus::call("plan", request.dump(), watch);
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.error.c_str());
    return result.exit_code;
  }
  const Json answer = Json::parse(result.answer);
  for (const Json& plan : answer["plans"]) {
    const Json& degrees = plan["degrees"];
    std::printf("tp %d, pp %d, dp %d: %.3f s, MFU %.1f %%\n", degrees["tp"].get<int>(),
                degrees["pp"].get<int>(), degrees["dp"].get<int>(), plan["step_s"].get<double>(),
                100 * plan["model_flops_utilization"].get<double>());
  }
  return 0;
}
