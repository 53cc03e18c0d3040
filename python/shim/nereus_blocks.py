"""Blocks of a script's steps that differ in one thing each, round after round in an order that changes, until the time is spent.

    alone      one rank of a host at a time; batches at hand; nobody talks
    together   all ranks at once, each for itself
    host       ranks of one host talk
    all        all ranks talk
    warm       and batches are read and prepared by the script's DataLoader, from files in the page cache
    cold       and their files are not in the page cache
    launch     seconds of one operation that has nothing to do; `count` of them in a step

The same as nereus-worker does for its own trainer (src/worker/run/blocks.cpp), with the same figures. run() is a generator: it
yields where the script shall make a step, and is resumed when it has. Rank 0 writes every rank's time as a line of JSON.
"""
import json
import os
import random
import time

import torch
import torch.distributed as dist

from nereus_files import bytes_from_storage
from nereus_talk import ALL, HOST, NONE, num_threads, settle

FIRST_STEPS = 3  # of the job: allocations, choices of kernels; batches of the last two are kept
WARM_UP = 2      # steps of a block before the clock starts
LEAST_STEPS, MOST_STEPS = 3, 40
ROUNDS_WANTED, MOST_ROUNDS = 10, 60
CHAIN, REPEATS = 40, 25  # of operations that have nothing to do


def host_number():
    """The same for ranks that share a kernel and a network."""
    with open("/proc/sys/kernel/random/boot_id") as f:
        boot = int(f.read().strip().replace("-", "")[:12], 16)
    return float(boot ^ os.stat("/proc/self/ns/net").st_ino)


class Ranks:
    """What ranks agree on beside the steps: numbers of all, and points that all have come to."""

    def __init__(self, talk):
        self.talk = talk
        together = dist.is_available() and dist.is_initialized()
        self.rank = dist.get_rank() if together else 0
        self.count = dist.get_world_size() if together else 1
        self.group = dist.new_group(backend="gloo") if self.count > 1 else None
        self.hosts = self.gather(host_number())
        self.host = [self.hosts.index(h) for h in self.hosts]  # the first rank of each
        here = [r for r in range(self.count) if self.host[r] == self.host[self.rank]]
        self.turn = here.index(self.rank)
        self.turns = max(self.host.count(h) for h in self.host)
        if 1 < self.turns < self.count:
            for first in sorted(set(self.host)):
                members = [r for r in range(self.count) if self.host[r] == first]
                group = dist.new_group(members)
                if self.rank in members:
                    talk.host_group = group

    def gather(self, mine):
        if self.group is None:
            return [float(mine)]
        numbers = [torch.zeros(1, dtype=torch.float64) for _ in range(self.count)]
        self.talk.real("all_gather")(numbers, torch.tensor([float(mine)], dtype=torch.float64), group=self.group)
        return [float(x) for x in numbers]

    def meet(self):
        self.gather(0)


class Counter:
    """Operations as PyTorch's profiler sees them, marks that scripts set aside."""

    MARKS = ("Optimizer.", "enumerate(DataLoader)", "ProfilerStep", "DistributedDataParallel.")

    def __init__(self):
        self.profile = torch.autograd.profiler.profile()

    def start(self):
        self.profile.__enter__()

    def stop(self):
        self.profile.__exit__(None, None, None)
        events = self.profile.kineto_results.events()
        return sum(not e.name().startswith(self.MARKS) for e in events)


def run_chain(rows, weight, bias):
    value = rows
    for _ in range(CHAIN):
        value = torch.add(torch.mm(value, weight), bias)
    value.sum().backward()


class Blocks:
    def __init__(self, shim):
        self.shim, self.talk, self.loaders = shim, shim.talk, shim.loaders
        self.on_gpu = torch.cuda.is_available() and torch.cuda.is_initialized()
        self.steps = LEAST_STEPS
        self.operations = self.chain_operations = 0
        self.per_step = {}  # batches of a step, by loader
        self.step_seconds = []
        self.threads = None  # of this process while no loader reads
        self.start = time.perf_counter()

    def run(self):
        yield from self.begin()
        blocks, order = self.blocks(), random.Random(0)  # the same on every rank
        samples = sum(self.ranks.gather(self.samples()))
        if self.ranks.rank == 0:
            self.write_job(samples)
        else:  # rank 0 writes, perhaps on another machine
            open(os.path.join(self.shim.folder, f"rank-{self.ranks.rank}"), "w").close()
        for number in range(MOST_ROUNDS):
            left = self.shim.seconds - (time.perf_counter() - self.start)
            enough = number >= self.shim.rounds and left <= 0
            if self.ranks.gather(enough)[0] > 0:
                break
            if self.ranks.rank == 0:
                self.shim.say(f"round {number + 1}, {left:.0f} s left" if left > 0 else f"round {number + 1}")
            order.shuffle(blocks)
            for block in blocks:
                numbers = yield from self.time_of(block)
                self.tell(number, block, numbers)
        self.ranks.meet()

    def blocks(self):
        blocks = ["alone", "all"]
        if self.ranks.count > 1 and not self.talk.unswitchable:
            blocks.append("together")
            if 1 < self.ranks.turns < self.ranks.count:
                blocks.append("host")
        if self.loaders:
            blocks += ["warm", "cold"]
        if self.chain_operations:
            blocks.append("launch")
        return blocks

    def begin(self):
        """Batches are kept, operations counted, and the length of blocks chosen."""
        self.shim.files.watch()
        self.ranks = Ranks(self.talk)
        if self.ranks.rank == 0:
            self.shim.say("measuring; nothing is learned: the learning rate is 0, torch.save writes nothing")
        for batches in self.loaders:
            batches.keeps = True
        for _ in range(FIRST_STEPS - 1):
            for batches in self.loaders:
                batches.taken = 0
            yield
        self.per_step = {b: b.taken for b in self.loaders}
        self.loaders = [b for b in self.loaders if b.taken]  # others were for before training
        self.at_hand()
        yield
        if not self.on_gpu and not torch.autograd._profiler_enabled():
            counter = Counter()
            counter.start()
            yield
            self.operations = counter.stop()
            self.chain_operations = self.count_chain()
        self.wait()
        start = time.perf_counter()
        yield
        self.wait()
        once = self.ranks.gather(time.perf_counter() - start)[0]
        block = self.shim.seconds / ROUNDS_WANTED / (len(self.blocks()) + self.ranks.turns + 2 * bool(self.loaders))
        self.steps = min(max(round(block / once) - WARM_UP, LEAST_STEPS), MOST_STEPS)
        # Workers of a loader are done at the same time where the step waits for them: whole turns of theirs.
        workers = max([b.loader.num_workers for b in self.loaders] + [1])
        workers = int(max(self.ranks.gather(workers)))
        self.steps = -(-self.steps // workers) * workers

    def time_of(self, block):
        self.at_hand()
        if block == "launch":
            return (yield from self.in_turn(self.empty_operation))
        if block == "alone":
            self.talk.set_reach(ALL if self.talk.unswitchable or self.ranks.count == 1 else NONE)
            if self.talk.reach == NONE:
                return (yield from self.in_turn(self.timed))
        else:
            self.talk.set_reach({"together": NONE, "host": HOST}.get(block, ALL))
        if block in ("warm", "cold"):
            self.open_files(block == "cold")
        self.ranks.meet()
        numbers = yield from self.timed()
        self.talk.set_reach(ALL)
        if block == "together":
            numbers["slowest"] = sum(max(self.ranks.gather(s)) for s in self.step_seconds) / self.steps
        for batches in self.loaders:
            batches.stop()
        return numbers

    def in_turn(self, work):
        numbers = None
        for turn in range(self.ranks.turns):
            self.ranks.meet()
            if turn == self.ranks.turn:
                numbers = yield from work()
        self.ranks.meet()
        self.talk.set_reach(ALL)
        return numbers

    def timed(self):
        for _ in range(WARM_UP):
            yield
        self.wait()
        processes = [os.getpid()] + [pid for b in self.loaders for pid in b.workers()]
        read = bytes_from_storage(processes)
        self.step_seconds = []
        start = before = time.perf_counter()
        for _ in range(self.steps):
            yield
            self.wait()
            now = time.perf_counter()
            self.step_seconds.append(now - before)
            before = now
        read = bytes_from_storage(processes) - read
        return {"seconds": (before - start) / self.steps, "bytes": read / self.steps, "count": self.steps}

    def open_files(self, cold):
        """Batches of the coming block are read once; ranks share files: nobody reads while they leave the page cache."""
        settle(self.threads)
        self.threads = num_threads()
        for batches in self.loaders:
            batches.choose((WARM_UP + self.steps) * self.per_step[batches])
            batches.drain()
            settle(self.threads)
        self.ranks.meet()
        if cold:
            self.shim.files.unmap()
            self.ranks.meet()
            self.shim.files.evict()
        self.ranks.meet()
        for batches in self.loaders:
            batches.open()

    def at_hand(self):
        for batches in self.loaders:
            batches.at_hand()

    def wait(self):
        if self.on_gpu:
            torch.cuda.synchronize()

    def chain(self):
        rows = torch.zeros(0, 8)
        weight = torch.zeros(8, 8, requires_grad=True)
        bias = torch.zeros(8, requires_grad=True)
        return lambda: run_chain(rows, weight, bias)

    def count_chain(self):
        once = self.chain()
        once()
        counter = Counter()
        counter.start()
        once()
        return counter.stop()

    def empty_operation(self):
        once = self.chain()
        start = time.perf_counter()
        for _ in range(REPEATS):
            once()
        seconds = (time.perf_counter() - start) / (REPEATS * self.chain_operations)
        return {"seconds": seconds, "bytes": 0, "count": self.operations}
        yield  # a generator, as timed() is

    def samples(self):
        """Of a step, on this rank; 0 where the loader does not say."""
        first = self.loaders[0] if self.loaders else None
        return (first.loader.batch_size or 0) * self.per_step[first] if first else 0

    def write_job(self, samples):
        self.write({"job": {
            "torch": torch.__version__, "backend": dist.get_backend() if self.ranks.count > 1 else "", "parameters": self.shim.parameters,
            "samples": samples, "ranks": self.ranks.count, "gpu": self.on_gpu, "loaders": len(self.loaders),
            "counted": bool(self.chain_operations), "unswitchable": sorted(self.talk.unswitchable),
            "files": len(self.shim.files.known())}})

    def tell(self, number, block, numbers):
        rows = [self.ranks.gather(numbers[key]) for key in ("seconds", "bytes", "count")]
        for rank, (seconds, read, count) in enumerate(zip(*rows)):
            self.write({"block": block, "round": number, "rank": rank, "host": self.ranks.host[rank], "seconds": seconds,
                        "slowest": numbers.get("slowest", 0), "bytes": max(0, read), "count": int(count)})

    def write(self, line):
        if self.ranks.rank == 0:
            with open(os.path.join(self.shim.folder, f"blocks-{os.getpid()}.jsonl"), "a") as f:
                f.write(json.dumps(line) + "\n")
