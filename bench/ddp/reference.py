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
from torch.nn import functional as F

LAYERS, HIDDEN, HEADS, VOCABULARY, LENGTH, BATCH, STEPS = (int(word) for word in sys.argv[1:8])
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
os.sched_setaffinity(0, {rank})
torch.set_num_threads(1)
dist.init_process_group("gloo")
torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(HIDDEN), nn.LayerNorm(HIDDEN)
        self.qkv, self.projection = nn.Linear(HIDDEN, 3 * HIDDEN), nn.Linear(HIDDEN, HIDDEN)
        self.wide, self.narrow = nn.Linear(HIDDEN, 4 * HIDDEN), nn.Linear(4 * HIDDEN, HIDDEN)
        self.above = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)

    def forward(self, x):
        n, s, _ = x.shape
        q, k, v = (part.view(n, s, HEADS, HIDDEN // HEADS).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).split(HIDDEN, 2))
        scores = (q * (HIDDEN // HEADS) ** -0.5) @ k.transpose(-2, -1)
        mixed = F.softmax(scores.masked_fill(self.above, float("-inf")), -1) @ v
        x = x + self.projection(mixed.transpose(1, 2).reshape(n, s, HIDDEN))
        return x + self.narrow(F.gelu(self.wide(self.norm2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, HIDDEN), nn.Embedding(LENGTH, HIDDEN)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(HIDDEN)

    def forward(self, ids, targets):
        x = self.tokens(ids) + self.positions(torch.arange(LENGTH))
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.norm(x), self.tokens.weight)
        return F.cross_entropy(logits.view(-1, VOCABULARY), targets.reshape(-1))


model = nn.parallel.DistributedDataParallel(Gpt(), gradient_as_bucket_view=True)
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
