"""GPT-2 trained by plain PyTorch, as a measure for nereus-worker: autocast to bf16, flash attention, fused AdamW.

    python3 bench/gpu/reference.py LAYERS HIDDEN HEADS BATCH eager|compile [VOCABULARY]

Prints one line: tokens/s and ms of the median of 20 steps after 8, and the GPU's peak memory.
"""
import os
import statistics
import sys
import time

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from gpt import Gpt

LAYERS, HIDDEN, HEADS, BATCH = (int(word) for word in sys.argv[1:5])
MODE = sys.argv[5]
VOCABULARY = int(sys.argv[6]) if len(sys.argv) > 6 else 50257
LENGTH = 1024

torch.manual_seed(0)
torch.set_float32_matmul_precision("high")
model = Gpt(LAYERS, HIDDEN, HEADS, VOCABULARY, LENGTH).cuda()
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
