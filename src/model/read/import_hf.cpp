#include "model/read/import_hf.hpp"

#include <fmt/format.h>

#include <map>

#include "base/nearest.hpp"
#include "model/shape_io.hpp"
#include "spec/reader.hpp"

namespace nereus::model {

namespace {

// Reads numbers of a config; each key may have an older name. JSON null counts as absent.
struct Config {
  const spec::Value& value;
  spec::Reader reader;

  int number(const char* key, int fallback) { return reader.optional_int(key, fallback, 0); }
  int number(const char* key, const char* older, int fallback) {
    return reader.has(key) ? number(key, fallback) : number(older, fallback);
  }
  bool flag(const char* key, bool fallback) { return reader.optional_bool(key, fallback); }
  // For keys where null means "none", unlike an absent key.
  int number_or_none(const char* key, int fallback) {
    const spec::Value* member = value.find(key);
    return member != nullptr && member->is_null() ? 0 : number(key, fallback);
  }
};

using Import = TransformerShape (*)(Config&);

TransformerShape family(const char* name) { return *family_defaults(name); }

// The keys that most types share, with the defaults of one.
struct Defaults {
  int vocab, hidden, ffn, layers, heads, kv_heads, positions;  // kv_heads 0: as many as heads
};

TransformerShape common(Config& c, const char* family_name, const Defaults& d) {
  TransformerShape s = family(family_name);
  s.vocab = c.number("vocab_size", d.vocab);
  s.hidden = c.number("hidden_size", d.hidden);
  s.ffn = c.number("intermediate_size", d.ffn);
  s.layers = c.number("num_hidden_layers", d.layers);
  s.heads = c.number("num_attention_heads", d.heads);
  s.kv_heads = c.number("num_key_value_heads", d.kv_heads);
  s.head_dim = c.number("head_dim", 0);
  s.seq = c.number("max_position_embeddings", d.positions);
  s.tied_embeddings = c.flag("tie_word_embeddings", s.tied_embeddings);
  s.bias = c.flag("attention_bias", s.bias);
  return s;
}

TransformerShape bert(Config& c) {
  TransformerShape s = common(c, "bert", {30522, 768, 3072, 12, 12, 0, 512});
  s.max_positions = s.seq;  // the table keeps its size when --seq is shorter
  s.causal = c.flag("is_decoder", false);
  return s;
}

TransformerShape deepseek_v3(Config& c) {
  TransformerShape s = common(c, "deepseek", {129280, 7168, 18432, 61, 128, 128, 4096});
  s.q_lora = c.number_or_none("q_lora_rank", 1536);
  s.kv_lora = c.number("kv_lora_rank", 512);
  s.rope_head_dim = c.number("qk_rope_head_dim", 64);
  s.value_head_dim = c.number("v_head_dim", 128);
  s.head_dim = c.number("qk_nope_head_dim", 128);
  s.experts = c.number("n_routed_experts", 256);
  s.top_k = c.number("num_experts_per_tok", 8);
  s.expert_ffn = c.number("moe_intermediate_size", 2048);
  s.shared_experts = c.number("n_shared_experts", 1);
  s.dense_layers = c.number("first_k_dense_replace", 3);
  return s;
}

TransformerShape gpt2(Config& c) {
  TransformerShape s = family("gpt");
  s.vocab = c.number("vocab_size", 50257);
  s.hidden = c.number("n_embd", "hidden_size", 768);
  s.layers = c.number("n_layer", "num_hidden_layers", 12);
  s.heads = c.number("n_head", "num_attention_heads", 12);
  s.ffn = c.number("n_inner", 0);
  s.seq = c.number("n_positions", "max_position_embeddings", 1024);
  s.max_positions = s.seq;
  s.tied_embeddings = c.flag("tie_word_embeddings", true);
  return s;
}

TransformerShape gpt_neox(Config& c) {
  return common(c, "gpt_neox", {50432, 6144, 24576, 44, 64, 0, 2048});
}

TransformerShape gpt_oss(Config& c) {
  TransformerShape s = common(c, "gpt_oss", {201088, 2880, 2880, 36, 64, 8, 131072});
  s.head_dim = c.number("head_dim", 64);
  s.experts = c.number("num_local_experts", "num_experts", 128);
  s.top_k = c.number("num_experts_per_tok", 4);
  s.expert_ffn = s.ffn;
  s.ffn = 0;
  s.window = c.number_or_none("sliding_window", 128);
  s.window_interval = 2;  // layer_types: by turns, the first has the window
  return s;
}

// Mamba-2, attention, experts and MLPs as hybrid_override_pattern says.
TransformerShape nemotron_h(Config& c) {
  TransformerShape s = common(c, "nemotron_h", {131072, 4096, 21504, 52, 32, 8, 4096});
  s.pattern = c.reader.optional_string("hybrid_override_pattern",
                                       "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-");
  s.ssm_heads = c.number("mamba_num_heads", 128);
  s.ssm_head_dim = c.number("mamba_head_dim", 64);
  s.ssm_state = c.number("ssm_state_size", 128);
  s.ssm_groups = c.number("n_groups", 8);
  s.ssm_window = c.number("conv_kernel", 4);
  if (s.pattern.find('E') == std::string::npos) return s;
  s.experts = c.number("n_routed_experts", 8);
  s.top_k = c.number("num_experts_per_tok", 2);
  s.expert_ffn = c.number("moe_intermediate_size", 7688);
  s.expert_latent = c.number("moe_latent_size", 0);
  s.shared_experts = c.number("n_shared_experts", 1);
  s.shared_expert_ffn = c.number("moe_shared_expert_intermediate_size", 7688);
  return s;
}

TransformerShape llama(Config& c) {
  TransformerShape s = common(c, "llama", {32000, 4096, 11008, 32, 32, 0, 2048});
  s.bias = s.bias || c.flag("mlp_bias", false);
  return s;
}

TransformerShape mistral(Config& c) {
  TransformerShape s = common(c, "mistral", {32000, 4096, 14336, 32, 32, 8, 131072});
  s.window = c.number_or_none("sliding_window", 4096);
  return s;
}

TransformerShape mixtral(Config& c) {
  TransformerShape s = common(c, "mixtral", {32000, 4096, 14336, 32, 32, 8, 131072});
  s.window = c.number("sliding_window", 0);
  s.experts = c.number("num_local_experts", "num_experts", 8);
  s.top_k = c.number("num_experts_per_tok", 2);
  s.expert_ffn = s.ffn;
  s.ffn = 0;
  return s;
}

TransformerShape mpt(Config& c) {
  TransformerShape s = family("mpt");
  s.vocab = c.number("vocab_size", 50368);
  s.hidden = c.number("d_model", "hidden_size", 2048);
  s.layers = c.number("n_layers", "num_hidden_layers", 24);
  s.heads = c.number("n_heads", "num_attention_heads", 16);
  const double wide = c.reader.optional_double("expansion_ratio", 4, 0, 1000) * s.hidden;
  s.ffn = wide < 1e9 ? static_cast<int>(wide) : s.hidden;  // too wide a model is refused later
  s.seq = c.number("max_seq_len", "max_position_embeddings", 2048);
  s.tied_embeddings = c.flag("tie_word_embeddings", true);
  s.bias = !c.flag("no_bias", true);
  spec::Reader attention = c.reader.optional_table("attn_config");
  if (!attention.optional_bool("alibi", true)) s.position = PositionKind::kLearned;
  s.qk_norm = attention.optional_bool("qk_ln", false);
  if (attention.optional_string("attn_type") == "multiquery_attention") s.kv_heads = 1;
  s.kv_heads = attention.optional_int("kv_n_heads", s.kv_heads, 0);
  return s;
}

TransformerShape opt(Config& c) {
  TransformerShape s = family("opt");
  s.vocab = c.number("vocab_size", 50272);
  s.hidden = c.number("hidden_size", "d_model", 768);
  s.layers = c.number("num_hidden_layers", 12);
  s.heads = c.number("num_attention_heads", 12);
  s.ffn = c.number("ffn_dim", 3072);
  s.seq = c.number("max_position_embeddings", 2048);
  s.max_positions = s.seq <= 1'000'000'000 ? s.seq + 2 : s.seq;  // its table starts at position 2
  s.bias = c.flag("enable_bias", true);
  s.tied_embeddings = c.flag("tie_word_embeddings", true);
  return s;
}

TransformerShape phi3(Config& c) {
  TransformerShape s = common(c, "phi3", {32064, 3072, 8192, 32, 32, 0, 4096});
  s.window = c.number("sliding_window", 0);
  return s;
}

TransformerShape qwen2(Config& c) {
  return common(c, "qwen2", {151936, 4096, 22016, 32, 32, 32, 32768});
}

TransformerShape qwen3(Config& c) {
  TransformerShape s = common(c, "qwen3", {151936, 4096, 22016, 32, 32, 32, 32768});
  s.head_dim = c.number("head_dim", 128);
  return s;
}

TransformerShape qwen3_moe(Config& c) {
  TransformerShape s = common(c, "qwen3", {151936, 2048, 6144, 24, 32, 4, 32768});
  s.experts = c.number("num_experts", "num_local_experts", 128);
  s.top_k = c.number("num_experts_per_tok", 8);
  s.expert_ffn = c.number("moe_intermediate_size", 768);
  s.ffn = 0;
  if (c.number("decoder_sparse_step", 1) != 1)
    c.reader.fail("decoder_sparse_step", "model.hf",
                  "experts in only some of the layers cannot be described",
                  "decoder_sparse_step = 1");
  return s;
}

const std::map<std::string, Import>& imports() {
  static const std::map<std::string, Import> kTable = {
      {"bert", bert},
      {"deepseek_v3", deepseek_v3},
      {"gpt2", gpt2},
      {"gpt_neox", gpt_neox},
      {"gpt_oss", gpt_oss},
      {"llama", llama},
      {"mistral", mistral},
      {"mixtral", mixtral},
      {"mpt", mpt},
      {"nemotron_h", nemotron_h},
      {"opt", opt},
      {"phi3", phi3},
      {"qwen2", qwen2},
      {"qwen3", qwen3},
      {"qwen3_moe", qwen3_moe},
  };
  return kTable;
}

// Later complaints point at the file, if not at the line.
void place(spec::Value& value, const spec::Value& like) {
  value.source = like.source;
  value.line = like.line;
  value.column = like.column;
  if (auto* table = std::get_if<spec::Table>(&value.data))
    for (auto& [key, member] : *table) place(member, like);
}

}  // namespace

std::vector<std::string> hf_model_types() {
  std::vector<std::string> names;
  for (const auto& [name, import] : imports()) names.push_back(name);
  return names;
}

spec::Value import_hf(const spec::Value& config) {
  ErrorList errors;
  Config c{config, spec::Reader(config, errors)};
  const std::string type = c.reader.required_string("model_type");
  const auto found = imports().find(type);
  if (found == imports().end() && errors.empty()) {
    const auto near = nearest(type, hf_model_types());
    c.reader.fail(
        "model_type", "model.hf-type",
        fmt::format("the Hugging Face model type \"{}\" is not known", type),
        fmt::format("{}known: {}", near ? fmt::format("did you mean \"{}\"? ", *near) : "",
                    fmt::join(hf_model_types(), ", ")));
  }
  errors.throw_if_any();
  TransformerShape shape = found->second(c);
  errors.throw_if_any();
  spec::Value value = write_shape(shape);
  place(value, config);
  return value;
}

}  // namespace nereus::model
