#!/usr/bin/env python3
"""Disturbs an elastic job for a while and checks that nothing shows in what it learns.

Agents run in network namespaces that a bridge joins, each behind a link of commodity bandwidth. Events come at random times,
from a seed: kill -9 of an agent or a worker, SIGTERM with notice, SIGSTOP and waking, a network cut, joins, the coordinator
killed and started again, two ranks at once, all replicas of a stage, kills during a morph and during a checkpoint.

Afterwards: every step once and in order, every loss that of an undisturbed run (fp64, 1e-9), no step done again but where
every copy of a stage was lost, and how long it took from each event to the next step.
"""
import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time

MODEL = ["--model", "gpt2", "--set", "model.layers=4", "--set", "model.hidden=64", "--set", "model.heads=4", "--set",
         "model.vocab=256", "--seq", "32", "--precision", "fp64", "--data", "synthetic", "--global-batch", "12", "--rate", "1e-3",
         "--clip", "1", "--seed", "7", "--threads", "1"]
STARTED = re.compile(r"generation (\d+): (.*), step (\d+) ([\d.]+) s after the sign; state: (\d+) bytes own, (\d+) from peers, "
                     r"(\d+) from a checkpoint; (\d+) steps done again")
ROLE = re.compile(r"rank (\d+)")


class Net:
    """A bridge in a namespace of its own, and a namespace for each agent behind a link with a limited rate."""

    def __init__(self, tag, count, rate):
        self.tag, self.count = tag, count
        self.run("ip", "netns", "add", f"{tag}-hub")
        hub = ["ip", "-n", f"{tag}-hub"]
        self.run(*hub, "link", "add", "br0", "type", "bridge")
        self.run(*hub, "addr", "add", "10.231.8.254/24", "dev", "br0")
        self.run(*hub, "link", "set", "br0", "up")
        self.run(*hub, "link", "set", "lo", "up")
        for i in range(count):
            ns = self.name(i)
            self.run("ip", "netns", "add", ns)
            self.run("ip", "link", "add", "v0", "netns", ns, "type", "veth", "peer", "name", f"p{i}", "netns", f"{tag}-hub")
            self.run(*hub, "link", "set", f"p{i}", "master", "br0")
            self.run(*hub, "link", "set", f"p{i}", "up")
            self.run("ip", "-n", ns, "addr", "add", f"10.231.8.{i + 1}/24", "dev", "v0")
            self.run("ip", "-n", ns, "link", "set", "v0", "up")
            self.run("ip", "-n", ns, "link", "set", "lo", "up")
            for where, device in ((ns, "v0"), (f"{tag}-hub", f"p{i}")):
                self.run("tc", "-n", where, "qdisc", "add", "dev", device, "root", "tbf", "rate", rate, "burst", "256kb", "latency",
                         "50ms")

    def run(self, *words):
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)

    def name(self, i):
        return f"{self.tag}-{i}"

    def inside(self, i):
        return ["ip", "netns", "exec", self.name(i)]

    def hub(self):
        return ["ip", "netns", "exec", f"{self.tag}-hub"]

    def cut(self, i, down):
        self.run("ip", "-n", self.name(i), "link", "set", "v0", "down" if down else "up")

    def remove(self):
        for ns in [f"{self.tag}-hub"] + [self.name(i) for i in range(self.count)]:
            subprocess.run(["ip", "netns", "del", ns], stderr=subprocess.DEVNULL)


class NoNet:
    def inside(self, i):
        return []

    def hub(self):
        return []

    def remove(self):
        pass


class Job:
    def __init__(self, args, net, folder):
        self.args, self.net, self.folder = args, net, folder
        self.host = "10.231.8.254" if args.namespaces else "127.0.0.1"
        self.port = 29000 + os.getpid() % 1000
        self.agents = {}
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
                    self.shape = match[2]

    def start_agent(self, i):
        log = open(f"{self.folder}/agent-{i}.log", "a")
        self.agents[i] = subprocess.Popen(
            self.net.inside(i) + [self.args.nereus, "agent", "--join", f"{self.host}:{self.port}", "--token", f"{self.folder}/token",
                                  "--name", f"agent-{i}-{time.monotonic_ns() % 100000}"], stderr=log, stdout=log)

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

    def ranks(self):
        """Agent by rank, of the generation that runs."""
        with open(f"{self.folder}/coordinator.json") as f:
            state = json.load(f)
        by_rank = {}
        for name, rank in state["ranks"].items():
            by_rank[rank] = int(name.split("-")[1])
        return by_rank

    def wait_steps(self, more, timeout):
        goal, end = self.steps() + more, time.monotonic() + timeout
        while self.steps() < goal:
            if time.monotonic() > end or self.coordinator.poll() is not None:
                return False
            time.sleep(0.02)
        return True


class Soak:
    def __init__(self, job, args):
        self.job, self.args = job, args
        self.random = random.Random(args.seed)
        self.events = []  # name, seconds to the next step of a new generation (or None), steps done again
        self.stopped = []
        self.cuts = []

    def event(self, name, act, morphs=True, stage=False):
        before = len(self.job.morphs)
        steps = self.job.steps()
        stage = stage or not re.match(r"pp \d+ dp ([2-9]|\d\d)", self.job.shape or "")  # one copy alone
        start = time.monotonic()
        act()
        took = None
        end = start + self.args.patience
        while time.monotonic() < end and self.job.coordinator.poll() is None:
            if morphs and len(self.job.morphs) > before:
                took = self.job.morphs[before][0] - start
                break
            if not morphs and self.job.steps() > steps + 2:
                took = time.monotonic() - start
                break
            time.sleep(0.01)
        again = max([int(m[8]) for _, m in self.job.morphs[before:]], default=0)
        self.events.append((name, took, again, stage))
        print(f"  {name}: " + ("no step after it" if took is None else f"{took:.2f} s") + (f", {again} steps again" if again else ""),
              flush=True)
        self.job.wait_steps(self.random.randint(1, 8), self.args.patience)

    def pick(self, count=1):
        ranks = self.job.ranks()
        chosen = [i for i in ranks.values() if i in self.job.alive()]
        self.random.shuffle(chosen)
        return chosen[:count]

    def kill_agent(self):
        i, = self.pick()
        self.event("kill -9 of an agent", lambda: self.job.agents[i].kill())

    def kill_worker(self):
        i, = self.pick()
        self.event("kill -9 of a worker", lambda: os.kill(self.job.worker(i), signal.SIGKILL))

    def kill_two(self):
        pair = self.pick(2)
        self.event("kill -9 of two at once", lambda: [self.job.agents[i].kill() for i in pair], stage=True)

    def notice(self):
        i, = self.pick()
        self.event("SIGTERM with notice", lambda: self.job.agents[i].terminate())

    def stop_worker(self):
        i, = self.pick()
        pid = self.job.worker(i)
        self.event("SIGSTOP of a worker", lambda: os.kill(pid, signal.SIGSTOP))
        self.wake(pid)

    def stop_agent(self):
        i, = self.pick()
        pids = [self.job.agents[i].pid, self.job.worker(i)]
        self.event("SIGSTOP of a machine", lambda: [os.kill(p, signal.SIGSTOP) for p in pids])
        for pid in pids:
            self.wake(pid)

    def wake(self, pid):
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass

    def cut(self):
        if not self.args.namespaces:
            return self.stop_agent()
        i, = self.pick()
        self.event("network cut", lambda: self.job.net.cut(i, True))
        self.job.net.cut(i, False)

    def join(self):
        gone = [i for i in range(self.args.agents) if i not in self.job.alive()]
        if not gone:
            return False
        for i in gone:
            self.job.start_agent(i)
        before, start = len(self.job.morphs), time.monotonic()
        while len(self.job.morphs) == before and time.monotonic() < start + 20:
            time.sleep(0.05)
        grew = len(self.job.morphs) > before
        print(f"  join of {len(gone)}: " + (f"morphed after {time.monotonic() - start:.2f} s" if grew else "no morph"), flush=True)
        self.events.append(("join", 0.0, 0, False))
        return True

    def coordinator(self):
        def act():
            self.job.coordinator.kill()
            self.job.coordinator.wait()
            time.sleep(self.random.uniform(0, 2))
            self.job.start_coordinator()
        self.event("coordinator killed and started again", act, morphs=False)

    def stage(self):
        # Ranks of a regular plan: the replicas of stage s are s * dp .. s * dp + dp - 1.
        shape = re.match(r"pp (\d+) dp (\d+)", self.job.shape or "")
        ranks = self.job.ranks()
        if not shape:
            return
        pp, dp = int(shape[1]), int(shape[2])
        s = self.random.randrange(pp)
        chosen = [ranks[s * dp + d] for d in range(dp) if s * dp + d in ranks]

        def act():
            for i in chosen:
                self.job.agents[i].kill()
            time.sleep(0.05)
            if not self.job.alive():  # all there were: others come
                for i in range(self.args.agents):
                    self.job.start_agent(i)
        self.event(f"all {len(chosen)} replicas of stage {s} of {pp}", act, stage=True)

    def during_morph(self):
        first, second = (self.pick(2) + [None])[:2]
        if second is None:
            return

        def act():
            self.job.agents[first].kill()
            time.sleep(self.random.uniform(0.02, 0.6))
            self.job.agents[second].kill()
            time.sleep(0.05)
            if not self.job.alive():
                self.job.start_agent(first)
        self.event("kill during a morph", act, stage=True)

    def during_checkpoint(self):
        i, = self.pick()
        folder = f"{self.job.folder}/checkpoints"

        def act():
            end = time.monotonic() + 15
            while time.monotonic() < end:
                if any(n.endswith(".partial") for n in os.listdir(folder)):
                    break
                time.sleep(0.0005)
            self.job.agents[i].kill()
        self.event("kill during a checkpoint", act)

    def run(self):
        kinds = [self.kill_agent, self.kill_worker, self.kill_two, self.notice, self.stop_worker, self.stop_agent, self.cut,
                 self.coordinator, self.stage, self.during_morph, self.during_checkpoint]
        end = time.monotonic() + self.args.seconds
        queue = []
        while time.monotonic() < end and self.job.coordinator.poll() is None:
            if not queue:
                queue = kinds[:]
                self.random.shuffle(queue)
            if len(self.job.alive()) < max(3, self.args.agents - 2):
                self.join()
                self.job.wait_steps(2, self.args.patience)
            queue.pop()()
            if self.events and self.events[-1][1] is None:
                break
        return len(self.events)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nereus", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--agents", type=int, default=6)
    parser.add_argument("--rate", default="1gbit")
    parser.add_argument("--steps", type=int, default=1000000)
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("--patience", type=float, default=60)
    parser.add_argument("--shapes", default="3x2,2x3,2x2,1x4,1x3,1x2,2x1,1x1")
    parser.add_argument("--namespaces", action="store_true")
    parser.add_argument("--median", type=float, default=5)
    parser.add_argument("--worst", type=float, default=20)
    args = parser.parse_args()
    folder = os.path.abspath(args.folder)
    os.makedirs(folder, exist_ok=True)
    net = Net(f"nereus{os.getpid()}", args.agents, args.rate) if args.namespaces else NoNet()
    job = Job(args, net, folder)
    failures = []
    soak = Soak(job, args)
    try:
        job.start_coordinator()
        while not os.path.exists(f"{folder}/token"):
            time.sleep(0.05)
            if job.coordinator.poll() is not None:
                sys.exit("the coordinator ended: " + "".join(line for _, line in job.lines))
        for i in range(args.agents):
            job.start_agent(i)
        if not job.wait_steps(5, 60):
            failures.append("the job did not start")
        else:
            soak.run()
        job.coordinator.send_signal(signal.SIGINT)
        try:
            code = job.coordinator.wait(60)
        except subprocess.TimeoutExpired:
            job.coordinator.kill()
            code = "none: killed"
        if code != 10:
            failures.append(f"the coordinator's exit code is {code}, not 10")
    finally:
        for process in job.agents.values():
            process.kill()
        if job.coordinator and job.coordinator.poll() is None:
            job.coordinator.kill()
        time.sleep(0.3)
        net.remove()
    with open(f"{folder}/steps.jsonl") as f:
        steps = [json.loads(line) for line in f]
    if [s["step"] for s in steps] != list(range(len(steps))):
        failures.append("steps are missing or out of order")
    print(f"{len(soak.events)} events, {len(job.morphs)} generations, {len(steps)} steps; undisturbed for comparison", flush=True)
    result = subprocess.run([args.nereus, "train", *MODEL, "--steps", str(max(1, len(steps))), "--format", "json"], capture_output=True,
                            text=True)
    expected = json.loads(result.stdout)["losses"]
    off = [abs(s["loss"] / e - 1) for s, e in zip(steps, expected)]
    print(f"largest difference of a loss: {max(off):.2e}")
    if max(off) > 1e-9:
        failures.append(f"the loss of step {off.index(max(off))} differs by {max(off):.2e}")
    times = sorted(e[1] for e in soak.events if e[1] and e[0] != "join")
    for name, took, again, stage in soak.events:
        if took is None:
            failures.append(f"no step after: {name}")
        # Back to the last checkpoint that is complete: while the newest is on its way, the one before.
        if again > (2 * args.every + 1 if stage else 0):
            failures.append(f"{again} steps done again after: {name}")
    if times:
        median = times[len(times) // 2]
        print(f"to the next step: median {median:.2f} s, worst {times[-1]:.2f} s, of {len(times)}")
        if median > args.median:
            failures.append(f"median {median:.2f} s > {args.median} s")
        if times[-1] > args.worst:
            failures.append(f"worst {times[-1]:.2f} s > {args.worst} s")
    for failure in failures:
        print("failed:", failure)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
