#include "export/hf_keys.hpp"

#include <nlohmann/json.hpp>

namespace nereus::exporting {

void add_gpt2_keys(nlohmann::ordered_json& json, const model::TransformerShape& s) {
  json["vocab_size"] = s.vocab;
  json["n_embd"] = s.hidden;
  json["n_layer"] = s.layers;
  json["n_head"] = s.heads;
  json["n_inner"] = s.ffn;
  json["n_positions"] = s.max_positions;
  json["tie_word_embeddings"] = s.tied_embeddings;
}

void add_common_keys(nlohmann::ordered_json& json, const model::TransformerShape& s) {
  json["vocab_size"] = s.vocab;
  json["hidden_size"] = s.hidden;
  json["num_hidden_layers"] = s.layers;
  json["num_attention_heads"] = s.heads;
  json["num_key_value_heads"] = s.kv_heads;
  json["max_position_embeddings"] = s.seq;
  json["tie_word_embeddings"] = s.tied_embeddings;
}

}  // namespace nereus::exporting
