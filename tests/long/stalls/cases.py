"""Stalls that are put in on purpose, and what `nereus measure --stalls` makes of them.

Each case is a small job with one stall or two; what was put in is known by construction:
  launch        every operation takes X longer (inject.cpp), against 0 put in by the same means: operations of a step x what inject.cpp
                itself saw them take longer, in the same run: on a busy machine that is more than X
  straggler     the same on one rank of two
  contention    two ranks on one core: how much longer a rank's step takes while a job that knows nothing of it shares its core (more
                than twice as long as alone: both want the caches)
  interconnect  two ranks of one host whose loopback, both ways together, carries B bytes/s: 2 gradient bytes / B, whole after the
                backward pass
  network       two network namespaces whose link carries B bytes/s either way: gradient bytes / B
  prepare       every picture takes X longer to decode (asleep), against X / 1.5: pictures of a step x the difference, less what
                another stall makes the step longer, since samples are prepared meanwhile
  fetch         reading is limited to B bytes/s (control group), against 2 B: bytes read / B, less what the loader does meanwhile.
                With prepare, where how much a limit makes up for after a pause decides: what a program takes that reads such files
                under the same limit and sleeps as long between them
A stall counts as found where it is significant, and as sized where what was found is within 10 % of what was put in, or within its
own interval. What the machine has of each kind by itself, measured in the same way without, is taken off first; of prepare and
fetch with less of it, since the first of either hides behind the step.

Intervals of 95 % are wrong once in twenty times: wrong is what is wrong twice. A machine has other work, and a virtual one neighbours:
what was wrong while they took much of its time (Watch) is tried again. Where it never gets quiet, one of the attempts must have found
between half and twice what was put in. Right is right at any time.
"""
import argparse
import glob
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

WIRE = 1514 / 1448  # bytes on a wire for a byte of TCP over Ethernet
GPT = ["--model", "gpt2", "--set", "model.layers=2", "--set", "model.hidden=128", "--set", "model.heads=4", "--set", "model.vocab=512",
       "--seq", "64", "--global-batch", "8", "--data", "synthetic"]
ONE_CORE = ["taskset", "-c", "0"]
PICTURES, SIZE = 400, 160  # files, and pixels a side
MOST_ATTEMPTS = 4
MOST_TAKEN = 0.03   # by other machines, of the time that programs wanted to run
MOST_OTHERS = 0.15  # by other programs
ROUGHLY = 2         # times more or less, where it never gets quiet


def write_png(path, size, seed):
    """Of noise, which does not compress: files as large as their pixels."""
    rows = b"".join(b"\0" + random.Random(seed * size + y).randbytes(3 * size) for y in range(size))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)) +
                chunk(b"IDAT", zlib.compress(rows, 0)) + chunk(b"IEND", b""))


def make_pictures(folder):
    for label in ("a", "b"):
        os.makedirs(f"{folder}/{label}")
        for i in range(PICTURES // 2):
            write_png(f"{folder}/{label}/{i}.png", SIZE, i + (label == "b") * PICTURES)


class Bench:
    def __init__(self, args, folder):
        self.args, self.folder, self.tag = args, folder, f"stall{os.getpid()}"
        self.namespaces, self.group = [], None
        self.worker = f"{folder}/worker"  # with what puts stalls in, which only it can load
        with open(self.worker, "w") as f:
            f.write(f'#!/bin/sh\nLD_PRELOAD={args.inject} exec {os.path.dirname(args.nereus)}/nereus-worker "$@"\n')
        os.chmod(self.worker, 0o755)
        self.cnn = ["--model", "resnet10", "--set", "model.image=32", "--set", "model.classes=2", "--global-batch", "4", "--micro-batch", "2",
                    "--data", f"{folder}/pictures"]

    def run(self, *words):
        return subprocess.run(words, capture_output=True, text=True)

    def namespace(self, name):
        name = f"{self.tag}-{name}"
        if self.run("ip", "netns", "add", name).returncode != 0:
            return None
        self.namespaces.append(name)
        self.run("ip", "-n", name, "link", "set", "lo", "up")
        return name

    def limit(self, namespace, device, rate):
        return self.run("tc", "-n", namespace, "qdisc", "add", "dev", device, "root", "tbf", "rate", f"{int(rate * 8)}bit", "burst", "16kb",
                        "latency", "100ms").returncode == 0

    def slow_reading(self, rate):
        """A prefix of commands whose reads from the data's disk are limited, or None."""
        group = f"/sys/fs/cgroup/blkio/{self.tag}"
        device = os.stat(self.folder).st_dev
        try:
            os.makedirs(group, exist_ok=True)
            self.group = group
            with open(f"{group}/blkio.throttle.read_bps_device", "w") as f:
                f.write(f"{os.major(device)}:{os.minor(device)} {int(rate)}")
        except OSError:
            return None
        return ["sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh"]

    def reading_s(self, rate, pause_s):
        """Seconds that a cold picture takes to read, with such pauses between them."""
        program = f'''
import glob, os, time
spent = 0
files = sorted(glob.glob("{self.folder}/pictures/*/*.png"))[:24]
for name in files:
    file = os.open(name, os.O_RDONLY)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    start = time.monotonic()
    while os.read(file, 1 << 20): pass
    spent += time.monotonic() - start
    os.close(file)
    time.sleep({pause_s})
print(spent / len(files))'''
        try:
            return float(self.run(*self.slow_reading(rate), sys.executable, "-c", program).stdout)
        finally:
            self.clean()

    def clean(self):
        for name in self.namespaces:
            self.run("ip", "netns", "del", name)
        self.namespaces = []
        if self.group:
            try:
                os.rmdir(self.group)
            except OSError:
                pass
            self.group = None

    def measure(self, words, prefix=(), inject=None, seconds=None):
        return self.measure_beside(1, words, prefix, inject, seconds)[0]

    def measure_beside(self, count, words, prefix=(), inject=None, seconds=None):
        """So many jobs at a time."""
        environment = dict(os.environ, **(inject or {}))
        started = []
        for i in range(count):
            out = f"{self.folder}/out{i}.json"
            command = [*prefix, self.args.nereus, "measure", "--stalls", *words, "--worker", self.worker, "--threads", "1", "--seconds",
                       str(seconds or self.args.seconds), "--format", "json", "-o", out]
            started.append((out, command, subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)))
        answers = []
        for out, command, job in started:
            _, said = job.communicate()
            if job.returncode != 0:
                raise RuntimeError(f"{' '.join(command)}: exit {job.returncode}: {said[-800:]}")
            with open(out) as f:
                answers.append(json.load(f))
        return answers

    def shared_step_s(self, inject):
        """Of a rank of the GPT job, two ranks of which would be on one core."""
        words = GPT[:GPT.index("--global-batch")] + ["--global-batch", "4", "--data", "synthetic"]
        jobs = self.measure_beside(2, words, ONE_CORE, inject)
        return sum(job["one_device_s"] for job in jobs) / len(jobs)

    def measure_hosts(self, words, inject=None):
        """Two ranks, each in a namespace."""
        out = f"{self.folder}/out.json"
        ranks = []
        for rank in (0, 1):
            environment = dict(os.environ, RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK="0", MASTER_ADDR="10.232.9.1", MASTER_PORT="29500",
                               **(inject or {}))
            ranks.append(subprocess.Popen(
                ["ip", "netns", "exec", self.namespaces[rank], self.args.nereus, "measure", "--stalls", *words, "--worker", self.worker,
                 "--threads", "1", "--seconds", str(self.args.seconds), "--format", "json", "-o", out], env=environment, stderr=subprocess.PIPE, text=True))
        for rank in ranks:
            _, said = rank.communicate()
            if rank.returncode != 0:
                raise RuntimeError(f"exit {rank.returncode}: {said[-800:]}")
        with open(out) as f:
            return json.load(f)


class Watch:
    """How much of this machine's time its hypervisor gave to others, and others here took, since it was made."""

    def __init__(self):
        self.before = self.ticks()

    @staticmethod
    def ticks():
        """Of all processors: taken, wanted, and used by this test."""
        with open("/proc/stat") as f:
            user, nice, system, _, _, irq, soft, taken = (int(word) for word in f.readline().split()[1:9])
        return taken, user + nice + system + irq + soft + taken, sum(os.times()[:4]) * os.sysconf("SC_CLK_TCK")

    def disturbance(self):
        """In words; empty where there was none."""
        taken, wanted, own = (now - before for now, before in zip(self.ticks(), self.before))
        if taken > MOST_TAKEN * wanted:
            return f"other machines took {taken / wanted:.0%} of this one's time"
        others = wanted - taken - own
        return f"other programs took {others / wanted:.0%} of this machine's time" if others > MOST_OTHERS * wanted else ""


def two_hosts(bench, rate):
    a, b = bench.namespace("a"), bench.namespace("b")
    if not a or not b:
        return False
    bench.run("ip", "link", "add", "v0", "netns", a, "type", "veth", "peer", "name", "v0", "netns", b)
    for name, address in ((a, 1), (b, 2)):
        bench.run("ip", "-n", name, "addr", "add", f"10.232.9.{address}/24", "dev", "v0")
        bench.run("ip", "-n", name, "link", "set", "v0", "up")
        if rate and not bench.limit(name, "v0", rate):
            return False
    return True


def one_host(bench, rate):
    name = bench.namespace("one")
    # A loopback's packets would be 64 KiB, as large as the bucket.
    return bool(name) and bench.run("ip", "-n", name, "link", "set", "lo", "mtu", "1500").returncode == 0 and \
        bench.limit(name, "lo", rate)


class Case:
    """One job, the stalls that are put in, and the same without them."""

    def __init__(self, bench, kinds):
        self.bench, self.kinds = bench, kinds
        self.read_rate = bench.read_rate / (3 if "prepare" in kinds else 1)
        self.pictures = bool({"prepare", "fetch"} & set(kinds))
        self.two = bool({"straggler", "contention", "interconnect", "network"} & set(kinds))

    def rate_of(self, with_stalls):
        return self.read_rate * (1 if with_stalls else 2)

    def picture_time(self, with_stalls):
        return self.bench.picture_s / (1 if with_stalls else 1.5)

    def words(self):
        words = list(self.bench.cnn if self.pictures else GPT)
        if self.two:
            words += ["--dp", "2"]
        if {"interconnect"} & set(self.kinds):
            words += ["--comm", "gloo"]
        return words

    def slow_operations(self, with_stalls):
        inject = {}
        if {"launch", "straggler"} & set(self.kinds):
            inject["INJECT_OPERATION_US"] = str(self.bench.delay if with_stalls else 0)
            inject["INJECT_REPORT"] = f"{self.bench.folder}/report"
        if "straggler" in self.kinds:
            inject["INJECT_RANK"] = "1"
        return inject

    def run(self, with_stalls):
        for name in glob.glob(f"{self.bench.folder}/report.*"):
            os.remove(name)
        answer = self.run_job(with_stalls)
        if answer is not None:
            answer["operation_s"] = self.operation_s()
        return answer

    def operation_s(self):
        """What inject.cpp put into each operation of the last run, by its own clock."""
        count = seconds = 0
        for name in glob.glob(f"{self.bench.folder}/report.*"):
            with open(name, "rb") as f:
                more = struct.unpack("dd", f.read())
            count, seconds = count + more[0], seconds + more[1]
        return seconds / count if count else 0

    def run_job(self, with_stalls):
        bench, kinds = self.bench, self.kinds if with_stalls else []
        inject, prefix = self.slow_operations(with_stalls), []
        self.rate = 4 * bench.parameters[self.pictures] / 0.12
        if "prepare" in self.kinds:
            inject["INJECT_PICTURE_MS"] = str(1e3 * self.picture_time(with_stalls))
        try:
            if "network" in self.kinds:
                if not two_hosts(bench, self.rate if with_stalls else None):
                    return None
                return bench.measure_hosts(self.words(), inject)
            if "interconnect" in kinds:
                if not one_host(bench, self.rate):
                    return None
                prefix = ["ip", "netns", "exec", bench.namespaces[0]]
            if "fetch" in self.kinds:
                slow = bench.slow_reading(self.rate_of(with_stalls))
                if slow is None:
                    return None
                prefix = prefix + slow
            if "contention" in kinds:
                prefix = prefix + ONE_CORE
            return bench.measure(self.words(), prefix, inject)
        finally:
            bench.clean()

    def put_in(self, found, plain):
        """Seconds of each kind."""
        bench = self.bench
        operations = found["operations_per_step"] * (found["operation_s"] - plain["operation_s"])
        gradient_s = 4 * bench.parameters[self.pictures] / self.rate * WIRE
        if {"prepare", "fetch"} <= set(self.kinds):
            reading = [4 * bench.reading_s(self.rate_of(with_stalls), self.picture_time(with_stalls)) for with_stalls in (True, False)]
        else:
            reading = [max(0, run["storage_bytes_per_step"] / self.rate_of(with_stalls) - run["warm_s"])
                       for run, with_stalls in ((found, True), (plain, False))]
        longer = operations if {"launch", "straggler"} & set(self.kinds) else 0
        shared = bench.shared_step_s(self.slow_operations(True)) if "contention" in self.kinds else found["one_device_s"]
        seconds = {"launch": operations, "straggler": operations, "contention": shared - found["one_device_s"], "interconnect": 2 * gradient_s,
                   "network": gradient_s, "prepare": (2 if self.two else 4) * bench.picture_s / 3 - longer, "fetch": reading[0] - reading[1]}
        return {kind: seconds[kind] for kind in self.kinds}


def judge(case, found, plain):
    """Words for every kind that was put in, whether all are right, and whether they are roughly."""
    right, roughly, words = True, True, []
    for kind, expected in case.put_in(found, plain).items():
        stall = found["stalls"][kind]
        seen = stall["seconds"] - plain["stalls"][kind]["seconds"]
        half = (stall["high"] - stall["low"]) / 2
        sized = abs(seen - expected) <= max(0.1 * expected, half)
        right = right and stall["significant"] and sized
        roughly = roughly and expected / ROUGHLY <= seen <= expected * ROUGHLY
        words.append(f"{kind} {expected * 1e3:.1f} ms, found {seen * 1e3:.1f} +- {half * 1e3:.1f}"
                     f"{'' if stall['significant'] else ', not significant'}{'' if sized else ', WRONG'}")
    return right, roughly, "; ".join(words)


CHANGES = {"prepare": f"cores={1 / 1.5}", "fetch": "disk=0.5"}  # that make more of a stall


def foresee(bench, kinds, found, plain):
    """Whether the step with more of a stall is what `measure --what-if` says of the one with less."""
    change = CHANGES[kinds[0]]
    with open(f"{bench.folder}/plain.json", "w") as f:
        json.dump(plain, f)
    ran = bench.run(bench.args.nereus, "measure", "--what-if", f"{bench.folder}/plain.json", "--change", change, "--format", "json")
    step = json.loads(ran.stdout)["runs"][0]["changes"][0]
    half = sum((run["stalls"][kinds[0]]["high"] - run["stalls"][kinds[0]]["low"]) / 2 for run in (found, plain))
    near = abs(step["step_s"] - found["step_s"]) <= max(0.1 * found["step_s"], half)
    roughly = found["step_s"] / ROUGHLY <= step["step_s"] <= found["step_s"] * ROUGHLY
    return near, roughly, f"from {plain['step_s'] * 1e3:.1f} ms by {change}: {step['step_s'] * 1e3:.1f} ms, measured {found['step_s'] * 1e3:.1f} +- {half * 1e3:.1f}"


SINGLE = [["launch"], ["straggler"], ["contention"], ["interconnect"], ["network"], ["prepare"], ["fetch"]]
PAIRS = [["launch", "prepare"], ["straggler", "network"], ["straggler", "interconnect"], ["prepare", "fetch"], ["contention", "launch"],
         ["launch", "network"], ["straggler", "prepare"]]


def try_case(bench, kinds):
    """Of each of its checks, which are printed: True where right, False where wrong, None where skipped."""
    name, case = " and ".join(kinds), Case(bench, kinds)
    checks = {name: lambda found, plain: judge(case, found, plain)}
    if len(kinds) == 1 and kinds[0] in CHANGES:
        checks[f"what-if of {name}"] = lambda found, plain: foresee(bench, kinds, found, plain)
    results, wrong, rough = [], dict.fromkeys(checks, 0), dict.fromkeys(checks, False)

    def decide(check, result, words):
        results.append(result)
        print(f"{ {True: 'passed', False: 'failed', None: 'skipped'}[result]} {check}: {words}", flush=True)
        del checks[check]

    for attempt in range(MOST_ATTEMPTS):
        watch = Watch()
        found, plain = case.run(True), case.run(False)
        if found is None or plain is None:
            for check in list(checks):
                decide(check, None, "this machine cannot limit it")
            break
        answers = {check: ask(found, plain) for check, ask in checks.items()}
        disturbance = "" if all(right for right, _, _ in answers.values()) else watch.disturbance()
        for check, (right, roughly, words) in answers.items():
            wrong[check] += not right and not disturbance
            rough[check] = rough[check] or roughly
            if right:
                decide(check, True, words)
            elif wrong[check] == 2:
                decide(check, False, words + " (twice)")
            elif attempt + 1 == MOST_ATTEMPTS:
                decide(check, rough[check], f"{words}: {'right' if rough[check] else 'wrong'} within a factor of {ROUGHLY}, "
                       f"which is what is asked where {disturbance or 'others used this machine before'}")
            elif disturbance:
                print(f"  {check}: {words}: once more, since {disturbance}", flush=True)
        if not checks:
            break
    return results


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nereus", required=True)
    parser.add_argument("--inject", required=True)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--nulls", type=int, default=4)
    parser.add_argument("--only", default="", help="cases whose name contains one of these words, apart by commas")
    parser.add_argument("--all", action="store_true", help="pairs too")
    args = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="nereus-stalls-", dir=os.environ.get("NEREUS_STALL_FOLDER"))
    bench = Bench(args, folder)
    bench.delay, bench.read_rate, bench.picture_s = 8.0, 1.2e6, 0.12
    results = []
    try:
        make_pictures(f"{folder}/pictures")
        bench.parameters = {}
        for pictures, words in ((False, GPT), (True, bench.cnn)):
            answer = bench.measure(words, seconds=1)
            bench.parameters[pictures] = answer["parameters"]
        for kinds in SINGLE + (PAIRS if args.all else []):
            if not args.only or any(word in " and ".join(kinds) for word in args.only.split(",")):
                results += try_case(bench, kinds)
        alarms = runs = 0
        for i in range(args.nulls):
            answer = bench.measure((bench.cnn if i % 2 else GPT) + ["--dp", "2"])
            runs += 1
            # What is none by construction. The rest (launching, contention, talking) every machine has.
            named = [kind for kind in ("network", "host_copy", "fetch") if answer["stalls"][kind]["significant"]]
            alarms += bool(named)
            print(f"  nothing put in: named {named or 'nothing'}", flush=True)
        if runs:
            allowed = max(1, runs // 20)
            print(f"{'passed' if alarms <= allowed else 'failed'} nothing put in: {alarms} false alarms in {runs} runs", flush=True)
            results.append(alarms <= allowed)
    finally:
        bench.clean()
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(0 if results and False not in results else 1)


if __name__ == "__main__":
    main()
