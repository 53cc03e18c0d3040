#!/usr/bin/env python3
"""How far one rounding goes in a small ResNet, in PyTorch alone.

Trains ResNet-10 of 4 channels (64 x 64 pictures, BatchNorm over one sample, eight samples a step) twice with AdamW, the
second time with the gradient summed as two data ranks would: four samples each, then the two sums. In fp32 the two differ
by rounding. Prints for each starting value the largest relative difference of a loss until the first ReLU or maximum
switches in one run and not in the other, that step, and the largest afterwards. The last columns start from weights that
differ by 1e-7 in fp64, where nothing is rounded.

  python3 bench/rounding/resnet.py [--rate 1e-3] [--steps 20] [--starts 10]
"""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

SAMPLES, IMAGE, CLASSES, CHANNELS = 8, 64, 10, 4


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride, switches):
        super().__init__()
        self.switches = switches
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.down = None
        if stride > 1:
            self.down = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = self.norm2(self.conv2(self.switches.relu(self.norm1(self.conv1(x)))))
        return self.switches.relu(y + (self.down(x) if self.down else x))


class Switches:
    """Which way every ReLU and every maximum of a step went."""

    def __init__(self):
        self.step = []

    def relu(self, x):
        self.step.append(x > 0)
        return F.relu(x)

    def pool(self, x):
        y, places = F.max_pool2d(x, 3, 2, 1, return_indices=True)
        self.step.append(places)
        return y


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.switches = Switches()
        self.conv = nn.Conv2d(3, CHANNELS, 7, 2, 3, bias=False)
        self.norm = nn.BatchNorm2d(CHANNELS)
        widths = [CHANNELS << i for i in range(4)]
        self.blocks = nn.Sequential(
            *(Block(widths[max(i - 1, 0)], widths[i], 2 if i else 1, self.switches) for i in range(4)))
        self.classify = nn.Linear(widths[-1], CLASSES)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x):
        x = self.switches.pool(self.switches.relu(self.norm(self.conv(x))))
        return self.classify(self.blocks(x).mean((2, 3)))


def samples(step):
    random = torch.Generator().manual_seed(step)
    classes = torch.randint(0, CLASSES, (SAMPLES,), generator=random)
    pixels = torch.arange(3 * IMAGE * IMAGE)
    noise = torch.rand((SAMPLES, pixels.numel()), generator=random, dtype=torch.float64)
    pictures = (pixels // 97 + classes.unsqueeze(1) * 7) % 11 / 11 + noise - 1
    return pictures.view(SAMPLES, 3, IMAGE, IMAGE), classes


def train(start, ranks, dtype, rate, steps, shaken=0.0):
    torch.manual_seed(start)
    model = ResNet().to(dtype)
    weights = list(model.parameters())
    with torch.no_grad():
        for weight in weights:
            if shaken:
                weight.mul_(1 + shaken * torch.randn_like(weight))
    optimizer = torch.optim.AdamW(
        [{"params": [w for w in weights if w.dim() > 1], "weight_decay": 0.1},
         {"params": [w for w in weights if w.dim() == 1], "weight_decay": 0.0}], lr=rate)
    losses, switches = [], []
    for step in range(steps):
        pictures, classes = samples(step)
        loss, sums = 0.0, [0.0] * len(weights)
        model.switches.step = []
        for own in torch.arange(SAMPLES).chunk(ranks):
            optimizer.zero_grad(set_to_none=True)
            for i in own:
                part = F.cross_entropy(model(pictures[i:i + 1].to(dtype)), classes[i:i + 1]) / SAMPLES
                part.backward()
                loss += part.item()
            sums = [total + weight.grad for total, weight in zip(sums, weights)]
        for weight, total in zip(weights, sums):
            weight.grad = total
        optimizer.step()
        losses.append(loss)
        switches.append(model.switches.step)
    return losses, switches


def compare(one, other):
    errors = [abs(b / a - 1) for a, b in zip(one[0], other[0])]
    counts = [sum(int((x != y).sum()) for x, y in zip(a, b)) for a, b in zip(one[1], other[1])]
    first = next((step for step, count in enumerate(counts) if count), len(errors))
    before = max(errors[:first + 1])  # a switch of this step shows in the next one's loss
    after = f"{max(errors[first + 1:]):9.0e}" if errors[first + 1:] else f"{'-':>9}"
    return f"{before:9.0e} {first if first < len(errors) else '-':>6} {after}"


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--rate", type=float, default=1e-3)
    options.add_argument("--steps", type=int, default=20)
    options.add_argument("--starts", type=int, default=10)
    args = options.parse_args()
    torch.set_num_threads(1)
    print(f"{'':>5} {'fp32, summed as two ranks do':>26} {'fp64, weights shaken by 1e-7':>29}")
    print(f"{'start':>5} {'before':>9} {'switch':>6} {'after':>9}   {'before':>9} {'switch':>6} {'after':>9}")
    for start in range(args.starts):
        narrow = [train(start, ranks, torch.float32, args.rate, args.steps) for ranks in (1, 2)]
        wide = [train(start, 1, torch.float64, args.rate, args.steps, shaken) for shaken in (0, 1e-7)]
        print(f"{start:>5} {compare(*narrow)}   {compare(*wide)}", flush=True)


if __name__ == "__main__":
    main()
