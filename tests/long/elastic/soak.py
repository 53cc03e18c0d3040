#!/usr/bin/env python3
"""Disturbs an elastic job for a while and checks that nothing shows in what it learns.

Agents run in network namespaces that a bridge joins, each behind a link of commodity bandwidth. Events come at random times,
from a seed: kill -9 of an agent or a worker, SIGTERM with notice, SIGSTOP and waking, a network cut, joins, the coordinator
killed and started again, two ranks at once, all replicas of a stage, kills during a morph and during a checkpoint.

Afterwards: every step once and in order, every loss that of an undisturbed run (fp64, 1e-9), no step done again but where
every copy of a stage was lost, how long it took from each event to the next step, and whether `nereus simulate
--availability` predicts how much got done (goodput.py).
"""
import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

import goodput
from goodput import NOTICE
from job import MODEL, Job
from net import Net, NoNet


class Soak:
    def __init__(self, job, args):
        self.job, self.args = job, args
        self.random = random.Random(args.seed)
        self.events = []  # name, seconds to the next step of a new generation (or None), steps done again
        self.gone = []  # time, name, seconds until it is seen: None = by heartbeats, less than 0 = known before

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

    def kill(self, *machines):
        now = time.monotonic()
        for i in machines:
            self.gone.append((now, self.job.names[i], 0))
            self.job.agents[i].kill()

    def goes(self, i, seen):
        self.gone.append((time.monotonic(), self.job.names[i], seen))

    def pick(self, count=1):
        ranks = self.job.ranks()
        chosen = [i for i in ranks.values() if i in self.job.alive()]
        self.random.shuffle(chosen)
        return chosen[:count]

    def pick_one(self):
        """A machine at work and its worker's process: workers come and go, so there may be none for a moment."""
        end = time.monotonic() + self.args.patience
        while time.monotonic() < end:
            for i in self.pick():
                if pid := self.job.worker(i):
                    return i, pid
            time.sleep(0.05)
        raise SystemExit("no machine has been at work for a minute")

    def kill_agent(self):
        i, _ = self.pick_one()
        self.event("kill -9 of an agent", lambda: self.kill(i))

    def kill_worker(self):
        i, pid = self.pick_one()

        def act():
            self.goes(i, 0)
            self.signal(pid, signal.SIGKILL)
        self.event("kill -9 of a worker", act)

    def kill_two(self):
        pair = self.pick(2)
        self.event("kill -9 of two at once", lambda: self.kill(*pair), stage=True)

    def notice(self):
        i, _ = self.pick_one()

        def act():
            self.goes(i, -NOTICE)
            self.job.agents[i].terminate()
        self.event("SIGTERM with notice", act)

    def stop_worker(self):
        i, pid = self.pick_one()
        self.stop("SIGSTOP of a worker", i, [pid])
        self.signal(pid, signal.SIGCONT)

    def stop_agent(self):
        i, worker = self.pick_one()
        pids = [self.job.agents[i].pid, worker]
        self.stop("SIGSTOP of a machine", i, pids)
        for pid in pids:
            self.signal(pid, signal.SIGCONT)

    def stop(self, name, i, pids):
        def act():
            self.goes(i, None)
            for pid in pids:
                self.signal(pid, signal.SIGSTOP)
        self.event(name, act)

    def signal(self, pid, number):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass

    def cut(self):
        if not self.args.namespaces:
            return self.stop_agent()
        i, _ = self.pick_one()

        def act():
            self.goes(i, None)
            self.job.net.cut(i, True)
        self.event("network cut", act)
        self.job.net.cut(i, False)

    def join(self):
        gone = [i for i in range(self.args.agents) if i not in self.job.alive()]
        if not gone:
            return False
        for i in gone:
            self.job.start_agent(i)
        before, start = len(self.job.morphs), time.monotonic()
        while len(self.job.morphs) == before and time.monotonic() < start + 20:
            # They are there, and the coordinator has seen whether it pays to go on with them.
            if len(self.job.joined_since(start)) >= len(gone) and time.monotonic() > self.job.joined_since(start)[-1] + 1.5:
                break
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
            self.kill(*chosen)
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
            self.kill(first)
            time.sleep(self.random.uniform(0.02, 0.6))
            self.kill(second)
            time.sleep(0.05)
            if not self.job.alive():
                self.job.start_agent(first)
        self.event("kill during a morph", act, stage=True)

    def during_checkpoint(self):
        i, _ = self.pick_one()
        folder = f"{self.job.folder}/checkpoints"

        def act():
            end = time.monotonic() + 15
            while time.monotonic() < end:
                if any(n.endswith(".partial") for n in os.listdir(folder)):
                    break
                time.sleep(0.0005)
            self.kill(i)
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
    parser.add_argument("--goodput", type=float, help="most that the simulation may be off (0.15; below 300 s, where a single event weighs "
                        "much and so does who else works, it is printed and not judged)")
    args = parser.parse_args()
    folder = os.path.abspath(args.folder)
    net = Net(f"nereus{os.getpid()}", args.agents, args.rate) if args.namespaces else NoNet()
    job = Job(args, net, folder)
    failures = []
    soak = Soak(job, args)
    rates = begin = end = None
    try:
        rates = goodput.measure_rates(args, net, f"{folder}/rates")
        if not job.start():
            failures.append("the job did not start")
        else:
            begin = (time.monotonic(), job.steps())
            soak.run()
            end = (time.monotonic(), job.steps())
        code = job.end()
        if code != 10:
            failures.append(f"the coordinator's exit code is {code}, not 10")
    finally:
        job.kill()
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
    if end:
        measured = (end[1] - begin[1]) / (end[0] - begin[0])
        predicted = goodput.predict(args, rates, job, soak.gone, steps, begin[0], end[0])
        print(f"goodput: {measured:.3f} steps/s measured, {predicted:.3f} simulated ({predicted / measured - 1:+.1%})")
        most = args.goodput or (0.15 if args.seconds >= 300 else None)
        if most and abs(predicted / measured - 1) > most:
            failures.append(f"the simulated goodput is off by {predicted / measured - 1:+.1%}, more than {most:.0%}")
    for failure in failures:
        print("failed:", failure)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
