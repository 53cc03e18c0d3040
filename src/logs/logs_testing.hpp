// Logs in the forms that trainers print, written for tests from a few numbers.
//
//   megatron_log({.steps = {1.5, 1.0, 1.0}})
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

namespace nereus::logs::testing {

// A small dense model on one node of eight devices.
struct WrittenRun {
  std::vector<double> steps = {3.0, 1.0, 1.1, 0.9, 1.0, 1.0};  // seconds; the first is warm-up
  int layers = 16;
  int hidden = 2048;
  int heads = 16;
  int ffn = 5632;
  int seq = 2048;
  int vocab = 32000;
  int devices = 8;
  int tp = 1;
  int micro_batch = 2;
  int global_batch = 64;
  double memory_gib = 30;
};

inline std::string megatron_log(const WrittenRun& r) {
  const auto argument = [](const char* name, const auto& value) {
    std::string line = fmt::format("  {} ", name);
    line.append(line.size() < 50 ? 50 - line.size() : 3, '.');
    return line + fmt::format(" {}\n", value);
  };
  std::string text =
      "using world size: 8, data-parallel size: 8\n"
      "------------------------ arguments ------------------------\n";
  text +=
      argument("add_bias_linear", "False") + argument("bf16", "True") +
      argument("context_parallel_size", 1) + argument("ffn_hidden_size", r.ffn) +
      argument("fp16", "False") + argument("fp8", "None") +
      argument("global_batch_size", r.global_batch) + argument("group_query_attention", "False") +
      argument("hidden_size", r.hidden) + argument("kv_channels", r.hidden / r.heads) +
      argument("kv_lora_rank", 32) + argument("max_position_embeddings", r.seq) +
      argument("micro_batch_size", r.micro_batch) + argument("moe_router_topk", 2) +
      argument("normalization", "RMSNorm") + argument("num_attention_heads", r.heads) +
      argument("num_experts", "None") + argument("num_layers", r.layers) +
      argument("num_query_groups", 1) + argument("overlap_grad_reduce", "True") +
      argument("overlap_param_gather", "True") + argument("pipeline_model_parallel_size", 1) +
      argument("position_embedding_type", "rope") + argument("recompute_granularity", "None") +
      argument("seq_length", r.seq) + argument("sequence_parallel", r.tp > 1 ? "True" : "False") +
      argument("swiglu", "True") + argument("tensor_model_parallel_size", r.tp) +
      argument("untie_embeddings_and_output_weights", "True") +
      argument("use_distributed_optimizer", "True") +
      argument("virtual_pipeline_model_parallel_size", "None") + argument("world_size", r.devices);
  text +=
      "-------------------- end of arguments ---------------------\n"
      "> building Llama2Tokenizer tokenizer ...\n" +
      fmt::format(" > padded vocab (size: {}) with 0 dummy tokens (new size: {})\n", r.vocab - 7,
                  r.vocab) +
      "training ...\n";
  for (std::size_t i = 0; i < r.steps.size(); ++i) {
    text += fmt::format(
        " [2025-04-13 23:41:{:02}] iteration {:8}/{:8} | consumed samples: {:12} | elapsed time "
        "per iteration (ms): {:.1f} | throughput per GPU (TFLOP/s/GPU): 200.1 | learning rate: "
        "4.0E-05 | global batch size: {:5} | lm loss: 1.07E+01 | loss scale: 1.0 | grad norm: "
        "3.874 | number of skipped iterations:   0 | number of nan iterations:   0 |\n",
        i % 60, 10 * (i + 1), 1000, 640 * (i + 1), 1000 * r.steps[i], r.global_batch);
    if (i == 0)
      text += fmt::format(
          "[Rank 0] (after 10 iterations) memory (MB) | allocated: 14641.3 | max allocated: "
          "20464.34 | reserved: 21576.0 | max reserved: {:.1f}\n",
          1024 * r.memory_gib);
  }
  return text;
}

inline std::string deepspeed_log(const WrittenRun& r) {
  const std::string stamp = "[2023-11-07 01:55:08,039] [INFO] ";
  std::string text =
      stamp + "[logging.py:96:log_dist] [Rank 0] DeepSpeed info: version=0.14.0\n" + stamp +
      "[config.py:996:print] DeepSpeedEngine configuration:\n" + stamp +
      "[config.py:1000:print]   train_micro_batch_size_per_gpu  " + std::to_string(r.micro_batch) +
      "\n" + stamp + "[config.py:1000:print]   world_size ................... " +
      std::to_string(r.devices) + "\n" + stamp + "[config.py:986:print_user_config]   json = {\n";
  text += fmt::format(
      "    \"train_batch_size\": {}, \n    \"train_micro_batch_size_per_gpu\": {}, \n"
      "    \"steps_per_print\": 10, \n    \"zero_optimization\": {{\n        \"stage\": 3\n"
      "    }}, \n    \"bf16\": {{\n        \"enabled\": true\n    }}\n}}\n",
      r.global_batch, r.micro_batch);
  for (std::size_t i = 0; i < r.steps.size(); ++i)
    text += stamp + fmt::format(
                        "[timer.py:260:stop] epoch=0/micro_step={}/global_step={}, "
                        "RunningAvgSamplesPerSec={}, CurrSamplesPerSec={}, MemAllocated=4.32GB, "
                        "MaxMemAllocated={}GB\n",
                        40 * (i + 1), 10 * (i + 1), r.global_batch / r.steps[i],
                        r.global_batch / r.steps[i], r.memory_gib);
  return text;
}

// `python`: as torchtitan printed its configuration until October 2025. The model is a flavor.
inline std::string torchtitan_log(const WrittenRun& r, bool python = false) {
  const std::string stamp = "[titan] 2025-07-01 10:00:00,000 - root - INFO - ";
  std::string text = stamp + "Starting job: Llama 3 8B training\n";
  if (python)
    text += stamp + fmt::format(
                        "Running with args: {{'job': {{'description': \"Llama 3's\", 'print_args': "
                        "True}}, 'model': {{'name': 'llama3', 'flavor': '8B', 'converters': []}}, "
                        "'training': {{'seq_len': {}, 'local_batch_size': {}, "
                        "'global_batch_size': {}, 'compile': False, 'dataset_path': None}}, "
                        "'parallelism': {{'tensor_parallel_degree': {}}}, "
                        "'activation_checkpoint': {{'mode': 'selective', 'selective_ac_option': "
                        "'2'}}}}\n",
                        r.seq, r.micro_batch, r.global_batch, r.tp);
  else
    text += stamp + fmt::format(
                        "Running with configs: {{\n  \"job\": {{\n    \"description\": \"Llama\"\n"
                        "  }},\n  \"model\": {{\n    \"name\": \"llama3\",\n    \"flavor\": "
                        "\"8B\",\n    \"converters\": []\n  }},\n  \"training\": {{\n    "
                        "\"seq_len\": {},\n    \"local_batch_size\": {},\n    "
                        "\"global_batch_size\": {}\n  }},\n  \"parallelism\": {{\n    "
                        "\"tensor_parallel_degree\": {}\n  }},\n  \"activation_checkpoint\": {{\n"
                        "    \"mode\": \"selective\",\n    \"selective_ac_option\": \"2\"\n  }}\n"
                        "}}\n",
                        r.seq, r.micro_batch, r.global_batch, r.tp);
  text += stamp + fmt::format(
                      "Building device mesh with parallelism: pp=1, dp_replicate=1, "
                      "dp_shard={}, cp=1, tp={}, ep=1\n",
                      r.devices / r.tp, r.tp);
  text += stamp + "CUDA capacity: NVIDIA H100 80GB HBM3 with 79.10GiB memory\n";
  for (std::size_t i = 0; i < r.steps.size(); ++i) {
    const double tps = double(r.seq) * r.global_batch / r.steps[i] / r.devices;
    std::string commas = fmt::format("{:.0f}", tps);
    for (int at = static_cast<int>(commas.size()) - 3; at > 0; at -= 3)
      commas.insert(static_cast<std::size_t>(at), ",");
    text += stamp + fmt::format(
                        "\x1b[31mstep: {:2}  \x1b[32mloss:  7.12345  \x1b[38;2;180;60;0mgrad_norm: "
                        " 1.2345  \x1b[38;2;54;234;195mmemory: {:5.2f}GiB(37.74%)  \x1b[34mtps: "
                        "{}  \x1b[36mtflops: 312.10  \x1b[35mmfu: 31.56%\x1b[39m\n",
                        10 * (i + 1), r.memory_gib, commas);
  }
  return text;
}

inline std::string nemo_log(const WrittenRun& r) {
  std::string text = fmt::format(
      "[NeMo I 2024-05-01 10:00:00 megatron_gpt_pretraining:34] \n    \n"
      "    ************** Experiment configuration ***********\n"
      "[NeMo I 2024-05-01 10:00:00 megatron_gpt_pretraining:35] \n"
      "    trainer:\n      devices: {}\n      num_nodes: 1\n      precision: bf16\n"
      "    model:\n      micro_batch_size: {}\n      global_batch_size: {}\n"
      "      tensor_model_parallel_size: {}\n      pipeline_model_parallel_size: 1\n"
      "      virtual_pipeline_model_parallel_size: null\n      encoder_seq_length: {}\n"
      "      max_position_embeddings: {}\n      num_layers: {}\n      hidden_size: {}\n"
      "      ffn_hidden_size: {}\n      num_attention_heads: {}\n      num_query_groups: null\n"
      "      normalization: rmsnorm\n      bias: false\n      activation: fast-swiglu\n"
      "      share_embeddings_and_output_weights: false\n"
      "      position_embedding_type: rope\n      sequence_parallel: {}\n"
      "      activations_checkpoint_granularity: null\n"
      "      optim:\n        name: distributed_fused_adam\n        lr: 0.0001\n",
      r.devices, r.micro_batch, r.global_batch, r.tp, r.seq, r.seq, r.layers, r.hidden, r.ffn,
      r.heads, r.tp > 1);
  text += fmt::format(
      "[NeMo I 2024-05-01 10:00:01 exp_manager:396] Experiments will be logged at /results\n"
      "distributed_backend=nccl\n"
      "All distributed processes registered. Starting with {} processes\n"
      "[NeMo I 2024-05-01 10:00:09 megatron_base_model:580] Padded vocab_size: {}, original "
      "vocab_size: {}, dummy tokens: 7.\n",
      r.devices, r.vocab, r.vocab - 7);
  for (std::size_t i = 0; i < r.steps.size(); ++i)
    text += fmt::format(
        "\rEpoch 0: :  {}%|#     | {}/100 [00:{:02}<01:00, reduced_train_loss=10.8, "
        "global_step={}.0, consumed_samples={}.0, train_step_timing in s={:.3f}]",
        i + 1, i + 1, i % 60, i, r.global_batch * (i + 1), r.steps[i]);
  return text + "\n";
}

inline std::string huggingface_log(const WrittenRun& r) {
  const std::string stamp = "03/28/2024 22:16:56 - INFO - __main__ - ";
  std::string text =
      stamp +
      "Training/evaluation parameters TrainingArguments(\n_n_gpu=1,\nadafactor=False,\n"
      "bf16=True,\ndeepspeed=None,\nfp16=False,\nfsdp=[<FSDPOption.FULL_SHARD: 'full_shard'>, "
      "<FSDPOption.AUTO_WRAP: 'auto_wrap'>],\nfsdp_config={'min_num_params': 0, 'xla': False},\n"
      "gradient_checkpointing=False,\nlearning_rate=5e-05,\n)\n";
  text += fmt::format(
      "[INFO|configuration_utils.py:802] 2024-03-28 22:16:57,100 >> Model config LlamaConfig {{\n"
      "  \"architectures\": [\n    \"LlamaForCausalLM\"\n  ],\n  \"hidden_act\": \"silu\",\n"
      "  \"hidden_size\": {},\n  \"intermediate_size\": {},\n  \"max_position_embeddings\": 4096,\n"
      "  \"model_type\": \"llama\",\n  \"num_attention_heads\": {},\n  \"num_hidden_layers\": {},\n"
      "  \"num_key_value_heads\": {},\n  \"tie_word_embeddings\": false,\n  \"vocab_size\": {}\n"
      "}}\n\n",
      r.hidden, r.ffn, r.heads, r.layers, r.heads, r.vocab);
  text += fmt::format(
      "Grouping texts in chunks of {}: 100%|##########| 36/36 [00:12<00:00,  2.90 examples/s]\n"
      "[INFO|trainer.py:2128] 2024-03-28 22:18:00,000 >> ***** Running training *****\n"
      "[INFO|trainer.py:2129] 2024-03-28 22:18:00,000 >>   Num examples = 100,000\n"
      "[INFO|trainer.py:2131] 2024-03-28 22:18:00,000 >>   Instantaneous batch size per device = "
      "{}\n"
      "[INFO|trainer.py:2134] 2024-03-28 22:18:00,000 >>   Total train batch size (w. parallel, "
      "distributed & accumulation) = {}\n"
      "[INFO|trainer.py:2135] 2024-03-28 22:18:00,000 >>   Gradient Accumulation steps = {}\n"
      "[INFO|trainer.py:2136] 2024-03-28 22:18:00,000 >>   Total optimization steps = 5,000\n",
      r.seq, r.micro_batch, r.global_batch, r.global_batch / r.micro_batch / r.devices);
  // Each value stands for a hundred steps of the bar.
  double elapsed = 0;
  int step = 0;
  text += "  0%|          | 0/5000 [00:00<?, ?it/s]";
  for (const double seconds : r.steps) {
    elapsed += 100 * seconds;
    step += 100;
    const int whole = static_cast<int>(elapsed + 0.5);
    text += fmt::format("\r  {}%|#         | {}/5000 [{:02}:{:02}<59:59,  {:.2f}s/it]", step / 50,
                        step, whole / 60, whole % 60, seconds);
    text += fmt::format("{{'loss': 2.1, 'learning_rate': 4.9e-05, 'epoch': 0.{}}}\n", step);
  }
  text += fmt::format(
      "{{'train_runtime': {:.4f}, 'train_samples_per_second': {:.3f}, 'train_steps_per_second': "
      "{:.3f}, 'train_loss': 2.0, 'epoch': 1.0}}\n",
      elapsed, step * r.global_batch / elapsed, step / elapsed);
  return text;
}

}  // namespace nereus::logs::testing
