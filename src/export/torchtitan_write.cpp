#include <fmt/format.h>

#include <algorithm>

#include "base/format.hpp"
#include "export/launch_file.hpp"
#include "export/torchtitan.hpp"
#include "model/read/load_model.hpp"

namespace nereus::exporting {

namespace {

using cluster::Precision;
using plan::Recompute;
using plan::Schedule;

constexpr Engine kTorchtitan = Engine::kTorchtitan;

const Flavor* flavor_of(const model::Model& model) {
  if (!model.transformer) return nullptr;
  for (const Flavor& flavor : torchtitan_flavors()) {
    const model::Model known = model::load_model(flavor.model);
    model::TransformerShape shape = *known.transformer;
    shape.name = model.transformer->name;
    shape.seq = model.transformer->seq;
    if (shape == *model.transformer && model == model::build_transformer(shape)) return &flavor;
  }
  return nullptr;
}

std::string schedule_word(Schedule schedule) {
  switch (schedule) {
    case Schedule::kGpipe:
      return "GPipe";
    case Schedule::k1f1b:
      return "1F1B";
    case Schedule::kInterleaved:
      return "Interleaved1F1B";
    case Schedule::kLoopedBfs:
      return "LoopedBFS";
    case Schedule::kZbV:
      return "ZBVZeroBubble";
    default:
      return {};
  }
}

void check_axes(const plan::Degrees& d, bool experts, ErrorList& errors) {
  const auto no = [&](bool wrong, const std::string& what, const std::string& hint = {}) {
    if (wrong) cannot(errors, kTorchtitan, what, hint);
  };
  no(d.tp > 1 && !d.sequence_parallel,
     "tensor without sequence parallelism: torchtitan always "
     "uses both",
     "--sequence-parallel");
  no(schedule_word(d.schedule).empty(), fmt::format("the schedule {}", to_string(d.schedule)),
     "gpipe, 1f1b, interleaved, looped-bfs or zb-v");
  no(d.cp > 1 && d.context != plan::ContextKind::kZigzag,
     fmt::format("context {}: torchtitan uses zig-zag slices", to_string(d.context)), "zig-zag");
  no(d.zero == 1, "ZeRO-1: FSDP shards gradients as well", "zero 0, 2 or 3");
  no(d.zero == 0 && d.cp > 1, "context parallelism without sharded state", "zero 2 or 3");
  no(d.zero_group > 0 && d.zero_group % d.cp != 0,
     fmt::format(
         "state sharded over {} with cp = {}: FSDP shards over whole context-parallel groups",
         counted(d.zero_group, "rank"), d.cp));
  const int group = d.zero == 0 ? d.cp : d.zero_group > 0 ? d.zero_group : d.dp * d.cp;
  no(d.ep > 1 && (d.ep % d.cp != 0 || group % d.ep != 0),
     fmt::format("ep = {}: it must divide the {} state, in whole context-parallel groups", d.ep,
                 counted(group, "rank that shares", "ranks that share")),
     "an ep that divides them");
  no(experts && d.expert_tp != d.tp,
     fmt::format("experts split over {} with tp = {}", counted(d.expert_tp, "rank"), d.tp),
     "expert_tp = tp");
  no(!d.data_overlap, "gathering and reduction that do not overlap: FSDP always prefetches");
}

void check_rest(const RegularPlan& regular, const StackFacts& stack, ErrorList& errors) {
  const plan::Degrees& d = regular.degrees;
  const auto no = [&](bool wrong, const std::string& what, const std::string& hint = {}) {
    if (wrong) cannot(errors, kTorchtitan, what, hint);
  };
  no(d.recompute == Recompute::kSelective && stack.selective_attention,
     fmt::format("selective recompute of attention only, which {} means: torchtitan recomputes "
                 "every other block, or single operators",
                 stack.name),
     "recompute none or full, or a plan for --stack torchtitan");
  no(d.recompute_blocks > 0,
     fmt::format("recompute of {} per stage", counted(d.recompute_blocks, "block")),
     "recompute all blocks");
  cannot_offload_parts(errors, kTorchtitan, d);
  using plan::NumberType;
  const plan::StateTypes& types = d.state_types;
  const bool small = types.master == NumberType::kNone;
  if (small)
    cannot_set_types(errors, kTorchtitan, types, {"reduced", "master", "gradients", "moments"});
  else
    cannot_set_types(errors, kTorchtitan, types, {"reduced"});
  no(small && (types.gradients != NumberType::kBf16 || types.moments != NumberType::kBf16),
     "weights without master copies, but gradients or moments in another type than bf16",
     "--state-types master=none,gradients=bf16,moments=bf16");
  no(types.reduced == NumberType::kFp16, "gradients reduced in fp16", "reduced bf16 or fp32");
  no(d.precision != Precision::kBf16 && d.precision != Precision::kFp32 &&
         d.precision != Precision::kFp8 && d.precision != Precision::kMxfp8,
     fmt::format("training in {}", to_string(d.precision)), "bf16, fp32, fp8 or mxfp8");
  no(stack.local_batch_split && !regular.own_stages && d.pp > 1 && d.micro_batch % d.pp != 0,
     fmt::format("a local batch of {} in {} micro-batches", d.micro_batch, d.pp),
     "a micro-batch that is a multiple of pp");
}

// [["tok_embeddings", "layers.0"], ["layers.1", "norm", "output"]]
std::string model_parts(const std::vector<int>& blocks) {
  std::string text = "[\n";
  int layer = 0;
  for (std::size_t s = 0; s < blocks.size(); ++s) {
    std::vector<std::string> parts;
    if (s == 0) parts.emplace_back("\"tok_embeddings\"");
    for (int i = 0; i < blocks[s]; ++i) parts.push_back(fmt::format("\"layers.{}\"", layer++));
    if (s + 1 == blocks.size()) {
      parts.emplace_back("\"norm\"");
      parts.emplace_back("\"output\"");
    }
    text += fmt::format("  [{}],\n", fmt::join(parts, ", "));
  }
  return text + "]";
}

std::string toml(const RegularPlan& regular, const Flavor& flavor, int seq,
                 const StackFacts& stack) {
  const plan::Degrees& d = regular.degrees;
  const bool pieces = stack.local_batch_split && d.pp > 1 && !regular.own_stages;
  const int local = d.pp > 1 && !pieces ? d.global_batch / d.dp : d.micro_batch;
  const bool compile = stack.name == "torchtitan-compile" || d.tensor_overlap;
  std::string converters;
  if (d.precision == Precision::kFp8) converters = "\"float8\"";
  if (d.precision == Precision::kMxfp8) converters = "\"mx\"";
  using plan::NumberType;
  std::string types;
  if (d.state_types.reduced != NumberType::kStack)
    types += fmt::format("mixed_precision_reduce = \"{}\"\n",
                         d.state_types.reduced == NumberType::kFp32 ? "float32" : "bfloat16");
  if (d.state_types.master == NumberType::kNone) types += "dtype = \"bfloat16\"\n";
  std::string text = fmt::format(
      "[model]\nname = \"{}\"\nflavor = \"{}\"\nconverters = [{}]\n\n"
      "[training]\nlocal_batch_size = {}\nglobal_batch_size = {}\nseq_len = {}\n"
      "mixed_precision_param = \"{}\"\n{}enable_cpu_offload = {}\ncompile = {}\nsteps = 100\n"
      "dataset = \"c4_test\"\n\n",
      flavor.name, flavor.flavor, converters, local, d.global_batch, seq,
      d.precision == Precision::kFp32 ? "float32" : "bfloat16", types, d.offload.weights == 1,
      compile);
  const int group = d.zero == 0 ? 1 : d.zero_group > 0 ? d.zero_group / d.cp : d.dp;
  text += fmt::format(
      "[parallelism]\ndata_parallel_replicate_degree = {}\ndata_parallel_shard_degree = {}\n"
      "fsdp_reshard_after_forward = \"{}\"\ntensor_parallel_degree = {}\n"
      "enable_async_tensor_parallel = {}\ncontext_parallel_degree = {}\n",
      d.dp / group, group, d.zero == 3 ? "always" : "never", d.tp, d.tensor_overlap, d.cp);
  if (d.cp > 1) text += "context_parallel_rotate_method = \"alltoall\"\n";
  text += fmt::format("expert_parallel_degree = {}\npipeline_parallel_degree = {}\n", d.ep, d.pp);
  if (d.pp > 1)
    text += fmt::format(
        "pipeline_parallel_schedule = \"{}\"\npipeline_parallel_microbatch_size = {}\n"
        "module_fqns_per_model_part = {}\n",
        schedule_word(d.schedule), pieces ? d.micro_batch / d.pp : d.micro_batch,
        model_parts(regular.blocks));
  text += fmt::format("\n[activation_checkpoint]\nmode = \"{}\"\n", to_string(d.recompute));
  if (d.recompute == Recompute::kSelective) text += "selective_ac_option = \"2\"\n";
  if (d.precision == Precision::kFp8) text += "\n[float8]\nrecipe_name = \"tensorwise\"\n";
  if (d.precision == Precision::kMxfp8) text += "\n[mx]\nrecipe_name = \"mxfp8\"\n";
  return text + "\n[optimizer]\nname = \"AdamW\"\nlr = 1e-4\n";
}

}  // namespace

Bundle write_torchtitan(const plan::Plan& plan, const RegularPlan& regular,
                        const StackFacts& stack) {
  ErrorList errors;
  check_nodes(kTorchtitan, plan, errors);
  check_axes(regular.degrees, plan.model.transformer && plan.model.transformer->experts > 0,
             errors);
  check_rest(regular, stack, errors);
  const Flavor* flavor = flavor_of(plan.model);
  if (flavor == nullptr) {
    std::string known;
    for (const Flavor& f : torchtitan_flavors())
      known += fmt::format("{}{}", known.empty() ? "" : ", ", f.model);
    cannot(errors, kTorchtitan,
           fmt::format("the model {}: its models are flavours registered in its code, and none has "
                       "this shape",
                       plan.model.name),
           "one of its flavours: " + known);
  }
  errors.throw_if_any();
  const std::string launch =
      script_header(kTorchtitan, plan, regular) + "\n" + torchrun_arguments(plan) +
      "\n# In a checkout of torchtitan; optimizer, data and length are yours to set in "
      "train.toml.\n"
      "torchrun \"${LAUNCH_ARGS[@]}\" -m torchtitan.train --job.config_file train.toml \"$@\"\n";
  return {{"train.toml", toml(regular, *flavor, plan.model.transformer->seq, stack)},
          {"launch.sh", launch},
          {"job.slurm", slurm_script(kTorchtitan, plan)}};
}

}  // namespace nereus::exporting
