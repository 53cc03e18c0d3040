#include "model/script_model.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "base/error.hpp"
#include "model/graph.hpp"
#include "spec/reader.hpp"
#include "spec/source.hpp"

namespace nereus::model {

namespace {

namespace fs = std::filesystem;

constexpr double kMost = 1e18;
constexpr const char* kFile = "model.json";

std::vector<std::int64_t> read_shape(spec::Reader& reader, const char* key) {
  std::vector<std::int64_t> shape;
  for (const int length : reader.optional_ints(key, 0)) shape.push_back(length);
  return shape;
}

double elements_of(const std::vector<std::int64_t>& shape) {
  double elements = 1;
  for (const std::int64_t length : shape) elements *= static_cast<double>(length);
  return elements;
}

ScriptValue read_value(spec::Reader reader) {
  ScriptValue value;
  value.shape = read_shape(reader, "shape");
  value.integer = reader.optional_bool("integer", false);
  value.vocabulary = reader.optional_int64("vocabulary", 0, 0);
  reader.finish();
  return value;
}

ScriptLayer read_layer(spec::Reader& reader, const std::map<std::string, int>& known) {
  ScriptLayer layer;
  layer.name = reader.required_string("name");
  for (const std::string& input : reader.optional_strings("inputs")) {
    const auto at = known.find(input);
    if (at == known.end())
      reader.fail("inputs", "model.graph",
                  fmt::format("{} reads {}, which is no layer before it", layer.name, input));
    else
      layer.inputs.push_back(at->second);
  }
  if (layer.inputs.empty() != known.empty())
    reader.fail("inputs", "model.graph", "the first layer and no other reads the sample");
  for (spec::Reader& parameter : reader.optional_tables("parameters")) {
    ScriptParameter p{parameter.required_string("name"), read_shape(parameter, "shape")};
    parameter.finish();
    layer.parameters.push_back(std::move(p));
  }
  layer.output = read_shape(reader, "output");
  for (spec::Reader& product : reader.optional_tables("products")) {
    layer.products.push_back({product.required_double("rows", 0, kMost),
                              product.required_double("n", 1, kMost),
                              product.required_double("k", 1, kMost)});
    product.finish();
  }
  layer.read_elements = reader.optional_double("read_elements", 0, 0, kMost);
  layer.written_elements = reader.optional_double("written_elements", 0, 0, kMost);
  layer.kernels = reader.optional_int("kernels", 0, 0);
  layer.saved_elements = reader.optional_double("saved_elements", 0, 0, kMost);
  layer.saved_bytes = reader.optional_double("saved_bytes", 0, 0, kMost);
  reader.skip("made");
  reader.skip("sha256");
  reader.finish();
  return layer;
}

// A layer's operators: its products, and one for all the rest. Its weights go with the first.
std::vector<Operator> operators_of(const ScriptLayer& layer) {
  std::vector<Operator> list;
  for (const ScriptProduct& product : layer.products) {
    Operator op;
    op.name = fmt::format("product_{}", list.size() + 1);
    op.kind = OpKind::kGemm;
    op.rows = product.rows;
    op.n = product.n;
    op.k = product.k;
    op.flops = 2 * product.rows * product.n * product.k;
    op.read_elements = product.rows * product.k;
    op.written_elements = product.rows * product.n;
    list.push_back(std::move(op));
  }
  Operator rest;
  rest.name = "elementwise";
  rest.kind = OpKind::kElementwise;
  rest.rows = 1;
  rest.n = layer.written_elements;
  rest.flops = rest.read_elements = layer.read_elements;
  rest.written_elements = layer.written_elements;
  rest.kernels = layer.kernels;
  if (layer.kernels > 0 || list.empty()) list.push_back(std::move(rest));
  for (const ScriptParameter& p : layer.parameters) list.front().parameters += elements_of(p.shape);
  list.front().saved_elements = layer.saved_elements;
  list.front().saved_bytes = layer.saved_bytes;
  return list;
}

}  // namespace

bool ScriptModel::reads_tokens() const {
  return input.integer && target.integer && input.shape.size() == 1 && target.shape == input.shape;
}

bool is_script_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) && fs::exists(fs::path(path) / kFile, ignored);
}

ScriptModel script_from_value(const spec::Value& root, const std::string& folder) {
  ErrorList errors;
  spec::Reader reader(root, errors);
  ScriptModel script;
  reader.required_int("nereus_export", 1, 1);
  script.name = reader.required_string("name");
  script.folder = {fs::absolute(folder.empty() ? "." : folder).lexically_normal().string(),
                   reader.required_string("id")};
  script.input = read_value(reader.required_table("input"));
  script.target = read_value(reader.required_table("target"));
  reader.skip("torch");
  reader.skip("loss_sha256");
  std::map<std::string, int> known;
  std::vector<int> readers;
  for (spec::Reader& table : reader.required_tables("layers")) {
    script.layers.push_back(read_layer(table, known));
    ScriptLayer& layer = script.layers.back();
    if (!known.emplace(layer.name, static_cast<int>(known.size())).second)
      table.fail("name", "model.graph", fmt::format("two layers are called {}", layer.name));
    readers.push_back(0);
    for (const int input : layer.inputs) ++readers[input];
  }
  for (std::size_t i = 0; i + 1 < readers.size(); ++i)
    if (readers[i] == 0)
      reader.fail("layers", "model.graph",
                  fmt::format("nothing reads layer {}", script.layers[i].name));
  reader.finish();
  errors.throw_if_any();
  return script;
}

ScriptModel load_script(const std::string& folder) {
  const std::string file = (fs::path(folder) / kFile).string();
  return script_from_value(spec::parse_json(spec::read_text_file(file), file), folder);
}

ScriptModel open_script(const ScriptFolder& folder) {
  if (!is_script_folder(folder.path))
    throw_input_error("model.script-missing", "the plan's own model is not there any more",
                      {folder.path}, "put its folder back, or plan again with --model FOLDER");
  ScriptModel script = load_script(folder.path);
  if (script.folder.id != folder.id)
    throw_input_error("model.script-changed",
                      fmt::format("the plan is for the model {:.12}, and the folder holds {:.12}",
                                  folder.id, script.folder.id),
                      {folder.path}, "it was exported anew: plan again with --model FOLDER");
  return script;
}

Model build_script(const ScriptModel& script) {
  GraphBuilder graph;
  for (std::size_t i = 0; i < script.layers.size(); ++i) {
    const ScriptLayer& layer = script.layers[i];
    const bool last = i + 1 == script.layers.size();
    LayerKind kind;
    kind.name = layer.name;
    kind.role = last                       ? LayerRole::kHead
                : layer.parameters.empty() ? LayerRole::kOther
                                           : LayerRole::kBlock;
    kind.operators = operators_of(layer);
    if (layer.inputs.empty()) kind.input_elements = elements_of(script.input.shape);
    kind.output_elements = last ? 0 : elements_of(layer.output);
    // A value that is read twice is sent once.
    std::map<int, double> from;
    for (const int input : layer.inputs) from[input] = elements_of(script.layers[input].output);
    std::vector<GraphInput> inputs;
    for (const auto& [input, elements] : from) inputs.push_back({input, elements});
    graph.add(std::move(kind), inputs);
  }
  Model model = graph.finish();
  model.name = script.name;
  model.family = "script";
  model.tokens_per_sample =
      script.reads_tokens() ? static_cast<double>(script.input.shape.front()) : 0;
  model.script = script.folder;
  return model;
}

}  // namespace nereus::model
