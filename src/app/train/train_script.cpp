#include "app/train/train_script.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.hpp"
#include "base/format.hpp"
#include "checkpoint/safetensors.hpp"
#include "data/token_file.hpp"
#include "model/script_model.hpp"

namespace nereus::app {

namespace {

using checkpoint::DType;
using checkpoint::StoredTensor;

void check_tensor(const checkpoint::SafetensorsFile& file, const char* name,
                  const model::ScriptValue& expected, const std::string& path, ErrorList& errors) {
  const StoredTensor* found = file.find(name);
  if (found == nullptr) {
    errors.add("train.data-shape", fmt::format("the file has no tensor called {}", name), {path},
               "nereus_export.tensors(path, inputs, targets) writes both");
    return;
  }
  const bool integer = found->dtype == DType::kI64;
  const bool real = found->dtype == DType::kF32 || found->dtype == DType::kF64;
  const std::vector<std::int64_t> shape =
      found->shape.empty()
          ? std::vector<std::int64_t>{}
          : std::vector<std::int64_t>(found->shape.begin() + 1, found->shape.end());
  if (found->shape.empty() || found->shape.front() < 1 || shape != expected.shape ||
      !(expected.integer ? integer : real))
    errors.add("train.data-shape",
               fmt::format("{} are {} {}, but the model takes [samples, {}] of {}", name,
                           to_string(found->dtype), found->shape, fmt::join(expected.shape, ", "),
                           expected.integer ? "I64" : "F32 or F64"),
               {path}, "export the model with an example of the same kind");
}

void check_tensors(const std::string& path, const model::ScriptModel& script) {
  const checkpoint::SafetensorsFile file(path);
  ErrorList errors;
  check_tensor(file, "inputs", script.input, path, errors);
  check_tensor(file, "targets", script.target, path, errors);
  const StoredTensor* inputs = file.find("inputs");
  const StoredTensor* targets = file.find("targets");
  if (errors.empty() && inputs->shape.front() != targets->shape.front())
    errors.add("train.data-shape",
               fmt::format("{} and {}", counted(inputs->shape.front(), "input"),
                           counted(targets->shape.front(), "target")),
               {path}, "one target for each input");
  errors.throw_if_any();
}

}  // namespace

void check_script_data(const job::Data& data, const model::Model& model, bool thoroughly) {
  const model::ScriptModel script = model::open_script(*model.script);
  if (data.kind == job::Data::Kind::kTensors) return check_tensors(data.path, script);
  const bool tokens = script.reads_tokens() && script.input.vocabulary > 0;
  if (!tokens || data.kind == job::Data::Kind::kImages)
    throw_input_error(
        "train.data-kind",
        fmt::format("{} is trained on {}", model.name,
                    tokens ? "tokens: a token file, tensors, or synthetic" : "its own tensors"),
        {data.path}, "--data FILE.safetensors, written by nereus_export.tensors");
  if (data.kind != job::Data::Kind::kTokens) return;
  const data::TokenFile file = data::TokenFile::open(data.path);
  if (thoroughly) data::check_tokens(file, script.input.vocabulary, script.input.shape.front());
}

}  // namespace nereus::app
