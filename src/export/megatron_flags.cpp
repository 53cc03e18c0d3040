#include "export/megatron_flags.hpp"

#include <algorithm>

namespace nereus::exporting {

namespace {

// Read by export/megatron_read.cpp.
constexpr std::string_view kRead = R"(
--num-layers --hidden-size --ffn-hidden-size --num-attention-heads --kv-channels
--group-query-attention --num-query-groups --max-position-embeddings --position-embedding-type
--use-rotary-position-embeddings --normalization --swiglu --quick-geglu --disable-bias-linear
--untie-embeddings-and-output-weights --qk-layernorm --window-size --vocab-size --padded-vocab-size
--tokenizer-type --seq-length --encoder-seq-length
--multi-latent-attention --q-lora-rank --kv-lora-rank --qk-head-dim --qk-pos-emb-head-dim --v-head-dim
--num-experts --moe-layer-freq --moe-ffn-hidden-size --moe-shared-expert-intermediate-size
--moe-router-topk --expert-model-parallel-size --expert-tensor-parallel-size
--tensor-model-parallel-size --pipeline-model-parallel-size --context-parallel-size --cp-comm-type
--num-layers-per-virtual-pipeline-stage --num-virtual-stages-per-pipeline-rank
--pipeline-model-parallel-layout --decoder-first-pipeline-num-layers
--decoder-last-pipeline-num-layers --account-for-embedding-in-pipeline-split
--account-for-loss-in-pipeline-split
--micro-batch-size --global-batch-size --sequence-parallel --tp-comm-overlap
--recompute-activations --recompute-granularity --recompute-method --recompute-num-layers
--recompute-modules --checkpoint-activations --use-distributed-optimizer --use-megatron-fsdp
--use-custom-fsdp --use-torch-fsdp2 --torch-fsdp2-no-reshard-after-forward
--data-parallel-sharding-strategy --num-distributed-optimizer-instances --overlap-grad-reduce
--overlap-param-gather --optimizer-cpu-offload --optimizer-offload-fraction
--cpu-offloading-num-layers --fp16 --bf16 --fp8-format --fp8-recipe --fp4-format --fp4-recipe
--mtp-num-layers --window-attn-skip-freq --zero-stage --deepspeed --no-pipeline-parallel --pad-vocab-size-to
--grad-reduce-in-bf16 --fp8-param-gather --use-precision-aware-optimizer --main-params-dtype
--exp-avg-dtype --exp-avg-sq-dtype
)";

// These change time or memory, and plans have no word for them.
constexpr std::string_view kCost = R"(
--attention-backend
--moe-expert-capacity-factor --moe-pad-expert-input-to-capacity
--moe-layer-recompute --moe-enable-deepep --moe-shared-expert-overlap
--overlap-moe-expert-parallel-comm --delay-wgrad-compute --distribute-saved-activations
--fp4-param-gather --first-last-layers-bf16 --num-layers-at-start-in-bf16
--num-layers-at-end-in-bf16 --no-fp8-wgrad --transformer-impl --use-legacy-models
--main-grads-dtype --optimizer --enable-cuda-graph --external-cuda-graph --cuda-graph-impl
--cuda-graph-scope --no-masked-softmax-fusion
--no-bias-gelu-fusion --no-bias-swiglu-fusion --no-bias-dropout-fusion --no-rope-fusion
--cross-entropy-loss-fusion --cross-entropy-fusion-impl --no-overlap-p2p-communication
--overlap-p2p-communication-warmup-flush --microbatch-group-size-per-virtual-pipeline-stage
--overlap-param-gather-with-optimizer-step --hierarchical-context-parallel-sizes
--enable-full-sharding-in-hsdp --use-tp-pp-dp-mapping --rampup-batch-size
--softmax-type --moe-token-dispatcher-type
--defer-embedding-wgrad-compute --wgrad-deferral-limit --deterministic-mode
--fp32-residual-connection --no-scatter-gather-tensors-in-pipeline --use-sharp
 --moe-extended-tp --no-persist-layer-norm --mlp-chunks-for-prefill
--pp-partition-method --deepspeed_config --deepspeed-activation-checkpointing --cpu-optimizer --ds-sequence-parallel-size
)";

constexpr std::string_view kHarmless = R"(
--no-gradient-accumulation-fusion --accumulate-allreduce-grads-in-fp32 --use-flash-attn --moe-grouped-gemm --make-vocab-size-divisible-by
--rotary-base --rotary-percent --rotary-interleaved --rotary-seq-len-interpolation-factor
--use-rope-scaling --rope-scaling-factor --no-rope-freq --no-position-embedding --mrope-section
--norm-epsilon --apply-layernorm-1p --apply-residual-connection-post-layernorm --openai-gelu
--squared-relu --activation-func-clamp-value --glu-linear-offset --onnx-safe --bert-no-binary-head
--mtp-loss-scaling-factor --relative-attention-num-buckets --relative-attention-max-distance
--log-straggler --disable-straggler-on-startup --straggler-ctrlr-port --straggler-minmax-count
--run-workload-inspector-server --inprocess-restart --inprocess-max-iterations
--inprocess-monitor-thread-interval --inprocess-monitor-process-interval
--inprocess-progress-watchdog-interval --inprocess-heartbeat-interval --inprocess-soft-timeout
--inprocess-hard-timeout --inprocess-heartbeat-timeout --inprocess-barrier-timeout
--inprocess-completion-timeout --inprocess-last-call-wait --inprocess-termination-grace-time
--inprocess-granularity --inprocess-active-world-size --inprocess-empty-cuda-cache --no-one-logger
--one-logger-project --one-logger-run-name --one-logger-async --app-tag-run-name
--app-tag-run-version --enable-ft-package --calc-ft-timeouts --config-logger-dir --log-params-norm
--log-num-zeros-in-grad --log-throughput --log-progress --timing-log-level --log-energy
--no-barrier-with-level-1-timing --timing-log-option --tensorboard-log-interval
--tensorboard-queue-size --log-timers-to-tensorboard --no-log-loss-scale-to-tensorboard
--log-validation-ppl-to-tensorboard --log-memory-to-tensorboard --log-world-size-to-tensorboard
--wandb-project --wandb-entity --wandb-exp-name --wandb-save-dir --logging-level
--attention-dropout --hidden-dropout --weight-decay --start-weight-decay --end-weight-decay
--weight-decay-incr-style --clip-grad --adam-beta1 --adam-beta2 --adam-eps --sgd-momentum
--muon-momentum --muon-no-split-qkv --muon-use-nesterov --muon-scale-mode --muon-fp32-matmul-prec
--muon-num-ns-steps --muon-tp-mode --muon-extra-scale-factor --batch-size
--decrease-batch-size-if-needed --no-check-for-nan-in-loss-and-grad --check-for-spiky-loss
--check-for-large-grads --no-clone-scatter-output-in-embedding --profile --profile-step-start
--profile-step-end --iterations-to-skip --result-rejected-tracker-filename
--disable-gloo-process-groups --use-pytorch-profiler --profile-ranks --record-memory-history
--memory-snapshot-path --tp-comm-overlap-cfg --disable-tp-comm-overlap-ag
--disable-tp-comm-overlap-rs --tp-comm-overlap-rs-dgrad --disable-tp-comm-bulk-dgrad
--disable-tp-comm-bulk-wgrad --tp-comm-bootstrap-backend --use-cpu-initialization
--empty-unused-memory-level --check-weight-hash-across-dp-replicas-interval
--calculate-per-token-loss --train-sync-interval --train-iters --train-samples --log-interval
--exit-interval --exit-duration-in-mins --exit-signal-handler --tensorboard-dir
--use-fused-weighted-squared-relu --rope-type --add-qkv-bias
--use-torch-optimizer-for-cpu-offload --overlap-cpu-optimizer-d2h-h2d
--dump-param-to-param-group-map --no-pin-cpu-grads --no-pin-cpu-params --dataloader-type
--no-async-tensor-model-parallel-allreduce --use-mcore-models --manual-gc --manual-gc-interval
--no-manual-gc-eval --disable-tp-comm-split-ag --disable-tp-comm-split-rs
--pipeline-model-parallel-comm-backend --high-priority-stream-groups --use-te-activation-func
--error-injection-rate --error-injection-type --rerun-mode --seed --data-parallel-random-init
--init-method-std --embedding-init-method-std --init-method-xavier-uniform --lr --lr-decay-style
--lr-wsd-decay-style --lr-decay-iters --lr-decay-samples --lr-wsd-decay-samples
--lr-wsd-decay-iters --lr-warmup-fraction --lr-warmup-iters --lr-warmup-samples --lr-warmup-init
--warmup --min-lr --override-opt_param-scheduler --override-opt-param-scheduler
--use-checkpoint-opt_param-scheduler --use-checkpoint-opt-param-scheduler --decoupled-lr
--decoupled-min-lr --save --save-interval --persistent-save-interval --save-retain-interval
--no-save-optim --no-save-rng --load --no-load-optim --load-main-params-from-ckpt --no-load-rng
--no-strict-fsdp-dtensor-load --non-persistent-save-interval --non-persistent-ckpt-type
--non-persistent-global-ckpt-dir --non-persistent-local-ckpt-dir --non-persistent-local-ckpt-algo
--finetune --pretrained-checkpoint --ckpt-step --no-initialization --use-checkpoint-args
--use-mp-args-from-checkpoint-args --no-use-tokenizer-model-from-checkpoint-args
--exit-on-missing-checkpoint --use-dist-ckpt --use-persistent-ckpt-worker
--auto-detect-ckpt-format --dist-ckpt-format --ckpt-format --ckpt-convert-format
--ckpt-convert-save --ckpt-convert-update-legacy-dist-opt-format --ckpt-fully-parallel-save
--no-ckpt-fully-parallel-save --async-save --ckpt-fully-parallel-load
--ckpt-assume-constant-structure --dist-ckpt-strictness --dist-ckpt-save-pre-mcore-014
--dist-ckpt-optim-fully-reshardable --distrib-optim-fully-reshardable-mem-efficient --loss-scale
--initial-loss-scale --min-loss-scale --loss-scale-window --hysteresis
--apply-query-key-layer-scaling --attention-softmax-in-fp32 --fp16-lm-cross-entropy
--disable-bf16-reduced-precision-matmul --reuse-grad-buf-for-mxfp8-param-ag --model-parallel-size
--distributed-backend --distributed-timeout-minutes --distributed-timeout-seconds-after-init
--no-align-grad-reduce --ddp-num-buckets --ddp-bucket-size --ddp-pad-buckets-for-high-nccl-busbw
--ddp-reduce-scatter-with-fp32-accumulation --ddp-average-in-collective --no-align-param-gather
--use-ring-exchange-p2p --local-rank --lazy-mpu-init --use-nccl-ub
--disable-symmetric-registration --sharp-enabled-group --init-model-with-meta-device
--no-gradient-reduce-div-fusion --fsdp-double-buffer --suggested-communication-unit-size
--keep-fp8-transpose-cache --nccl-communicator-config-path --replication --replication-jump
--replication-factor --full-validation --multiple-validation-sets --eval-iters --eval-interval
--test-mode --skip-train --vocab-file --merge-file --vocab-extra-ids --tokenizer-model
--tokenizer-metadata --tiktoken-pattern --tiktoken-num-special-tokens --tiktoken-special-tokens
--legacy-tokenizer --trust-remote-code --data-path --split --train-data-path --valid-data-path
--test-data-path --data-args-path --per-split-data-args-path --data-cache-path --no-mmap-bin-files
--mock-data --decoder-seq-length --retriever-seq-length --sample-rate --mask-prob
--short-seq-prob --num-workers --reset-position-ids --reset-attention-mask --eod-mask-loss
--no-create-attention-mask-in-dataloader --num-dataset-builder-threads
--object-storage-cache-path --mid-level-dataset-surplus --allow-ambiguous-pad-tokens
--adlr-autoresume --adlr-autoresume-interval --qk-l2-norm --moe-use-legacy-grouped-gemm
--moe-use-upcycling --moe-router-load-balancing-type --moe-router-dtype --moe-router-fusion
--moe-router-score-function --moe-router-pre-softmax --moe-router-num-groups
--moe-router-group-topk --moe-router-topk-scaling-factor --moe-router-enable-expert-bias
--moe-router-bias-update-rate --moe-router-force-load-balancing --moe-router-padding-for-fp8
--moe-aux-loss-coeff --moe-z-loss-coeff --moe-input-jitter-eps --moe-per-layer-logging
--moe-deepep-num-sms --moe-permute-fusion --moe-token-drop-policy --moe-apply-probs-on-input
--moe-upcycling-granularity --moe-pad-experts-for-cuda-graph-inference --rotary-scaling-factor
--mscale --mscale-all-dim --cache-mla-latents --enable-experimental --spec --yaml-cfg
--disable-msc --sft --sft-tokenizer-prompt-format --fp8-quantizer-factory --fp8-margin
--fp8-interval --fp8-amax-history-len --fp8-amax-compute-algo --fp4-quantizer-factory
--te-rng-tracker --inference-rng-tracker --cuda-graph-warmup-steps --encoder-num-layers
--decoder-num-layers --deepspeed_mpi --heterogeneous-layers-config-path
--heterogeneous-layers-config-encoded-json --hybrid-attention-ratio --hybrid-mlp-ratio
--hybrid-override-pattern --is-hybrid-model --mamba-state-dim --mamba-head-dim
--mamba-num-groups --mamba-num-heads --disable-mamba-mem-eff-path
)";

void add(std::vector<MegatronFlag>& flags, std::string_view names, Bearing bearing) {
  std::size_t at = 0;
  while ((at = names.find_first_not_of(" \n", at)) != std::string_view::npos) {
    const std::size_t end = std::min(names.find_first_of(" \n", at), names.size());
    flags.push_back({names.substr(at, end - at), bearing});
    at = end;
  }
}

}  // namespace

const std::vector<MegatronFlag>& megatron_flags() {
  static const std::vector<MegatronFlag> kFlags = [] {
    std::vector<MegatronFlag> flags;
    add(flags, kRead, Bearing::kRead);
    add(flags, kCost, Bearing::kCost);
    add(flags, kHarmless, Bearing::kHarmless);
    std::sort(flags.begin(), flags.end(),
              [](const MegatronFlag& a, const MegatronFlag& b) { return a.name < b.name; });
    return flags;
  }();
  return kFlags;
}

const MegatronFlag* find_megatron_flag(std::string_view name) {
  const std::vector<MegatronFlag>& flags = megatron_flags();
  const auto found = std::lower_bound(
      flags.begin(), flags.end(), name,
      [](const MegatronFlag& flag, std::string_view wanted) { return flag.name < wanted; });
  return found != flags.end() && found->name == name ? &*found : nullptr;
}

std::vector<std::string> megatron_flag_names() {
  std::vector<std::string> names;
  for (const MegatronFlag& flag : megatron_flags()) names.emplace_back(flag.name);
  return names;
}

}  // namespace nereus::exporting
