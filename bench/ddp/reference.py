"""A GPT trained by PyTorch's DistributedDataParallel over Gloo, as a measure for nereus train on CPUs.

    RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29555 \
        python3 reference.py LAYERS HIDDEN HEADS VOCABULARY LENGTH BATCH STEPS

BATCH is that of all ranks. Each rank is pinned to one core, with one thread. Rank 0 prints the median tokens/s.
"""
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from gpt import Gpt

LAYERS, HIDDEN, HEADS, VOCABULARY, LENGTH, BATCH, STEPS = (int(word) for word in sys.argv[1:8])
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
os.sched_setaffinity(0, {rank})
torch.set_num_threads(1)
dist.init_process_group("gloo")
torch.manual_seed(0)

model = nn.parallel.DistributedDataParallel(Gpt(LAYERS, HIDDEN, HEADS, VOCABULARY, LENGTH), gradient_as_bucket_view=True)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, foreach=True)
times = []
for _ in range(STEPS):
    ids = torch.randint(0, VOCABULARY, (BATCH // size, LENGTH + 1))
    start = time.perf_counter()
    loss = model(ids[:, :-1], ids[:, 1:])
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    loss.item()
    times.append(time.perf_counter() - start)
if rank == 0:
    median = statistics.median(times[STEPS // 4:])
    print(f"{BATCH * LENGTH / median:.1f}")
