#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "export/deepspeed.hpp"
#include "export/hf_config.hpp"
#include "spec/reader.hpp"

namespace nereus::exporting {

namespace {

using cluster::Precision;
using plan::Recompute;

// Whole numbers that may be "auto", which means the trainer's argument.
int number_or_auto(spec::Reader& reader, const char* key, int automatic) {
  const spec::Value* value = reader.raw(key);
  if (value == nullptr) return 0;
  if (const auto* text = std::get_if<std::string>(&value->data); text != nullptr && *text == "auto")
    return automatic;
  return reader.optional_int(key, 0, 1, 1 << 30);
}

bool enabled(spec::Reader& reader, const char* key) {
  const spec::Value* value = reader.raw(key);
  if (value == nullptr) return false;
  const spec::Value* flag = value->find("enabled");
  if (flag == nullptr) return false;
  const auto* yes = std::get_if<bool>(&flag->data);
  return yes != nullptr && *yes;
}

// The share of a part that is in host memory.
double offloaded(spec::Reader& zero, const char* key, Reading& reading) {
  spec::Reader part = zero.optional_table(key);
  if (!part.present()) return 0;
  const std::string device = part.optional_string("device", "none");
  const double ratio = part.optional_double("ratio", 1.0, 0.0, 1.0);
  part.skip_rest();
  if (device == "none") return 0;
  if (device == "nvme")
    reading.not_counted.push_back(
        {fmt::format("{} on NVMe: modelled as if in host memory", key), zero.where(key).line});
  return ratio;
}

void read_batch(spec::Reader& json, const TrainerArguments& trainer, plan::Degrees& d,
                Reading& reading) {
  const int micro = number_or_auto(json, "train_micro_batch_size_per_gpu", trainer.micro_batch);
  const int steps = number_or_auto(json, "gradient_accumulation_steps", trainer.accumulation);
  const int total = number_or_auto(json, "train_batch_size", 0);
  const auto held = [](double value) { return static_cast<int>(std::clamp(value, 1.0, 1e9)); };
  d.micro_batch = micro;
  if (micro == 0 && total > 0) d.micro_batch = held(double(total) / d.dp / std::max(1, steps));
  if (micro == 0 && total == 0) {
    d.micro_batch = 1;
    reading.assumed.push_back(
        {"a micro-batch of 1, because the file leaves it to the trainer "
         "(auto)"});
  }
  d.global_batch = total > 0 ? total : held(double(d.micro_batch) * d.dp * std::max(1, steps));
  if (total == 0 && steps == 0)
    reading.assumed.push_back({fmt::format(
        "a global batch of {}, because the file states no gradient accumulation", d.global_batch)});
}

void read_zero(spec::Reader& json, plan::Degrees& d, Reading& reading, ErrorList& errors) {
  spec::Reader zero = json.optional_table("zero_optimization");
  if (!zero.present()) {
    d.data_overlap = false;
    return;
  }
  note_unknown_keys(*json.raw("zero_optimization"), deepspeed_zero_keys(), "zero_optimization.",
                    "DeepSpeed", reading, errors);
  d.zero = zero.optional_int("stage", 0, 0, 3);
  // DeepSpeed's default: only on under stage 3.
  d.data_overlap = zero.optional_bool("overlap_comm", d.zero == 3) && d.zero > 0;
  const int shard = zero.optional_int("mics_shard_size", -1, -1);
  if (shard > 0 && shard < d.dp) d.zero_group = shard;
  if (const int hpz = zero.optional_int("zero_hpz_partition_size", 1, 0); hpz > 1)
    reading.not_counted.push_back(
        {fmt::format("zero_hpz_partition_size {}: a second copy of the weights within nodes", hpz),
         zero.where("zero_hpz_partition_size").line});
  for (const char* key : {"zero_quantized_weights", "zero_quantized_gradients"})
    if (zero.optional_bool(key, false))
      reading.not_counted.push_back(
          {fmt::format("{}: fewer bytes on the wire", key), zero.where(key).line});
  d.offload.optimizer = offloaded(zero, "offload_optimizer", reading);
  d.offload.weights = offloaded(zero, "offload_param", reading) > 0 ? 1 : 0;
  if (zero.optional_bool("cpu_offload", false)) d.offload.optimizer = 1;
  zero.skip_rest();
}

// "bfp16" is an older spelling.
void read_type(spec::Reader& reader, const char* key, plan::NumberType& type) {
  const std::string word = reader.optional_string(key);
  if (word.empty()) return;
  const auto known = plan::parse_number_type(word == "bfp16" ? "bf16" : word);
  if (known && plan::allows(plan::kStateTypeParts[0], *known))
    type = *known;
  else
    reader.fail(key, "import.value", fmt::format("{}: no number format '{}'", key, word),
                plan::allowed_words(plan::kStateTypeParts[0]));
}

void read_types(spec::Reader& json, plan::StateTypes& types) {
  read_type(json, "communication_data_type", types.reduced);
  spec::Reader sums = json.optional_table("data_types");
  if (!sums.present()) return;
  read_type(sums, "grad_accum_dtype", types.gradients);
  sums.skip_rest();
}

}  // namespace

const KeySet& deepspeed_keys() {
  static const KeySet kKeys = {
      "train_batch_size train_micro_batch_size_per_gpu gradient_accumulation_steps "
      "zero_optimization bf16 bfloat16 fp16 tensor_parallel activation_checkpointing "
      "communication_data_type data_types",
      "optimizer scheduler amp gradient_clipping zero_allow_untested_optimizer "
      "zero_force_ds_cpu_optimizer steps_per_print wall_clock_breakdown memory_breakdown "
      "dump_state "
      "sparse_gradients prescale_gradients gradient_predivide_factor "
      "seq_parallel_comm_data_type disable_allgather graph_harvesting aio pipeline checkpoint "
      "flops_profiler tensorboard wandb csv_monitor comms_logger comet elasticity "
      "autotuning compression_training data_efficiency curriculum_learning eigenvalue "
      "progressive_layer_drop sparse_attention quantize_training hybrid_engine compile "
      "use_data_before_expert_parallelism dataloader_drop_last vocabulary_size torch_autocast "
      "nebula timers train monitor_config"};
  return kKeys;
}

const KeySet& deepspeed_zero_keys() {
  static const KeySet kKeys = {
      "stage overlap_comm offload_param offload_optimizer mics_shard_size zero_hpz_partition_size "
      "zero_quantized_weights zero_quantized_gradients cpu_offload",
      "contiguous_gradients reduce_scatter reduce_bucket_size use_multi_rank_bucket_allreduce "
      "allgather_partitions allgather_bucket_size load_from_fp32_weights elastic_checkpoint "
      "zenflow "
      "sub_group_size cpu_offload_param cpu_offload_use_pin_memory stage3_prefetch_bucket_size "
      "stage3_param_persistence_threshold stage3_model_persistence_threshold "
      "stage3_max_live_parameters stage3_max_reuse_distance "
      "stage3_gather_16bit_weights_on_model_save stage3_module_granularity_threshold "
      "stage3_use_all_reduce_for_fetch_params stage3_allgather_sequential "
      "stage3_partition_stream_chunk_size stage3_gather_fp16_weights_on_model_save "
      "ignore_unused_parameters legacy_stage1 round_robin_gradients "
      "zero_quantized_nontrainable_weights zeropp_loco_param mics_hierarchical_params_gather "
      "memory_efficient_linear pipeline_loading_checkpoint override_module_apply "
      "log_trace_cache_warnings enable_sanity_checks save_muon_momentum_buffer_in_memory "
      "leaf_module"};
  return kKeys;
}

Reading read_deepspeed(const Bundle& files, const Hints& hints, const ReadRequest& request) {
  const TextFile& file = *find_file(files, hints.main_file);
  ErrorList errors;
  Reading reading;
  const spec::Value value = spec::parse_json(file.text, file.name);
  const TrainerArguments trainer = read_trainer_arguments(files, errors);
  reading.model = read_model(files, hints, request, trainer);
  note_unknown_keys(value, deepspeed_keys(), "", "DeepSpeed", reading, errors);
  spec::Reader json(value, errors);
  plan::Degrees& d = reading.degrees;
  spec::Reader tensor = json.optional_table("tensor_parallel");
  if (tensor.present()) {
    d.tp = std::max(1, tensor.optional_int("autotp_size", 1, 0, 1 << 20));
    d.tensor_overlap = tensor.optional_bool("tp_overlap_comm", false);
    tensor.skip_rest();
  }
  d.dp = std::max(1, request.devices / d.tp);
  read_zero(json, d, reading, errors);
  read_batch(json, trainer, d, reading);
  if (enabled(json, "fp16"))
    d.precision = Precision::kFp16;
  else if (enabled(json, "bf16") || enabled(json, "bfloat16"))
    d.precision = Precision::kBf16;
  else
    d.precision = Precision::kFp32;
  for (const char* key : {"bf16", "fp16"}) {
    const spec::Value* part = json.raw(key);
    const spec::Value* flag = part == nullptr ? nullptr : part->find("enabled");
    if (flag == nullptr || !std::holds_alternative<std::string>(flag->data)) continue;
    if (d.precision == Precision::kFp32) {
      d.precision = Precision::kBf16;
      reading.assumed.push_back(
          {"bf16, because the file leaves the precision to the trainer "
           "(auto)"});
    }
  }
  read_types(json, d.state_types);
  if (trainer.checkpointing) d.recompute = Recompute::kFull;
  if (!trainer.checkpointing_said && json.raw("activation_checkpointing") != nullptr) {
    d.recompute = Recompute::kFull;
    reading.assumed.push_back(
        {"all blocks are recomputed, because the file has activation_checkpointing"});
  }
  json.skip_rest();
  errors.throw_if_any();
  return reading;
}

}  // namespace nereus::exporting
