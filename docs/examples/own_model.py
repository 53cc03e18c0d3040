"""The example of docs/own-models.md: python3 docs/examples/own_model.py FOLDER writes FOLDER/ and FOLDER.safetensors."""
import os
import sys

import torch
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"))
from nereus_export import export, tensors  # noqa: E402


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


torch.manual_seed(0)
layers = [("stem", nn.Linear(64, 512), ["input"])]
for i in range(6):
    layers.append((f"block{i}", Residual(512), [layers[-1][0]]))
layers.append(("head", nn.Linear(512, 10), ["block5"]))

inputs = torch.randn(4096, 64)
targets = (inputs @ torch.randn(64, 10)).argmax(1)
export(sys.argv[1], layers, inputs[:8], targets[:8], loss="cross_entropy")
tensors(sys.argv[1] + ".safetensors", inputs, targets)
