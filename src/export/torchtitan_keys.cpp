#include "export/torchtitan.hpp"

namespace nereus::exporting {

const std::vector<Flavor>& torchtitan_flavors() {
  static const std::vector<Flavor> kFlavors = {
      {"llama3", "8B", "llama3-8b"},         {"llama3", "70B", "llama3-70b"},
      {"llama3", "405B", "llama3-405b"},     {"deepseek_v3", "671B", "deepseek-v3"},
      {"qwen3", "30B-A3B", "qwen3-30b-a3b"}, {"qwen3", "235B-A22B", "qwen3-235b-a22b"},
  };
  return kFlavors;
}

const std::vector<TitanSection>& torchtitan_sections() {
  static const std::vector<TitanSection> kSections = {
      {"job",
       {"",
        "config_file dump_folder description use_for_integration_test print_args print_config "
        "save_config_file custom_config_module"}},
      {"profiling",
       {"",
        "enable_profiling save_traces_folder profile_freq enable_memory_snapshot "
        "save_memory_snapshot_folder profiler_active profiler_warmup"}},
      {"metrics",
       {"",
        "log_freq enable_tensorboard disable_color_printing save_tb_folder save_for_all_ranks "
        "enable_wandb"}},
      {"model", {"name flavor converters", "tokenizer_path hf_assets_path print_after_conversion"}},
      {"optimizer",
       {"", "name lr beta1 beta2 eps weight_decay implementation early_step_in_backward"}},
      {"lr_scheduler", {"", "warmup_steps decay_ratio decay_type lr_min min_lr_factor"}},
      {"training",
       {"local_batch_size batch_size global_batch_size seq_len enable_cpu_offload "
        "mixed_precision_param mixed_precision_reduce dtype compile",
        "dataset dataset_path max_norm steps gc_freq gc_debug seed "
        "deterministic"}},
      {"parallelism",
       {"data_parallel_replicate_degree data_parallel_shard_degree fsdp_reshard_after_forward "
        "tensor_parallel_degree enable_async_tensor_parallel pipeline_parallel_degree "
        "pipeline_parallel_split_points module_fqns_per_model_part "
        "pipeline_parallel_first_stage_less_layers pipeline_parallel_last_stage_less_layers "
        "pipeline_parallel_layers_per_stage pipeline_parallel_schedule "
        "pipeline_parallel_microbatch_size context_parallel_degree expert_parallel_degree",
        "enable_compiled_autograd disable_loss_parallel pipeline_parallel_schedule_csv "
        "context_parallel_rotate_method expert_tensor_parallel_degree"}},
      {"checkpoint",
       {"",
        "enable enable_checkpoint folder interval initial_load_path initial_load_model_only "
        "initial_load_in_hf last_save_model_only last_save_in_hf export_dtype "
        "create_seed_checkpoint async_mode keep_latest_k load_step exclude_from_loading "
        "enable_first_step_checkpoint model_weights_only"}},
      {"activation_checkpoint",
       {"mode selective_ac_option", "per_op_sac_force_recompute_mm_shapes_by_fqns early_stop"}},
      {"compile", {"enable", "components backend"}},
      {"float8",
       {"recipe_name",
        "enable_fsdp_float8_all_gather precompute_float8_dynamic_scale_for_fsdp "
        "force_recompute_fp8_weight_in_bwd filter_fqns emulate moe_fqns_prototype"}},
      {"mx", {"recipe_name", "mxfp8_dim1_cast_kernel_choice filter_fqns"}},
      {"quantize", {"", "linear grouped_mm dense moe"}},
      {"comm",
       {"", "init_timeout_seconds train_timeout_seconds trace_buf_size save_traces_folder"}},
      {"memory_estimation", {"", "enabled disable_fake_mode"}},
      {"fault_tolerance",
       {"",
        "enable process_group process_group_timeout_ms replica_id group_size min_replica_size "
        "semi_sync_method sync_steps should_quantize fragment_sync_delay fragment_update_alpha"}},
      {"experimental", {"", "custom_import custom_args_module"}},
      {"validation",
       {"", "enabled enable dataset dataset_path local_batch_size seq_len freq steps"}},
  };
  return kSections;
}

}  // namespace nereus::exporting
