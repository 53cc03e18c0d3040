"""GPT-2 trained by plain PyTorch, as a measure for nereus-worker: autocast to bf16, flash attention, fused AdamW.

    python3 bench/gpu/reference.py LAYERS HIDDEN HEADS BATCH eager|compile [VOCABULARY]

Prints one line: tokens/s and ms of the median of 20 steps after 8, and the GPU's peak memory.
"""
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

LAYERS, HIDDEN, HEADS, BATCH = (int(word) for word in sys.argv[1:5])
MODE = sys.argv[5]
VOCABULARY = int(sys.argv[6]) if len(sys.argv) > 6 else 50257
LENGTH = 1024


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(HIDDEN), nn.LayerNorm(HIDDEN)
        self.qkv, self.projection = nn.Linear(HIDDEN, 3 * HIDDEN), nn.Linear(HIDDEN, HIDDEN)
        self.wide, self.narrow = nn.Linear(HIDDEN, 4 * HIDDEN), nn.Linear(4 * HIDDEN, HIDDEN)

    def forward(self, x):
        n, s, _ = x.shape
        q, k, v = (part.view(n, s, HEADS, HIDDEN // HEADS).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).split(HIDDEN, 2))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.projection(mixed.transpose(1, 2).reshape(n, s, HIDDEN))
        return x + self.narrow(F.gelu(self.wide(self.norm2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, HIDDEN), nn.Embedding(LENGTH, HIDDEN)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(HIDDEN)

    def forward(self, ids, targets):
        x = self.tokens(ids) + self.positions(torch.arange(LENGTH, device=ids.device))
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.norm(x), self.tokens.weight)
        return F.cross_entropy(logits.view(-1, VOCABULARY).float(), targets.reshape(-1))


torch.manual_seed(0)
torch.set_float32_matmul_precision("high")
model = Gpt().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
run = torch.compile(model) if MODE == "compile" else model


def step():
    ids = torch.randint(0, VOCABULARY, (BATCH, LENGTH + 1), device="cuda")
    with torch.autocast("cuda", torch.bfloat16):
        loss = run(ids[:, :-1], ids[:, 1:])
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    return loss.item()


times = []
for _ in range(28):
    start = time.perf_counter()
    step()
    times.append(time.perf_counter() - start)
median = statistics.median(times[8:])
print(f"pytorch-{torch.__version__} {MODE:8} layers {LAYERS} hidden {HIDDEN} batch {BATCH} vocabulary {VOCABULARY}: "
      f"{BATCH * LENGTH / median:.0f} tokens/s, {median * 1e3:.1f} ms, {torch.cuda.max_memory_allocated() / 1e9:.1f} GB",
      flush=True)
