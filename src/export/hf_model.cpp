#include "export/hf_model.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/format.hpp"
#include "export/hf_keys.hpp"
#include "model/read/load_model.hpp"

namespace nereus::exporting {

namespace {

using Json = nlohmann::ordered_json;
using model::NormKind;
using model::PositionKind;
using model::TransformerShape;

[[noreturn]] void cannot_say(const model::Model& model) {
  throw_input_error("export.cannot-express",
                    fmt::format("there is no Hugging Face type for the layers of {} (family {})",
                                model.name, model.family),
                    {}, "families: gpt, llama, bert, and all convolutional ones");
}

// Tokens that end a text belong to the tokenizer. GPT-2's tokens are the defaults of its type, and
// are wrong for another vocabulary.
void special_tokens(Json& json, const TransformerShape& s) {
  if (json["model_type"] == "gpt2" && s.vocab == 50257) {
    json["bos_token_id"] = 50256;
    json["eos_token_id"] = 50256;
  } else {
    json["bos_token_id"] = nullptr;
    json["eos_token_id"] = nullptr;
  }
}

Json gpt2(const TransformerShape& s) {
  Json json{{"architectures", {"GPT2LMHeadModel"}}, {"model_type", "gpt2"}};
  add_gpt2_keys(json, s);
  json["activation_function"] = "gelu_new";
  json["layer_norm_epsilon"] = 1e-5;
  for (const char* dropout : {"attn_pdrop", "embd_pdrop", "resid_pdrop"}) json[dropout] = 0.0;
  return json;
}

Json llama(const TransformerShape& s) {
  Json json{{"architectures", {"LlamaForCausalLM"}}, {"model_type", "llama"}};
  add_common_keys(json, s);
  json["intermediate_size"] = s.ffn;
  json["head_dim"] = s.head_dim;
  json["hidden_act"] = "silu";
  json["rms_norm_eps"] = 1e-5;
  json["rope_theta"] = 10000.0;
  json["attention_bias"] = false;
  json["mlp_bias"] = false;
  json["attention_dropout"] = 0.0;
  return json;
}

Json bert(const TransformerShape& s) {
  Json json{{"architectures", {"BertForMaskedLM"}}, {"model_type", "bert"}};
  add_common_keys(json, s);
  json["max_position_embeddings"] = s.max_positions;
  json["intermediate_size"] = s.ffn;
  json["type_vocab_size"] = 2;
  json["hidden_act"] = "gelu";
  json["layer_norm_eps"] = 1e-12;
  json["position_embedding_type"] = "absolute";
  json["pad_token_id"] = 0;
  for (const char* dropout : {"hidden_dropout_prob", "attention_probs_dropout_prob"})
    json[dropout] = 0.0;
  return json;
}

// The type and what its checkpoints do not hold twice.
Json transformer_config(const model::Model& model, HfModel& result) {
  const TransformerShape& s = *model.transformer;
  // The rest of what these types cannot say shows when the text is read back.
  if (s.experts > 0 || !s.pattern.empty()) cannot_say(model);
  if (s.family == "bert") {
    if (s.tied_embeddings)
      result.left_out = {"cls.predictions.decoder.weight", "cls.predictions.decoder.bias"};
    return bert(s);
  }
  if (s.tied_embeddings) result.left_out = {"lm_head.weight"};
  if (s.causal && s.position == PositionKind::kLearned && s.norm == NormKind::kLayerNorm &&
      s.bias && !s.gated_mlp)
    return gpt2(s);
  if (s.causal && s.position == PositionKind::kRotary && s.norm == NormKind::kRmsNorm && !s.bias &&
      s.gated_mlp)
    return llama(s);
  cannot_say(model);
}

// Reads the text as anybody would, and compares all that a shape says but its names.
void check_comes_back(const model::Model& model, const std::string& config) {
  const model::Model read = model::load_model_text(
      config, "config.json", {{"seq", std::to_string(model.transformer->seq)}});
  TransformerShape expected = *model.transformer;
  if (!read.transformer) cannot_say(model);
  expected.name = read.transformer->name;
  expected.family = read.transformer->family;
  // A rotary model has no table of positions, so its length means nothing.
  if (expected.position != PositionKind::kLearned)
    expected.max_positions = read.transformer->max_positions;
  if (!(expected == *read.transformer)) cannot_say(model);
}

// The function of torchvision.models that makes it.
std::string torchvision_name(const model::CnnShape& shape) {
  if (shape.family == "inception") return fmt::format("inception_v{}", shape.depth);
  if (shape.family == "vgg")
    return fmt::format("vgg{}{}", shape.depth, shape.batch_norm ? "_bn" : "");
  if (shape.family == "alexnet") return "alexnet";
  if (shape.family == "squeezenet") return "squeezenet1_0";
  if (shape.family == "mobilenet") return "mobilenet_v2";
  if (shape.family == "shufflenet") return "shufflenet_v2_x0_5";
  if (shape.width > 1) return fmt::format("wide_resnet{}_{}", shape.depth, shape.width);
  return fmt::format("resnet{}", shape.depth);
}

// Depths, widths and channels that none of its functions makes.
bool is_torchvisions(const model::CnnShape& shape) {
  if (shape.family != "resnet") return shape.channels == model::kResnetChannels;
  const bool wide = shape.width == 2 && (shape.depth == 50 || shape.depth == 101);
  return shape.channels == model::kResnetChannels && shape.depth >= 18 && shape.batch_norm &&
         (shape.width == 1 || wide);
}

Json torchvision_config(const model::CnnShape& shape) {
  if (!is_torchvisions(shape))
    throw_input_error(
        "export.cannot-express",
        fmt::format("torchvision has no {} of depth {}, width {} and {}{}", shape.family,
                    shape.depth, shape.width, counted(shape.channels, "channel"),
                    shape.batch_norm ? "" : " without batch norm"),
        {},
        shape.family == "resnet"
            ? fmt::format(
                  "depth 18, 34, 50, 101 or 152 (50 and 101 also with width 2), {} channels",
                  model::kResnetChannels)
            : fmt::format("{} channels", model::kResnetChannels));
  Json json{{"library", "torchvision"}, {"model", torchvision_name(shape)}};
  json["num_classes"] = shape.classes;
  if (shape.family == "inception") json["aux_logits"] = shape.aux_head;
  json["image_size"] = shape.image;
  return json;
}

}  // namespace

HfModel hf_model(const model::Model& model, std::string_view torch_dtype) {
  HfModel result;
  if (!model.transformer && !model.cnn && !model.script) cannot_say(model);
  Json json =
      model.script
          ? Json{{"library", "nereus_export"}, {"model", model.name}, {"id", model.script->id}}
      : model.cnn ? torchvision_config(*model.cnn)
                  : transformer_config(model, result);
  if (model.transformer) special_tokens(json, *model.transformer);
  json["torch_dtype"] = torch_dtype;
  result.config = json.dump(2) + "\n";
  if (model.transformer) check_comes_back(model, result.config);
  return result;
}

}  // namespace nereus::exporting
