"""The same model measured three times: by our trainer's blocks, by the shim on a plain PyTorch script, by that script's traces.

Parts of a step, as shares of it:
  work        one device's work, contention among ranks (a trace does not tell them apart)
  straggler   waiting for the slowest rank
  talk        interconnect and network
  data        preparing and fetching
A breakdown is the same where each share is within 0.10 of our trainer's; a comparison that fails is tried once more. Once as the
machine is, once over a loopback of known rate, where most of a step is talk (needs root). Prints a line a comparison.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

WITHIN = 0.10
RATE = 400e6  # bytes/s of the slow loopback


def shares(answer):
    stalls, step = answer["stalls"], answer["step_s"]
    of = lambda *names: sum(stalls[name]["seconds"] for name in names) / step  # noqa: E731
    return {"work": answer["one_device_s"] / step + of("contention"), "straggler": of("straggler"),
            "talk": of("interconnect", "network"), "data": of("prepare", "fetch")}


class Bench:
    def __init__(self, args):
        self.args, self.prefix = args, []
        self.folder = args.folder
        self.script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "job.py")
        # Standard output is redirected and shown again: without, Debian's torch 1.13 under Python 3.11 fails to start ranks.
        self.launch = [args.python, "-m", "torch.distributed.run", "--nproc_per_node", "2", "--redirects", "1", "--tee", "1", self.script,
                       "train", self.folder]

    def run(self, command):
        environment = dict(os.environ, OMP_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo", TMPDIR=self.folder)
        ran = subprocess.run([*self.prefix, *command], capture_output=True, text=True, env=environment, cwd=self.folder)
        if ran.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: exit {ran.returncode}: {ran.stderr[-1500:]}")
        return ran.stdout

    def measure(self, *words):
        return json.loads(self.run([self.args.nereus, "measure", "--format", "json", "--seconds", str(self.args.seconds), *words]))

    def ours(self):
        return self.measure("--stalls", "--model", "stack", "--dp", "2", "--global-batch", "128", "--micro-batch", "64", "--data", "data.safetensors",
                            "--threads", "1", "--comm", "gloo", "--optimizer", "sgd", "--precision", "fp32")

    def shim(self):
        return self.measure("--", *self.launch)

    def traces(self):
        with tempfile.TemporaryDirectory(dir=self.folder) as traces:
            self.run([*self.launch, "--traces", traces])
            # Debian's PyTorch is built without Kineto: its traces do not say their rank.
            return self.measure("--kineto", *[f"{rank}={traces}/{rank}.json" for rank in (0, 1)])


def line_of(answer):
    return ", ".join(f"{name} {share:.3f}" for name, share in shares(answer).items()) + f" of {answer['step_s'] * 1e3:.0f} ms"


def compare(bench, name, kind):
    for _ in range(2):
        ours, theirs = bench.ours(), getattr(bench, kind)()
        print(f"{name}: ours {line_of(ours)}; {kind} {line_of(theirs)}", flush=True)
        a, b = shares(ours), shares(theirs)
        if all(abs(a[part] - b[part]) <= WITHIN for part in a) and abs(sum(b.values()) - 1) < 1e-6:
            print(f"passed {name}: {kind} as our trainer's", flush=True)
            return
    print(f"failed {name}: {kind} as our trainer's", flush=True)


def slow_loopback(name):
    commands = (["ip", "netns", "add", name], ["ip", "-n", name, "link", "set", "lo", "up"],
                ["tc", "-n", name, "qdisc", "add", "dev", "lo", "root", "tbf", "rate", f"{int(RATE * 8)}bit", "burst", "256kb", "latency", "100ms"])
    return all(subprocess.run(c, capture_output=True).returncode == 0 for c in commands)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nereus", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--seconds", type=float, default=10)
    bench = Bench(parser.parse_args())
    bench.run([bench.args.python, bench.script, "export", bench.folder])
    for kind in ("shim", "traces"):
        compare(bench, "as it is", kind)
    space = f"nereus-shim-{os.getpid()}"
    try:
        if os.geteuid() != 0 or not slow_loopback(space):
            print("skipped a slow loopback: needs root, ip and tc")
            return 0
        bench.prefix = ["ip", "netns", "exec", space]
        for kind in ("shim", "traces"):
            compare(bench, "a slow loopback", kind)
    finally:
        subprocess.run(["ip", "netns", "del", space], capture_output=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
