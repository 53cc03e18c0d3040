"""Two jobs as streams of different priority in one process, by plain PyTorch: a peer for bench/gpu/background.

    python3 bench/gpu/priorities.py gpt2|resnet50|gaps SECONDS

Whole steps are CUDA graphs, bf16. Prints one line of JSON: the foreground's steps alone and beside (median and 99th percentile,
seconds), and the background's steps a second, alone and beside. The background is GPT-2 124M at 16 samples.
"""
import json
import os
import statistics
import sys
import threading
import time

import torch
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from gpt import Gpt

HIGH, LOW = -5, 0  # the lower the sooner


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 4 * width
        self.body = nn.Sequential(
            nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(True),
            nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(True),
            nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs))
        self.side = nn.Identity() if inputs == outputs else nn.Sequential(
            nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        return torch.relu(self.body(x) + self.side(x))


def resnet50():
    layers, inputs = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(True), nn.MaxPool2d(3, 2, 1)], 64
    for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(count):
            layers.append(Bottleneck(inputs, width, stride if i == 0 else 1))
            inputs = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 1000))


def make_step(name, batch):
    if name == "resnet50":
        model = resnet50().cuda().to(memory_format=torch.channels_last)
        x = torch.randn(batch, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
        y = torch.randint(0, 1000, (batch,), device="cuda")
        loss_of = lambda: nn.functional.cross_entropy(model(x), y)
    else:
        model = Gpt(12, 768, 12, 50304, 1024).cuda()
        ids = torch.randint(0, 50257, (batch, 1025), device="cuda")
        loss_of = lambda: model(ids[:, :-1], ids[:, 1:])
    torch.cuda.synchronize()  # what it reads is made on another stream
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True, capturable=True)

    def step():
        with torch.autocast("cuda", torch.bfloat16, cache_enabled=False):
            loss = loss_of()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    return step


def graph_of(step, stream):
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        graph.capture_begin()
        step()
        graph.capture_end()
    graph.reads = step  # else its model and samples are given back, and the next job's lie there
    return graph


def run(graph, stream, gap, until):
    """Step by step until then; their seconds and how many a second."""
    seconds, begin = [], time.perf_counter()
    with torch.cuda.stream(stream):
        while not until():
            start = time.perf_counter()
            graph.replay()
            stream.synchronize()
            if gap:
                time.sleep(gap)
            seconds.append(time.perf_counter() - start)
    return seconds, len(seconds) / (time.perf_counter() - begin)


def summary(seconds):
    ordered = sorted(seconds)
    return {"median_s": statistics.median(ordered), "p99_s": ordered[int(0.99 * len(ordered))], "mean_s": statistics.mean(ordered)}


def main():
    name, length = sys.argv[1], float(sys.argv[2])
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    first, second = torch.cuda.Stream(priority=HIGH), torch.cuda.Stream(priority=LOW)
    foreground = graph_of(make_step("gpt2" if name == "gaps" else name, 16 if name == "resnet50" else 2), first)
    background = graph_of(make_step("gpt2", 16), second)
    after = lambda time_s: (lambda end: lambda: time.perf_counter() > end)(time.perf_counter() + time_s)
    gap = 0
    if name == "gaps":
        gap = summary(run(foreground, first, 0, after(1))[0])["median_s"]
    alone, _ = run(foreground, first, gap, after(length / 3))
    _, background_alone = run(background, second, 0, after(length / 3))
    done, beside = threading.Event(), []
    thread = threading.Thread(target=lambda: beside.append(run(background, second, 0, done.is_set)[1]))
    thread.start()
    shared, _ = run(foreground, first, gap, after(length))
    done.set()
    thread.join()
    print(json.dumps({"alone": summary(alone), "beside": summary(shared), "background_alone_per_s": background_alone,
                      "background_per_s": beside[0]}))


main()
