#include "model/transformer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/format.hpp"
#include "model/model.hpp"
#include "model/transformer_parts.hpp"

namespace nereus::model {

namespace {

// The parts of a layer between the embedding and the head.
struct BlockParts {
  Reach reach = Reach::kAll;
  bool attention = false;
  bool mamba = false;
  bool mlp = false;
  bool experts = false;
  bool predicts_further = false;  // joins the last hidden state with the next token first
  bool operator==(const BlockParts&) const = default;

  int num_mixers() const { return attention + mamba + mlp + experts; }
};

std::string name_of(const BlockParts& parts) {
  if (parts.predicts_further) return "mtp_block";
  std::string name = parts.reach == Reach::kWindow ? "window_"
                     : parts.reach == Reach::kNear ? "near_"
                     : parts.reach == Reach::kFar  ? "far_"
                                                   : "";
  if (parts.num_mixers() == 1)
    return name +
           (parts.attention ? "attention"
            : parts.mamba   ? "mamba"
            : parts.mlp     ? "mlp"
                            : "experts") +
           "_layer";
  return name + (parts.experts ? "expert_block" : "block");
}

LayerKind block(const TransformerShape& shape, const SampleDims& x, const BlockParts& parts) {
  LayerKind layer;
  layer.name = name_of(parts);
  layer.role = LayerRole::kBlock;
  layer.mixers = parts.num_mixers();
  layer.input_elements = layer.output_elements =
      x.s * x.h * shape.streams + (shape.modulated ? x.h : 0);
  auto& ops = layer.operators;
  if (parts.predicts_further) {
    ops.push_back(norm("state_norm", x.s, x.h, shape));
    ops.push_back(norm("token_norm", x.s, x.h, shape));
    ops.push_back(on_own_rows(gemm("join", Split::kReplicated, x.s, x.h, 2 * x.h, false)));
  }
  // A diffusion transformer's norms have no weights: each block computes them from c.
  const auto add_norm = [&](const char* name) {
    ops.push_back(norm(name, x.s, x.h, shape));
    if (!shape.modulated) return;
    ops.back().parameters = 0;
    ops.push_back(modulate("modulate", x));
  };
  const auto add_residual = [&](const char* name) {
    ops.push_back(residual(name, shape, x));
    if (shape.modulated) ops.back().read_elements += x.s * x.h;  // the gate's product
  };
  if (shape.modulated) add_modulation(layer, x, 6);
  if (parts.attention || parts.mamba) {
    add_norm(parts.attention ? "attention_norm" : "mamba_norm");
    if (parts.attention)
      add_attention(layer, shape, x, parts.reach);
    else
      add_mamba(layer, shape, x);
    if (shape.post_norm) ops.push_back(norm("attention_post_norm", x.s, x.h, shape));
    add_residual(parts.attention ? "attention_residual" : "mamba_residual");
  }
  if (parts.mlp || parts.experts) {
    add_norm("mlp_norm");
    if (parts.experts) {
      add_experts(layer, shape, x);
    } else {
      add_mlp(layer, shape, x, x.f, "");
      layer.tensor_regions.push_back({x.s * x.h});
    }
    if (shape.post_norm) ops.push_back(norm("mlp_post_norm", x.s, x.h, shape));
    add_residual("mlp_residual");
  }
  if (parts.predicts_further) ops.push_back(norm("mtp_norm", x.s, x.h, shape));
  return layer;
}

Reach reach_of(const TransformerShape& shape, int block) {
  if (shape.compress_near > 0)
    return block < 2 ? Reach::kWindow : block % 2 == 0 ? Reach::kNear : Reach::kFar;
  const int full = shape.full_interval;
  if (full > 0 && (block + 1) % full == 0) return Reach::kAll;
  if (shape.window > 0 && block % shape.window_interval == 0) return Reach::kWindow;
  return Reach::kAll;
}

BlockParts parts_of(const TransformerShape& shape, int block) {
  BlockParts parts;
  if (!shape.pattern.empty()) {
    const char mixer = shape.pattern[block];
    parts.mamba = mixer == 'M';
    parts.attention = mixer == '*';
    parts.experts = mixer == 'E';
    parts.mlp = mixer == '-';
    if (parts.attention) parts.reach = reach_of(shape, 0);
    return parts;
  }
  parts.attention = true;
  parts.reach = reach_of(shape, block);
  const int after = block - shape.dense_layers;
  parts.experts = shape.experts > 0 && after >= 0 && (after + 1) % shape.expert_interval == 0;
  parts.mlp = !parts.experts;
  return parts;
}

LayerKind embedding(const TransformerShape& shape, const SampleDims& x) {
  if (shape.modulated) return latent_embedding(shape, x);
  LayerKind layer;
  layer.name = "embedding";
  layer.role = LayerRole::kEmbedding;
  layer.output_elements = x.s * x.h * shape.streams;
  if (shape.patch > 0) {
    // A vision transformer cuts the image into patches: this convolution is a plain GEMM over
    // patches.
    const double patch_elements = double(shape.channels) * shape.patch * shape.patch;
    layer.operators.push_back(gemm("patches", Split::kReplicated, x.s, x.h, patch_elements, true));
    layer.operators.back().parameters += x.h;  // the class token
    layer.operators.back().full_width = true;
    layer.input_elements = double(shape.channels) * shape.image * shape.image;
  } else {
    layer.operators.push_back(token_embedding(x));
    layer.tensor_regions.push_back({x.s * x.h});
    layer.input_elements = x.s;
  }
  if (shape.position == PositionKind::kLearned) {
    Operator op = elementwise("position_embedding", Split::kReplicated, x.s, x.h, 2, 1);
    op.rows_divide = true;
    op.parameters = static_cast<double>(shape.max_positions) * x.h;
    if (shape.family == "bert") op.parameters += 2 * x.h;  // two token types, added alike
    layer.operators.push_back(op);
  }
  if (shape.family == "bert") layer.operators.push_back(norm("embedding_norm", x.s, x.h, shape));
  return layer;
}

LayerKind head(const TransformerShape& shape, const SampleDims& x) {
  if (shape.modulated) return noise_head(shape, x);
  LayerKind layer;
  layer.name = "head";
  layer.role = LayerRole::kHead;
  layer.input_elements = x.s * x.h * shape.streams;
  const bool masked = shape.family == "bert";
  // A classifier reads one token; a masked language model has targets where words are hidden.
  const double rows = shape.patch > 0 ? 1 : masked ? masked_positions(shape.seq) : x.s;
  if (masked) {
    // Its blocks end in a norm, so there is no final one.
    layer.operators.push_back(
        on_own_rows(gemm("transform", Split::kReplicated, x.s, x.h, x.h, true)));
    layer.operators.back().full_width = true;
    layer.operators.push_back(norm("transform_norm", x.s, x.h, shape));
  } else {
    layer.operators.push_back(norm("final_norm", x.s, x.h, shape));
  }
  layer.operators.push_back(
      gemm("logits", Split::kVocabulary, rows, x.v, x.h, shape.patch > 0 || masked));
  layer.operators.back().full_width = true;
  Operator loss;
  loss.name = "loss";
  loss.kind = OpKind::kLoss;
  loss.split = Split::kVocabulary;
  loss.rows = rows;
  loss.n = x.v;
  loss.flops = 5 * rows * x.v;
  loss.read_elements = 3 * rows * x.v;
  loss.written_elements = 2 * rows * x.v;
  loss.saved_bytes = 4 * rows * x.v;  // fp32 logits or their softmax
  loss.kernels = 8;
  layer.operators.push_back(loss);
  // Hidden words are selected after the sequence is gathered.
  if (shape.patch == 0) layer.tensor_regions.push_back({x.s * x.h});
  for (int i = 0; i < shape.mtp_layers; ++i) {
    // Every further token has logits and a loss of its own, by the same weights.
    Operator logits = gemm("mtp_logits", Split::kVocabulary, rows, x.v, x.h, false);
    logits.parameters = 0;
    logits.full_width = true;
    layer.operators.push_back(logits);
    loss.name = "mtp_loss";
    layer.operators.push_back(loss);
    layer.tensor_regions.push_back({rows * x.h});
  }
  return layer;
}

void add_head(Model& model, const TransformerShape& shape, const SampleDims& x) {
  model.kinds.push_back(head(shape, x));
  model.layers.push_back(static_cast<int>(model.kinds.size()) - 1);
  if (shape.tied_embeddings && shape.patch == 0)
    model.tied.push_back({0, model.num_layers() - 1, x.v * x.h});
}

void check_pattern(const TransformerShape& shape, ErrorList& errors) {
  const std::string& pattern = shape.pattern;
  if (pattern.empty()) return;
  if (static_cast<int>(pattern.size()) != shape.layers)
    errors.add("model.pattern",
               fmt::format("pattern names {}, but layers = {}", counted(pattern.size(), "layer"),
                           shape.layers),
               {}, "give both the same length");
  if (const auto odd = pattern.find_first_not_of("M*E-"); odd != std::string::npos)
    errors.add("model.pattern", fmt::format("pattern holds '{}'", pattern[odd]), {},
               "M = Mamba, * = attention, E = experts, - = MLP");
  if (pattern.find('E') != std::string::npos && shape.experts == 0)
    errors.add("model.pattern", "pattern has layers of experts, but experts = 0");
  if (pattern.find('M') == std::string::npos) return;
  for (const auto& [value, what] :
       {std::pair{shape.ssm_heads, "ssm_heads"}, std::pair{shape.ssm_head_dim, "ssm_head_dim"},
        std::pair{shape.ssm_state, "ssm_state"}, std::pair{shape.ssm_groups, "ssm_groups"}})
    if (value <= 0)
      errors.add("model.shape", fmt::format("{} = {}: it must be at least 1", what, value), {},
                 fmt::format("state {} in the model", what));
}

}  // namespace

bool has_dense_mlp(const TransformerShape& shape) {
  if (!shape.pattern.empty()) return shape.pattern.find('-') != std::string::npos;
  return shape.experts == 0 || shape.dense_layers > 0 || shape.expert_interval > 1;
}

int masked_positions(int seq) { return std::max(1, static_cast<int>(std::lround(0.15 * seq))); }

bool has_scans(const TransformerShape& shape) {
  return shape.pattern.find('M') != std::string::npos;
}

TransformerShape resolve(TransformerShape shape) {
  ErrorList errors;
  const auto positive = [&](int value, const char* what) {
    if (value <= 0)
      errors.add("model.shape", fmt::format("{} = {}: it must be at least 1", what, value), {},
                 fmt::format("state {} in the model", what));
  };
  positive(shape.layers, "layers");
  positive(shape.hidden, "hidden");
  const bool attends = shape.pattern.empty() || shape.pattern.find('*') != std::string::npos;
  if (attends) positive(shape.heads, "heads");
  if (shape.patch > 0 && shape.image > 0) {
    const int side = shape.image / shape.patch;
    shape.seq = side * side + (shape.modulated ? 0 : 1);  // a classifier has a token of its own
  }
  positive(shape.seq, "seq");
  positive(shape.vocab, shape.patch > 0 ? "classes" : "vocab");
  if (has_dense_mlp(shape)) positive(shape.ffn, "ffn");
  check_pattern(shape, errors);
  if (shape.kv_heads == 0) shape.kv_heads = shape.heads;
  if (shape.head_dim == 0 && shape.heads > 0) {
    if (shape.hidden % shape.heads != 0)
      errors.add(
          "model.heads",
          fmt::format("hidden = {} is not a multiple of heads = {}, and head_dim is not given",
                      shape.hidden, shape.heads),
          {}, "give head_dim, or a number of heads that divides hidden");
    shape.head_dim = shape.hidden / std::max(1, shape.heads);
  }
  if (shape.kv_heads > 0 && shape.heads > 0 && shape.heads % shape.kv_heads != 0)
    errors.add(
        "model.kv-heads",
        fmt::format("heads = {} is not a multiple of kv_heads = {}", shape.heads, shape.kv_heads),
        {}, "every key-value head serves the same number of query heads");
  if (shape.experts > 0) {
    if (shape.expert_ffn == 0) shape.expert_ffn = shape.ffn;
    positive(shape.expert_ffn, "expert_ffn");
    if (shape.top_k < 1 || shape.top_k > shape.experts)
      errors.add("model.top-k", fmt::format("top_k = {} must lie in 1 .. experts = {}", shape.top_k,
                                            shape.experts));
    if (shape.dense_layers > shape.layers)
      errors.add("model.dense-layers", fmt::format("dense_layers = {} exceeds layers = {}",
                                                   shape.dense_layers, shape.layers));
  }
  if (shape.compress_near > 0) {
    positive(shape.compress_far, "compress_far");
    positive(shape.q_lora, "q_lora");
    positive(shape.index_heads, "index_heads");
    positive(shape.index_head_dim, "index_head_dim");
  }
  if (shape.output_groups > 0) positive(shape.output_lora, "output_lora");
  if (shape.modulated) positive(shape.patch, "patch");
  if (shape.decoder_layers > 0 && shape.target_seq == 0) shape.target_seq = shape.seq;
  positive(shape.window_interval, "window_interval");
  positive(shape.expert_interval, "expert_interval");
  positive(shape.streams, "streams");
  if (shape.value_head_dim == 0) shape.value_head_dim = shape.head_dim;
  if (shape.position == PositionKind::kLearned && shape.max_positions < shape.seq)
    shape.max_positions = shape.seq;
  errors.throw_if_any();
  return shape;
}

Model build_transformer(const TransformerShape& given) {
  const TransformerShape shape = resolve(given);
  const SampleDims x{double(shape.seq),      double(shape.hidden),   double(shape.heads),
                     double(shape.kv_heads), double(shape.head_dim), double(shape.value_head_dim),
                     double(shape.ffn),      double(shape.vocab)};
  Model model;
  model.name = shape.name;
  model.family = shape.family;
  model.transformer = shape;
  model.tokens_per_sample = shape.patch > 0 ? 0 : x.s;

  model.kinds.push_back(embedding(shape, x));
  model.layers.push_back(0);
  if (shape.decoder_layers > 0) {
    SampleDims target = x;
    target.s = shape.target_seq;
    model.tokens_per_sample = x.s + target.s;
    add_stacks(model, shape, x, target);
    add_head(model, shape, target);
    return model;
  }
  std::vector<BlockParts> known;
  const auto add = [&](const BlockParts& parts) {
    const auto at = std::find(known.begin(), known.end(), parts);
    model.layers.push_back(static_cast<int>(at - known.begin()) + 1);
    if (at != known.end()) return;
    known.push_back(parts);
    model.kinds.push_back(block(shape, x, parts));
  };
  for (int i = 0; i < shape.layers; ++i) add(parts_of(shape, i));
  BlockParts further;
  further.attention = further.predicts_further = true;
  further.reach = reach_of(shape, 0);
  (shape.experts > 0 ? further.experts : further.mlp) = true;
  for (int i = 0; i < shape.mtp_layers; ++i) add(further);
  add_head(model, shape, x);
  return model;
}

}  // namespace nereus::model
