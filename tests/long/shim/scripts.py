"""Scripts as other people write them, for what the shim has to cope with.

    scripts.py KIND FOLDER      plain, files, slow-files, no-loader, talks, ends, fails, saves
"""
import os
import sys
import time

import torch
import torch.distributed as dist

kind, folder = sys.argv[1:3]
torch.set_num_threads(1)
if "RANK" in os.environ:
    dist.init_process_group("gloo")
model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 4))
if dist.is_initialized() and kind != "talks":
    model = torch.nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
before = [p.detach().clone() for p in model.parameters()]


class Files(torch.utils.data.Dataset):
    def __len__(self):
        return 256

    def __getitem__(self, i):
        path = os.path.join(folder, f"{i % 64}.bin")
        with open(path, "rb") as f:
            row = torch.frombuffer(bytearray(f.read(1024)), dtype=torch.float32)
        if kind == "slow-files":
            time.sleep(0.002)
        return {"x": torch.nan_to_num(row), "y": i % 4}


def step(x, y):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    if kind == "talks":
        other = torch.zeros(1)
        work = dist.isend(torch.ones(1), 1 - dist.get_rank())
        dist.recv(other, 1 - dist.get_rank())
        work.wait()
    optimizer.step()
    if kind == "saves":
        assert all(torch.equal(a, b) for a, b in zip(before, model.parameters())), "weights moved"
        torch.save(model.state_dict(), os.path.join(folder, "saved.pt"))


if kind == "fails":
    raise SystemExit(3)
if kind in ("no-loader", "talks", "ends"):
    for i in range(4 if kind == "ends" else 100000):
        step(torch.randn(16, 256), torch.randint(0, 4, (16,)))
else:
    loader = torch.utils.data.DataLoader(Files(), batch_size=16, num_workers=2 if kind == "files" else 0)
    for epoch in range(1000):
        for batch in loader:
            step(batch.pop("x"), batch.pop("y"))
