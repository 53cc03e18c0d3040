"""Models of a user's own for tests/long/script.sh: exported, and trained in Python as the reference.

    models.py FOLDER      writes NAME/, NAME.safetensors, and NAME.json with the losses of 20 SGD steps in fp32 and fp64
"""
import copy
import json
import os
import sys

import torch
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"))
from nereus_export import CrossEntropy, export, tensors  # noqa: E402

STEPS, BATCH, RATE, SAMPLES = 20, 8, 0.05, 40


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width, bias=False)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


class ConvNorm(nn.Module):
    def __init__(self, channels_in, channels, size):
        super().__init__()
        self.parts = nn.Sequential(nn.Conv2d(channels_in, channels, size, padding=size // 2), nn.GroupNorm(2, channels), nn.ReLU())

    def forward(self, x):
        return self.parts(x)


class Join(nn.Module):
    """TorchScript cannot read *values, so this one is traced."""

    def __init__(self, channels):
        super().__init__()
        self.mix = nn.Conv2d(channels, channels, 1)

    def forward(self, *values):
        return self.mix(sum(values))


class Classify(nn.Module):
    def __init__(self, channels, classes):
        super().__init__()
        self.out = nn.Linear(channels, classes)

    def forward(self, x):
        return self.out(x.mean([2, 3]))


class Words(nn.Module):
    """A table that does not learn beside one that does."""

    def __init__(self, vocabulary, length, width):
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.register_buffer("positions", torch.randn(length, width))

    def forward(self, x):
        return self.words(x) + self.positions


class Attend(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.mixed = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        q, k, v = self.mixed(self.norm(x)).chunk(3, -1)
        return x + self.out(torch.softmax(q @ k.transpose(1, 2) * 0.25, -1) @ v)


class Huber(nn.Module):
    def forward(self, output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return nn.functional.smooth_l1_loss(output, target, reduction="none").sum(1)


def models():
    chain = [("stem", nn.Linear(8, 32), ["input"]), ("one", Residual(32), ["stem"]), ("two", Residual(32), ["one"]),
             ("three", Residual(32), ["two"]), ("head", nn.Linear(32, 4), ["three"])]
    yield "chain", chain, torch.randn(SAMPLES, 8), torch.randint(0, 4, (SAMPLES,)), CrossEntropy()
    graph = [("stem", ConvNorm(3, 8, 3), ["input"]), ("left", ConvNorm(8, 8, 3), ["stem"]),
             ("right", ConvNorm(8, 8, 1), ["stem"]), ("deep", ConvNorm(8, 8, 3), ["right"]),
             ("join", Join(8), ["left", "deep", "stem"]), ("head", Classify(8, 4), ["join"])]
    yield "graph", graph, torch.randn(SAMPLES, 3, 8, 8), torch.randint(0, 4, (SAMPLES,)), CrossEntropy()
    words = [("words", Words(16, 6, 16), ["input"]), ("first", Attend(16), ["words"]), ("second", Residual(16), ["first"]),
             ("head", nn.Linear(16, 16), ["second"])]
    text = torch.randint(0, 16, (SAMPLES, 7))
    yield "words", words, text[:, :-1].contiguous(), text[:, 1:].contiguous(), CrossEntropy()
    lines = [("stem", nn.Identity(), ["input"]), ("one", nn.Sequential(nn.Linear(5, 24), nn.Tanh()), ["stem"]),
             ("head", nn.Linear(24, 3), ["one"])]
    yield "lines", lines, torch.randn(SAMPLES, 5), torch.randn(SAMPLES, 3), Huber()


def train(layers, inputs, targets, loss, dtype):
    layers = [(name, copy.deepcopy(module).to(dtype), reads) for name, module, reads in layers]
    wide = [t.to(dtype) if t.is_floating_point() else t for t in (inputs, targets)]
    optimizer = torch.optim.SGD([p for _, m, _ in layers for p in m.parameters()], lr=RATE)
    losses = []
    for step in range(STEPS):
        rows = [(step * BATCH + i) % SAMPLES for i in range(BATCH)]
        values = {"input": wide[0][rows]}
        for name, module, reads in layers:
            values[name] = module(*[values[r] for r in reads])
        mean = loss(values[layers[-1][0]], wide[1][rows]).mean()
        optimizer.zero_grad()
        mean.backward()
        optimizer.step()
        losses.append(mean.item())
    return losses


def main(folder):
    torch.manual_seed(3)
    torch.set_num_threads(1)
    for name, layers, inputs, targets, loss in models():
        place = os.path.join(folder, name)
        export(place, layers, inputs[:4], targets[:4], loss)
        tensors(place + ".safetensors", inputs, targets)
        with open(place + ".json", "w") as file:
            json.dump({"fp32": train(layers, inputs, targets, loss, torch.float32),
                       "fp64": train(layers, inputs, targets, loss, torch.float64)}, file)


main(sys.argv[1])
