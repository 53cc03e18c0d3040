"""A plain PyTorch script, as other people write them, and the same model for nereus train.

    job.py export FOLDER                         writes FOLDER/stack (nereus_export) and FOLDER/data.safetensors
    torchrun job.py train FOLDER [--traces DIR]  trains it by DistributedDataParallel over Gloo; with traces of ten steps of each rank
"""
import argparse
import json
import os
import struct
import sys

import numpy
import torch
from torch import nn

WIDTH, LAYERS, CLASSES, SAMPLES, BATCH = 1024, 8, 16, 2048, 64  # BATCH: of a rank


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return x + torch.relu(self.linear(x))


def layers():
    torch.manual_seed(1)
    return [("layer%d" % i, Layer()) for i in range(LAYERS)] + [("head", nn.Linear(WIDTH, CLASSES))]


def export(folder):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "python"))
    import nereus_export
    inputs, targets = torch.randn(SAMPLES, WIDTH), torch.randint(0, CLASSES, (SAMPLES,))
    names = ["input"] + [name for name, _ in layers()]
    listed = [(name, module, [before]) for (name, module), before in zip(layers(), names)]
    nereus_export.export(os.path.join(folder, "stack"), listed, inputs[:2], targets[:2], loss="cross_entropy")
    nereus_export.tensors(os.path.join(folder, "data.safetensors"), inputs, targets)


class Rows(torch.utils.data.Dataset):
    """Of a safetensors file, each read when it is asked for."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as f:
            size = struct.unpack("<Q", f.read(8))[0]
            self.header = json.loads(f.read(size))
        self.first = 8 + size
        self.names = sorted((n for n in self.header if n != "__metadata__"), key=lambda n: -len(self.header[n]["shape"]))

    def __len__(self):
        return SAMPLES

    def __getitem__(self, row):
        values = []
        with open(self.path, "rb", buffering=0) as f:
            for name in self.names:
                entry = self.header[name]
                size = (entry["data_offsets"][1] - entry["data_offsets"][0]) // SAMPLES
                f.seek(self.first + entry["data_offsets"][0] + row * size)
                values.append(numpy.frombuffer(bytearray(f.read(size)), "<f4" if entry["dtype"] == "F32" else "<i8"))
        return torch.from_numpy(values[0]), int(values[1][0])


def train(folder, traces):
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    rank, count = torch.distributed.get_rank(), torch.distributed.get_world_size()
    model = nn.parallel.DistributedDataParallel(nn.Sequential(*[module for _, module in layers()]))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = Rows(os.path.join(folder, "data.safetensors"))
    sampler = torch.utils.data.DistributedSampler(data, count, rank)
    loader = torch.utils.data.DataLoader(data, BATCH, sampler=sampler, drop_last=True, num_workers=1)
    profiler = None
    if traces:
        profiler = torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU], schedule=torch.profiler.schedule(wait=3, warmup=2, active=20, repeat=1),
            on_trace_ready=lambda p: p.export_chrome_trace(os.path.join(traces, "%d.json" % rank)))
        profiler.start()
    for epoch in range(2 if traces else 20):
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad(set_to_none=True)
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
            if profiler:
                profiler.step()
    if profiler:
        profiler.stop()
    print("trained", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["export", "train"])
    parser.add_argument("folder")
    parser.add_argument("--traces")
    given = parser.parse_args()
    export(given.folder) if given.what == "export" else train(given.folder, given.traces)
