"""What nereus_export counts and what it refuses: exporter.py FOLDER; any failure is an AssertionError."""
import os
import sys

import torch
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"))
from nereus_export import export, measure  # noqa: E402

folder = sys.argv[1]
x, y = torch.randn(4, 8), torch.randint(0, 3, (4,))


def flops(costs):
    return sum(2 * p["rows"] * p["n"] * p["k"] for p in costs["products"])


def counts():
    linear = nn.Linear(8, 32)
    costs = measure(lambda: linear(x), linear.parameters(), 4)
    assert flops(costs) == 2 * 8 * 32 and costs["saved_elements"] == 8 and costs["kernels"] == 0, costs
    both = nn.Sequential(nn.Linear(8, 32), nn.ReLU())
    costs = measure(lambda: both(x), both.parameters(), 4)
    assert costs["kernels"] == 1 and costs["read_elements"] == 32 and costs["saved_elements"] == 8 + 32, costs
    image = torch.randn(2, 3, 10, 10)
    conv = nn.Conv2d(3, 6, 3, groups=3, stride=2)
    assert flops(measure(lambda: conv(image), conv.parameters(), 2)) == 2 * 4 * 4 * 6 * 9
    up = nn.ConvTranspose2d(3, 5, 3)
    assert flops(measure(lambda: up(image), up.parameters(), 2)) == 2 * 100 * 3 * 5 * 9
    tokens = torch.randn(2, 6, 16)
    mixer = nn.MultiheadAttention(16, 4, batch_first=True)
    expected = 4 * 2 * 6 * 16 * 16 + 2 * 2 * 6 * 6 * 16  # four projections; scores and their use
    assert flops(measure(lambda: mixer(tokens, tokens, tokens), mixer.parameters(), 2)) == expected
    try:
        from torch.utils.flop_counter import FlopCounterMode
    except ImportError:
        return
    with FlopCounterMode(display=False) as counter:
        mixer(tokens, tokens, tokens)
        conv(image)
    assert counter.get_total_flops() == 2 * (expected + 2 * 4 * 4 * 6 * 9)


class Mixed(nn.Module):
    def forward(self, x):
        return x - x.mean(0)


class Noisy(nn.Module):
    def forward(self, x):
        return nn.functional.dropout(x, 0.5)


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.second(self.first(x))


def refused(words, layers, loss="cross_entropy"):
    try:
        export(os.path.join(folder, "refused"), layers, x, y, loss)
    except ValueError as error:
        assert words in str(error), error
        return
    raise AssertionError(f"not refused: {words}")


def body(module):
    return [("a", module, ["input"]), ("b", nn.Linear(8, 3), ["a"])]


counts()
tied, frozen = nn.Linear(8, 8), nn.Linear(8, 8)
frozen.weight.requires_grad_(False)
refused("a: 1 drops values", body(nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.1))))
refused("running_mean", body(nn.BatchNorm1d(8)))
refused("two runs on the same input differ", body(Noisy()))
refused("dim 0 must be the samples", body(Mixed()))
refused("a: weight is frozen", body(frozen))
refused("b.0.weight is a's too", [("a", tied, ["input"]), ("b", nn.Sequential(tied, nn.Linear(8, 3)), ["a"])])
refused("are one parameter", body(Twice()))
refused("one number for each sample", body(nn.Linear(8, 8)), nn.CrossEntropyLoss())
refused("no layer before it", [("a", nn.Linear(8, 8), ["input"]), ("b", nn.Linear(8, 3), ["c"])])
refused("nothing reads it", [("a", nn.Linear(8, 8), ["input"]), ("b", nn.Linear(8, 3), ["a"]), ("c", nn.Linear(8, 3), ["a"])])
refused("the first layer reads", [("a", nn.Linear(8, 8), ["input"]), ("b", nn.Linear(8, 3), ["input"])])
