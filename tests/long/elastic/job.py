"""The elastic job that is disturbed."""
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

GLOBAL_BATCH = 12
MODEL = ["--model", "gpt2", "--set", "model.layers=4", "--set", "model.hidden=64", "--set", "model.heads=4", "--set",
         "model.vocab=256", "--seq", "32", "--precision", "fp64", "--data", "synthetic", "--global-batch", str(GLOBAL_BATCH), "--rate", "1e-3",
         "--clip", "1", "--seed", "7", "--threads", "1"]
STARTED = re.compile(r"generation (\d+): (.*), step (\d+) ([\d.]+) s after the sign; state: (\d+) bytes own, (\d+) from peers, "
                     r"(\d+) from a checkpoint; (\d+) steps? done again")


class Job:
    """A coordinator and agents that are started and ended at will, and what the coordinator printed when."""

    def __init__(self, args, net, folder):
        self.args, self.net, self.folder = args, net, folder
        os.makedirs(folder, exist_ok=True)
        self.host = "10.231.8.254" if args.namespaces else "127.0.0.1"
        self.port = 29000 + os.getpid() % 1000
        self.agents = {}
        self.names = {}
        self.coordinator = None
        self.log = open(f"{folder}/coordinator.log", "w")
        self.lines = []  # (time, line)
        self.morphs = []  # (time, match)
        self.shape = None
        self.lock = threading.Lock()

    def start_coordinator(self):
        command = self.net.hub() + [self.args.nereus, "train", "--elastic", *MODEL, "--steps", str(self.args.steps), "--job", self.folder,
                                    "--listen", f"{self.host}:{self.port}", "--machines", str(self.args.agents), "--shapes",
                                    self.args.shapes, "--checkpoint-every", str(self.args.every), "--format", "json", "-o",
                                    f"{self.folder}/result.json"]
        self.coordinator = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        threading.Thread(target=self.read, args=(self.coordinator.stderr,), daemon=True).start()

    def read(self, stream):
        for line in stream:
            now = time.monotonic()
            self.log.write(f"{now:.3f} {line}")
            self.log.flush()
            with self.lock:
                self.lines.append((now, line))
                if match := STARTED.search(line):
                    self.morphs.append((now, match))
                    self.shape = match[2].split(" from the checkpoint")[0]

    def joined_since(self, start):
        with self.lock:
            return [when for when, line in self.lines if when > start and line.startswith("joined: ")]

    def start_agent(self, i):
        log = open(f"{self.folder}/agent-{i}.log", "a")
        self.names[i] = f"agent-{i}-{time.monotonic_ns() % 100000}"
        self.agents[i] = subprocess.Popen(
            self.net.inside(i) + [self.args.nereus, "agent", "--join", f"{self.host}:{self.port}", "--token", f"{self.folder}/token",
                                  "--name", self.names[i]], stderr=log, stdout=log)

    def worker(self, i):
        out = subprocess.run(["pgrep", "-P", str(self.agents[i].pid)], capture_output=True, text=True).stdout.split()
        return int(out[0]) if out else None

    def alive(self):
        return [i for i, p in self.agents.items() if p.poll() is None]

    def steps(self):
        try:
            with open(f"{self.folder}/steps.jsonl", "rb") as f:
                return f.read().count(b"\n")
        except FileNotFoundError:
            return 0

    def start(self):
        """The coordinator and all agents; True once five steps are done."""
        self.start_coordinator()
        while not os.path.exists(f"{self.folder}/token"):
            time.sleep(0.05)
            if self.coordinator.poll() is not None:
                sys.exit("the coordinator ended: " + "".join(line for _, line in self.lines))
        for i in range(self.args.agents):
            self.start_agent(i)
        return self.wait_steps(5, 60)

    def end(self):
        """The coordinator's exit code."""
        self.coordinator.send_signal(signal.SIGINT)
        try:
            return self.coordinator.wait(60)
        except subprocess.TimeoutExpired:
            self.coordinator.kill()
            return "none: killed"

    def kill(self):
        for process in self.agents.values():
            process.kill()
        if self.coordinator and self.coordinator.poll() is None:
            self.coordinator.kill()
        time.sleep(0.3)

    def state(self):
        with open(f"{self.folder}/coordinator.json") as f:
            return json.load(f)

    def ranks(self):
        """Agent by rank, of the generation that runs."""
        by_rank = {}
        for name, rank in self.state()["ranks"].items():
            by_rank[rank] = int(name.split("-")[1])
        return by_rank

    def wait_steps(self, more, timeout):
        goal, end = self.steps() + more, time.monotonic() + timeout
        while self.steps() < goal:
            if time.monotonic() > end or self.coordinator.poll() is not None:
                return False
            time.sleep(0.02)
        return True
