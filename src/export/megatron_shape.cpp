#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "export/megatron.hpp"
#include "model/shape_io.hpp"

namespace nereus::exporting {

namespace {

using model::NormKind;
using model::PositionKind;
using model::TransformerShape;

int fact(const std::map<std::string, std::string>& facts, const std::string& key) {
  const auto found = facts.find(key);
  int value = 0;
  if (found != facts.end()) {
    const std::string& text = found->second;
    std::from_chars(text.data(), text.data() + text.size(), value);
  }
  return std::clamp(value, 0, 1'000'000'000);
}

void assume(Reading& reading, std::string text) { reading.assumed.push_back({std::move(text)}); }

// The tokenizers whose vocabulary everybody knows; else the vocabulary of Megatron-LM's own papers.
int vocabulary(Flags& flags, Reading& reading) {
  if (flags.has("--pad-vocab-size-to")) return flags.whole("--pad-vocab-size-to", 0, 1);
  if (flags.has("--padded-vocab-size")) return flags.whole("--padded-vocab-size", 0, 1);
  if (flags.has("--vocab-size")) return flags.whole("--vocab-size", 0, 1);
  const std::string tokenizer = flags.text("--tokenizer-type");
  int size = 51200;
  if (tokenizer == "GPT2BPETokenizer") size = 50257;
  if (tokenizer == "Llama2Tokenizer") size = 32000;
  if (tokenizer.starts_with("BertWordPiece")) size = 30522;
  assume(reading, size == 51200
                      ? fmt::format("a vocabulary of {}, because the file does not give it (--set "
                                    "model.vocab=N)",
                                    size)
                      : fmt::format("a vocabulary of {}, as for {}", size, tokenizer));
  return size;
}

// Leading dense blocks, then experts in every so many-th: what the list says, if it says that.
void read_expert_layers(Flags& flags, const std::string& freq, TransformerShape& s) {
  std::optional<std::vector<int>> layers = python_list(freq);
  int every = 0;
  std::from_chars(freq.data(), freq.data() + freq.size(), every);
  if (!layers && every > 0 && s.layers <= 100'000) {  // one of every N, the first of them
    layers.emplace();
    for (int i = 0; i < s.layers; ++i) layers->push_back(i % every == 0 ? 1 : 0);
  }
  if (layers) {
    const auto first = std::find(layers->begin(), layers->end(), 1);
    const auto second = first == layers->end() ? first : std::find(first + 1, layers->end(), 1);
    const int gap = second == layers->end() ? 1 : static_cast<int>(second - first);
    s.expert_interval = std::max(1, gap);
    s.dense_layers = static_cast<int>(first - layers->begin()) + 1 - s.expert_interval;
    if (s.dense_layers >= 0 && s.layers <= 100'000 && expert_list(s) == *layers) return;
  }
  s.expert_interval = 1;
  s.dense_layers = 0;
  flags.fail("--moe-layer-freq", "import.model",
             fmt::format("experts in the layers {}: only dense layers first, then experts in every "
                         "so many-th of the others, can be described",
                         freq),
             fmt::format("([0]*1+[1]*{})", std::max(1, s.layers - 1)));
}

// The first of every so many blocks has the window.
void read_window(Flags& flags, TransformerShape& s) {
  std::string text = flags.text("--window-size");
  std::erase(text, '(');
  int window = 0;
  std::from_chars(text.data(), text.data() + text.size(), window);
  if (window >= 0 && window < 1'000'000'000) s.window = window + 1;
  if (!flags.has("--window-attn-skip-freq")) return;
  const std::string freq = flags.text("--window-attn-skip-freq");
  const std::optional<std::vector<int>> list = python_list(freq);
  int interval = freq == "2" ? 2 : 0;
  if (list && static_cast<int>(list->size()) == s.layers && !list->empty() && list->front() == 1) {
    const auto next = std::find(list->begin() + 1, list->end(), 1);
    interval = next == list->end() ? s.layers : static_cast<int>(next - list->begin());
    for (int i = 0; i < s.layers; ++i)
      if ((*list)[i] != (i % interval == 0 ? 1 : 0)) interval = s.layers + 1;
  }
  if (interval >= 1 && interval <= s.layers)
    s.window_interval = interval;
  else
    flags.fail("--window-attn-skip-freq", "import.model",
               fmt::format("windows in the layers {}: only the first of every so many can have one",
                           freq));
}

void attention(Flags& flags, TransformerShape& s, ErrorList&) {
  s.heads = flags.whole("--num-attention-heads", 0, 1);
  const bool rope = flags.has("--use-rotary-position-embeddings");
  if (flags.has("--multi-latent-attention")) {
    s.kv_heads = s.heads;
    s.q_lora = flags.whole("--q-lora-rank", 0);
    s.kv_lora = flags.whole("--kv-lora-rank", 32, 1);
    s.head_dim = flags.whole("--qk-head-dim", 128, 1);
    s.rope_head_dim = flags.whole("--qk-pos-emb-head-dim", 64);
    s.value_head_dim = flags.whole("--v-head-dim", 128, 1);
  } else {
    s.head_dim = flags.whole("--kv-channels", 0);
    const int groups = flags.whole("--num-query-groups", 1, 1);
    s.kv_heads = flags.has("--group-query-attention") ? groups : s.heads;
    s.qk_norm = flags.has("--qk-layernorm");
  }
  const std::string position =
      flags.text("--position-embedding-type", rope ? "rope" : "learned_absolute");
  if (rope || position == "rope" || position == "mrope") {
    s.position = PositionKind::kRotary;
  } else if (position == "learned_absolute") {
    s.position = PositionKind::kLearned;
  } else if (position == "alibi") {  // Megatron-DeepSpeed
    s.position = PositionKind::kAlibi;
  } else if (position == "none") {
    s.position = PositionKind::kNone;
  } else {
    flags.fail("--position-embedding-type", "import.model",
               fmt::format("position embeddings '{}' cannot be described", position),
               "rope, learned_absolute or none");
  }
  if (flags.has("--window-size")) read_window(flags, s);
}

void experts(Flags& flags, const std::map<std::string, std::string>& facts, TransformerShape& s) {
  s.experts = flags.whole("--num-experts", 0);
  if (s.experts == 0) return;
  s.top_k = flags.whole("--moe-router-topk", 2, 1);
  s.expert_ffn = flags.whole("--moe-ffn-hidden-size", s.ffn, 1);
  const std::string freq = flags.text("--moe-layer-freq", "1");
  if (freq != "1") read_expert_layers(flags, freq, s);
  const int shared = flags.whole("--moe-shared-expert-intermediate-size", 0);
  if (shared > 0) {
    const int count = fact(facts, "shared_experts");
    const int each = fact(facts, "shared_expert_ffn");
    const bool whole = s.expert_ffn > 0 && shared % s.expert_ffn == 0;
    s.shared_experts = whole ? shared / s.expert_ffn : 1;
    s.shared_expert_ffn = whole ? 0 : shared;
    // The file's header says how the total is composed, if it agrees with the flag.
    if (count > 0 && static_cast<long long>(count) * (each > 0 ? each : s.expert_ffn) == shared) {
      s.shared_experts = count;
      s.shared_expert_ffn = each;
    }
  }
}

std::string guessed_family(const TransformerShape& s) {
  if (s.kv_lora > 0) return "deepseek";
  if (!s.gated_mlp || s.norm != NormKind::kRmsNorm) return "gpt";
  if (s.experts > 0) return s.qk_norm ? "qwen3" : "mixtral";
  return s.qk_norm ? "qwen3" : "llama";
}

}  // namespace

TransformerShape megatron_shape(Flags& flags, const Hints& hints,
                                const std::map<std::string, std::string>& facts, Reading& reading,
                                ErrorList& errors) {
  TransformerShape s;
  for (const char* other : {"--is-hybrid-model", "--hybrid-override-pattern",
                            "--heterogeneous-layers-config-path", "--retro-add-retriever"})
    if (flags.has(other))
      flags.fail(other, "import.model", fmt::format("{}: such a model cannot be described", other));
  for (const char* needed : {"--num-layers", "--hidden-size", "--num-attention-heads"})
    if (!flags.has(needed))
      errors.add("import.model", fmt::format("{} is missing, so the model is unknown", needed),
                 flags.where(needed), "add it, or name the model with --model");
  s.layers = flags.whole("--num-layers", 0, 1);
  s.hidden = flags.whole("--hidden-size", 0, 1);
  s.gated_mlp = flags.has("--swiglu") || flags.has("--quick-geglu");
  s.bias = !flags.has("--disable-bias-linear");
  s.tied_embeddings = !flags.has("--untie-embeddings-and-output-weights");
  s.norm = flags.text("--normalization", "LayerNorm") == "RMSNorm" ? NormKind::kRmsNorm
                                                                   : NormKind::kLayerNorm;
  s.seq = flags.whole(flags.has("--seq-length") ? "--seq-length" : "--encoder-seq-length", 0, 1);
  if (s.seq == 0)
    errors.add("import.model", "--seq-length is missing", flags.where("--seq-length"),
               "add it, or --set model.seq=4096 with --model");
  attention(flags, s, errors);
  // Megatron-LM's default: the nearest multiple of 64 below 8/3 hidden under a gate, else 4 hidden.
  const long long gated = static_cast<long long>(s.hidden) * 8 / 3 / 64 * 64;
  const int usual_ffn =
      static_cast<int>(std::min<long long>(s.gated_mlp ? gated : 4LL * s.hidden, 100'000'000));
  s.ffn = flags.whole("--ffn-hidden-size", usual_ffn, 1);
  experts(flags, facts, s);
  if (s.experts > 0 && s.dense_layers == 0 && s.expert_interval == 1 &&
      !flags.has("--ffn-hidden-size"))
    s.ffn = 0;
  const int positions = flags.whole("--max-position-embeddings", 0);
  if (s.position == PositionKind::kLearned)
    s.max_positions = positions;
  else
    s.max_positions = fact(facts, "max_positions");
  s.mtp_layers = flags.whole("--mtp-num-layers", 0);
  s.vocab = vocabulary(flags, reading);
  s.family = hints.model_family.empty() ? guessed_family(s) : hints.model_family;
  s.name = hints.model_name;
  return s;
}

}  // namespace nereus::exporting
