#include <fmt/format.h>

#include <cmath>

#include "base/format.hpp"
#include "export/launch_file.hpp"
#include "export/megatron.hpp"
#include "plan/stages.hpp"

namespace nereus::exporting {

namespace {

using cluster::Precision;
using model::PositionKind;
using plan::Recompute;
using plan::Schedule;

constexpr Engine kMegatron = Engine::kMegatron;

// Arguments in groups, each a shell array.
class Arguments {
 public:
  void group(const std::string& name, const std::string& comment) {
    if (!text_.empty()) text_ += ")\n";
    text_ += fmt::format("\n# {}\n{}=(\n", comment, name);
    call_ += fmt::format(" \"${{{}[@]}}\"", name);
  }
  void flag(std::string_view name) { text_ += fmt::format("  {}\n", name); }
  template <class Value>
  void flag(std::string_view name, const Value& value) {
    text_ += fmt::format("  {} {}\n", name, shell_word(fmt::format("{}", value)));
  }
  std::string text() const { return text_ + ")\n"; }
  const std::string& call() const { return call_; }

 private:
  std::string text_;
  std::string call_;
};

void check_model(const plan::Plan& plan, ErrorList& errors) {
  const auto no = [&](const std::string& what, const std::string& hint = {}) {
    cannot(errors, kMegatron, what, hint);
  };
  if (!plan.model.transformer) {
    no(fmt::format("the model {}: pretrain_gpt.py trains decoder transformers", plan.model.name),
       "a GPT-like model");
    return;
  }
  const model::TransformerShape& shape = *plan.model.transformer;
  if (plan.model != model::build_transformer(shape))
    no(fmt::format("the layers of {}: they do not follow from its shape", plan.model.name));
  if (!shape.causal || shape.patch > 0 || shape.decoder_layers > 0)
    no(fmt::format("the model {} of family {}: pretrain_gpt.py trains causal decoders",
                   plan.model.name, shape.family));
  if (shape.position == PositionKind::kAlibi)
    no("ALiBi positions", "position = \"rotary\" or \"learned\"");
  if (shape.post_norm || shape.full_interval > 0)
    no(fmt::format("the blocks of {}: norms after mixers, or windows in all but every {}th block",
                   plan.model.name, shape.full_interval));
  if (!shape.pattern.empty() || shape.compress_near > 0 || shape.compress_far > 0 ||
      shape.expert_latent > 0 || shape.streams > 1 || shape.output_groups > 0)
    no(
        fmt::format("the model {} with flags of pretrain_gpt.py: mixers by pattern, compressed "
                    "attention, latent experts or several residual streams",
                    plan.model.name));
  if (shape.kv_lora > 0 && (shape.qk_norm || shape.bias))
    no("latent attention with biases or with norms of whole queries and keys");
  if (shape.kv_lora == 0 && shape.value_head_dim != shape.head_dim)
    no(fmt::format("value heads of {} with key heads of {} without latent attention",
                   shape.value_head_dim, shape.head_dim));
}

// Sums and reductions have one type, --grad-reduce-in-bf16; the optimizer's types need its
// precision-aware form, which shards its state.
void check_types(const plan::Degrees& d, ErrorList& errors) {
  using plan::NumberType;
  const plan::StateTypes& types = d.state_types;
  const auto no = [&](bool wrong, const std::string& what, const std::string& hint = {}) {
    if (wrong) cannot(errors, kMegatron, what, hint);
  };
  const auto is_16_bit = [](NumberType type) { return type == NumberType::kBf16; };
  no((types.gradients != NumberType::kStack || types.reduced != NumberType::kStack) &&
         !(is_16_bit(types.gradients) && is_16_bit(types.reduced)),
     "gradients that are accumulated in one type and reduced in another, or in a type that is not "
     "bf16",
     "--state-types gradients=bf16,reduced=bf16, or none of the two");
  const bool fp8 = d.precision == Precision::kFp8 || d.precision == Precision::kMxfp8;
  no(types.gathered != NumberType::kStack && !(types.gathered == NumberType::kFp8 && fp8),
     fmt::format("weights gathered in {} when training in {}", to_string(types.gathered),
                 to_string(d.precision)),
     "fp8 with precision fp8 or mxfp8");
  no(types.moments == NumberType::kInt8, "moments in int8", "fp8");
  no(types.master == NumberType::kBf16 || types.master == NumberType::kNone,
     types.master == NumberType::kNone ? "training without master weights"
                                       : "master weights in bf16",
     "master fp16 or fp32");
  no((types.moments != NumberType::kStack || types.master != NumberType::kStack) && d.zero == 0,
     "types of the optimizer's state without a distributed optimizer", "zero 1");
}

void check_degrees(const RegularPlan& regular, const plan::Plan& plan, const StackFacts& stack,
                   ErrorList& errors) {
  const plan::Degrees& d = regular.degrees;
  const auto no = [&](const std::string& what, const std::string& hint = {}) {
    cannot(errors, kMegatron, what, hint);
  };
  const bool experts = plan.model.transformer && plan.model.transformer->experts > 0;
  if (d.schedule != Schedule::k1f1b && d.schedule != Schedule::kInterleaved)
    no(fmt::format("the schedule {}", to_string(d.schedule)), "1f1b or interleaved");
  if (d.cp > 1 && d.context == plan::ContextKind::kRing)
    no("context slices in plain order (ring): Megatron-LM always uses zig-zag slices",
       "context zig-zag or all-to-all");
  if (d.cp > 1 && plan.model.transformer && plan.model.transformer->seq % (2 * d.cp) != 0)
    no(fmt::format("a sequence of {} over cp = {}: 2 cp must divide it",
                   plan.model.transformer->seq, d.cp));
  if (d.tensor_overlap && !d.sequence_parallel)
    no("overlapped tensor collectives without sequence parallelism", "--sequence-parallel");
  if (d.recompute == Recompute::kSelective && !stack.selective_attention)
    no(fmt::format("selective recompute of every other block, which {} means", stack.name),
       "recompute full, or a plan for a megatron stack");
  if (d.zero_group != 0 && d.zero == 2)
    no("gradients sharded in groups (HSDP) without sharded weights", "zero 1 or 3");
  if (d.zero_group != 0 && d.zero_group % d.cp != 0)
    no(fmt::format(
        "state sharded over {} with cp = {}: its groups are whole context-parallel groups",
        counted(d.zero_group, "rank"), d.cp));
  cannot_offload_elsewhere(errors, kMegatron, d);
  if (d.offload.weights > 0) no("weights in host memory", "offload the optimizer instead");
  if (d.offload.optimizer > 0 && d.zero >= 2)
    no("an optimizer in host memory under Megatron FSDP", "zero 1");
  if (d.offload.activations > 0) {
    const double layers = d.offload.activations * plan::layer_span(plan.model).blocks;
    if (d.pp > 1 || d.recompute != Recompute::kNone)
      no("activations in host memory with pipeline stages or recompute");
    if (std::abs(layers - std::round(layers)) > 1e-9)
      no(
          fmt::format("{:g} of the activations in host memory: Megatron-LM offloads whole layers "
                      "({:.2f})",
                      d.offload.activations, layers));
  }
  switch (d.precision) {
    case Precision::kFp64:
    case Precision::kTf32:
      no(fmt::format("training in {}", to_string(d.precision)), "bf16, fp16, fp32, fp8 or nvfp4");
      break;
    case Precision::kFp16:
      if (d.ep > 1) no("expert parallelism in fp16", "bf16");
      break;
    default:
      break;
  }
  check_types(d, errors);
  if (experts && d.tp > 1 && d.ep > 1 && !d.sequence_parallel)
    no("experts and tensor parallelism without sequence parallelism", "--sequence-parallel");
}

// "([0]*3+[1]*58)", "([0]*1+([0]*1+[1]*1)*12+[0]*1)".
std::string freq(const model::TransformerShape& s) {
  const int rest = s.layers - s.dense_layers;
  const int k = s.expert_interval;
  std::string text = "(";
  if (s.dense_layers > 0) text += fmt::format("[0]*{}+", s.dense_layers);
  if (k == 1) return text + fmt::format("[1]*{})", rest);
  text += fmt::format("([0]*{}+[1])*{}", k - 1, rest / k);
  if (rest % k > 0) text += fmt::format("+[0]*{}", rest % k);
  return text + ")";
}

void model_arguments(const model::TransformerShape& s, Arguments& out) {
  out.group("MODEL_ARGS", "The model.");
  out.flag("--num-layers", s.layers);
  out.flag("--hidden-size", s.hidden);
  if (s.ffn > 0) out.flag("--ffn-hidden-size", s.ffn);
  out.flag("--num-attention-heads", s.heads);
  if (s.kv_lora > 0) {
    out.flag("--multi-latent-attention");
    if (s.q_lora > 0) out.flag("--q-lora-rank", s.q_lora);
    out.flag("--kv-lora-rank", s.kv_lora);
    out.flag("--qk-head-dim", s.head_dim);
    out.flag("--qk-pos-emb-head-dim", s.rope_head_dim);
    out.flag("--v-head-dim", s.value_head_dim);
    out.flag("--qk-layernorm");
  } else {
    out.flag("--kv-channels", s.head_dim);
    if (s.kv_heads != s.heads) {
      out.flag("--group-query-attention");
      out.flag("--num-query-groups", s.kv_heads);
    }
    if (s.qk_norm) out.flag("--qk-layernorm");
  }
  out.flag("--seq-length", s.seq);
  out.flag("--max-position-embeddings", std::max(s.max_positions, s.seq));
  switch (s.position) {
    case PositionKind::kRotary:
      out.flag("--position-embedding-type", "rope");
      break;
    case PositionKind::kLearned:
      out.flag("--position-embedding-type", "learned_absolute");
      break;
    default:
      out.flag("--position-embedding-type", "none");
  }
  out.flag("--normalization", s.norm == model::NormKind::kRmsNorm ? "RMSNorm" : "LayerNorm");
  if (s.gated_mlp) out.flag("--swiglu");
  if (!s.bias) out.flag("--disable-bias-linear");
  if (!s.tied_embeddings) out.flag("--untie-embeddings-and-output-weights");
  if (s.window > 0) {
    out.flag("--window-size", fmt::format("{},0", s.window - 1));
    if (s.window_interval > 1) {
      const int k = s.window_interval;
      std::string list = fmt::format("([1]+[0]*{})*{}", k - 1, s.layers / k);
      if (s.layers % k > 0) list += fmt::format("+[1]+[0]*{}", s.layers % k - 1);
      out.flag("--window-attn-skip-freq", list);
    }
  }
  if (s.mtp_layers > 0) out.flag("--mtp-num-layers", s.mtp_layers);
  out.flag("--attention-dropout", 0);
  out.flag("--hidden-dropout", 0);
  if (s.experts == 0) return;
  out.group("MOE_ARGS", "Its experts.");
  out.flag("--num-experts", s.experts);
  out.flag("--moe-router-topk", s.top_k);
  out.flag("--moe-ffn-hidden-size", s.expert_ffn);
  if (s.shared_experts > 0)
    out.flag("--moe-shared-expert-intermediate-size",
             s.shared_experts * (s.shared_expert_ffn > 0 ? s.shared_expert_ffn : s.expert_ffn));
  if (s.dense_layers > 0 || s.expert_interval > 1) out.flag("--moe-layer-freq", freq(s));
  out.flag("--moe-grouped-gemm");
  out.flag("--moe-token-dispatcher-type", "alltoall");
}

void precision_arguments(Precision precision, Arguments& out) {
  switch (precision) {
    case Precision::kFp16:
      out.flag("--fp16");
      return;
    case Precision::kFp32:
      return;
    case Precision::kFp8:
      out.flag("--bf16");
      out.flag("--fp8-format", "hybrid");
      out.flag("--fp8-recipe", "delayed");
      return;
    case Precision::kMxfp8:
      out.flag("--bf16");
      out.flag("--fp8-format", "e4m3");
      out.flag("--fp8-recipe", "mxfp8");
      return;
    case Precision::kNvfp4:
      out.flag("--bf16");
      out.flag("--fp4-format", "e2m1");
      out.flag("--fp4-recipe", "nvfp4");
      return;
    default:
      out.flag("--bf16");
  }
}

void state_arguments(const plan::Degrees& d, Arguments& out) {
  if (d.zero == 1) out.flag("--use-distributed-optimizer");
  if (d.zero >= 2) {
    out.flag("--use-megatron-fsdp");
    out.flag("--data-parallel-sharding-strategy",
             d.zero == 3 ? "optim_grads_params" : "optim_grads");
    out.flag("--ckpt-format", "fsdp_dtensor");
    out.flag("--use-distributed-optimizer");
    out.flag("--no-gradient-accumulation-fusion");
  }
  if (d.zero_group > 0)
    out.flag("--num-distributed-optimizer-instances", d.dp * d.cp / d.zero_group);
  if (d.data_overlap && d.dp * d.cp > 1) {
    out.flag("--overlap-grad-reduce");
    if (d.zero > 0) out.flag("--overlap-param-gather");
  }
  if (d.offload.optimizer > 0) {
    out.flag("--optimizer-cpu-offload");
    out.flag("--optimizer-offload-fraction", d.offload.optimizer);
  }
  using plan::NumberType;
  const plan::StateTypes& types = d.state_types;
  if (types.gradients == NumberType::kBf16) out.flag("--grad-reduce-in-bf16");
  if (types.gathered == NumberType::kFp8) out.flag("--fp8-param-gather");
  const bool sets = types.moments != NumberType::kStack || types.master != NumberType::kStack;
  if (d.offload.optimizer > 0 || sets) out.flag("--use-precision-aware-optimizer");
  if (types.moments != NumberType::kStack) {
    out.flag("--exp-avg-dtype", to_string(types.moments));
    out.flag("--exp-avg-sq-dtype", to_string(types.moments));
  }
  if (types.master != NumberType::kStack) out.flag("--main-params-dtype", to_string(types.master));
}

void plan_arguments(const RegularPlan& regular, const plan::Plan& plan, Arguments& out) {
  const plan::Degrees& d = regular.degrees;
  out.group("PLAN_ARGS", "The plan: how it is divided, what is recomputed, what overlaps.");
  out.flag("--tensor-model-parallel-size", d.tp);
  out.flag("--pipeline-model-parallel-size", d.pp);
  const int further = plan.model.transformer->mtp_layers;
  if (d.pp > 1 && (!regular.even || further > 0)) {
    out.flag("--pipeline-model-parallel-layout", layout_of_blocks(regular.blocks, further));
  } else if (d.interleave > 1) {
    out.flag("--num-virtual-stages-per-pipeline-rank", d.interleave);
  }
  out.flag("--context-parallel-size", d.cp);
  if (d.cp > 1)
    out.flag("--cp-comm-type", d.context == plan::ContextKind::kAllToAll ? "a2a" : "p2p");
  if (plan.model.transformer->experts > 0) {
    out.flag("--expert-model-parallel-size", d.ep);
    out.flag("--expert-tensor-parallel-size", d.expert_tp);
  }
  if (d.sequence_parallel) out.flag("--sequence-parallel");
  if (d.tensor_overlap) out.flag("--tp-comm-overlap");
  out.flag("--micro-batch-size", d.micro_batch);
  out.flag("--global-batch-size", d.global_batch);
  if (d.recompute == Recompute::kSelective) out.flag("--recompute-activations");
  if (d.recompute == Recompute::kFull) {
    out.flag("--recompute-granularity", "full");
    out.flag("--recompute-method", d.recompute_blocks > 0 ? "block" : "uniform");
    out.flag("--recompute-num-layers", d.recompute_blocks > 0 ? d.recompute_blocks : 1);
  }
  state_arguments(d, out);
  if (d.offload.activations > 0)
    out.flag(
        "--cpu-offloading-num-layers",
        static_cast<int>(std::lround(d.offload.activations * plan::layer_span(plan.model).blocks)));
  precision_arguments(d.precision, out);
}

}  // namespace

Bundle write_megatron(const plan::Plan& plan, const RegularPlan& regular, const StackFacts& stack) {
  ErrorList errors;
  check_nodes(kMegatron, plan, errors);
  check_model(plan, errors);
  check_degrees(regular, plan, stack, errors);
  errors.throw_if_any();
  const model::TransformerShape& shape = *plan.model.transformer;

  Arguments out;
  model_arguments(shape, out);
  plan_arguments(regular, plan, out);
  out.group("TRAIN_ARGS",
            "Yours to set: what is learned, for how long, from what. As it stands, 100 "
            "steps on made-up tokens.");
  out.flag("--train-iters", 100);
  out.flag("--lr", "1e-4");
  out.flag("--min-lr", "1e-5");
  out.flag("--lr-decay-style", "cosine");
  out.flag("--weight-decay", 0.1);
  out.flag("--clip-grad", "1.0");
  out.flag("--log-interval", 1);
  out.flag("--log-throughput");
  out.flag("--eval-iters", 0);
  out.flag("--mock-data");
  out.flag("--tokenizer-type", "NullTokenizer");
  out.flag("--vocab-size", shape.vocab);

  std::string header = script_header(kMegatron, plan, regular);
  std::string facts;
  if (shape.shared_experts > 0)
    facts += fmt::format("# nereus: shared_experts={}\n# nereus: shared_expert_ffn={}\n",
                         shape.shared_experts, shape.shared_expert_ffn);
  if (shape.position != PositionKind::kLearned && shape.max_positions > 0)
    facts += fmt::format("# nereus: max_positions={}\n", shape.max_positions);
  header.insert(header.rfind("set -euo"), facts);
  // Megatron-LM requires one hardware queue with tensor or context parallelism, and more than one
  // with its FSDP.
  const bool one_queue = regular.degrees.zero < 2;
  std::string text = header + "\n" + torchrun_arguments(plan);
  text += out.text();
  if (one_queue) text += "\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\n";
  text += fmt::format(
      "\n# MEGATRON is a checkout of Megatron-LM.\n"
      "torchrun \"${{LAUNCH_ARGS[@]}}\" \"${{MEGATRON:-.}}/pretrain_gpt.py\"{} \"$@\"\n",
      out.call());
  return {{"launch.sh", text}, {"job.slurm", slurm_script(kMegatron, plan)}};
}

}  // namespace nereus::exporting
