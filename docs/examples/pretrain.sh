#!/bin/bash
# A launch script as people write them: variables, arrays, a condition.
#SBATCH --nodes=16
#SBATCH --gres=gpu:8
GPUS_PER_NODE=8
TP=${TP:-8}
MODEL_ARGS=(
  --num-layers 80 --hidden-size 8192 --ffn-hidden-size 28672 --num-attention-heads 64
  --group-query-attention --num-query-groups 8 --seq-length 8192 --max-position-embeddings 8192
  --swiglu --normalization RMSNorm --disable-bias-linear --position-embedding-type rope
  --untie-embeddings-and-output-weights --vocab-size 128256
)
TRAIN_ARGS="--micro-batch-size 1 --global-batch-size 1024 --bf16 --lr 1e-4 --our-own-flag 3"
if [ "$TP" -gt 1 ]; then
  TRAIN_ARGS="$TRAIN_ARGS --use-distributed-optimizer --recompute-granularity full --recompute-method uniform"
fi
torchrun --nnodes $SLURM_NNODES --nproc_per_node $GPUS_PER_NODE pretrain_gpt.py "${MODEL_ARGS[@]}" $TRAIN_ARGS \
  --tensor-model-parallel-size $TP --pipeline-model-parallel-size 4 --data-path "$1"
