"""Simulated against real: what was measured undisturbed, and the machines as they came and went, go into
`nereus simulate --availability`, and what it says of the job is compared with what the job did.

Measured before the disturbed run, in a job of its own on the same machines:
  plans        which one the coordinator takes with 1, 2, .. all machines, what its planner predicts of it, by which it chooses,
               and its steps per second
  morph        from the coordinator's sign to the first step after it, less that step: the mean over machines that are lost and
               come again, whose workers start beside the job as they do in the disturbed run
  checkpoint   from the step to the complete folder: the median
Steps per second of a plan are then taken from the disturbed run, where it did enough steps: the mean of all steps but the
first of a generation. All machines share the cores here, so whoever starts slows the others down, and so does who else works.
Detection is the coordinator's --dead-after where a machine falls silent (the simulator's own 2 s) and nothing where it dies.
The trace says when machines were there: since they had joined, and until they were killed, stopped, cut off or given notice.
"""
import json
import re
import statistics
import subprocess
import time

from job import GLOBAL_BATCH, Job

NOTICE = 30.0  # seconds that SIGTERM gives
UNDISTURBED = 2.5  # seconds that a rate is measured for


def watch_steps(job, seconds):
    """(time, steps) whenever that number has changed."""
    seen = [(time.monotonic(), job.steps())]
    while (passed := time.monotonic() - seen[0][0]) < seconds or len(seen) < 4 and passed < 60:
        time.sleep(0.005)
        if (steps := job.steps()) > seen[-1][1]:
            seen.append((time.monotonic(), steps))
    return seen


def measure_morphs(job, rates, rounds=8):
    """Seconds of every morph beyond its first step, while machines are killed and come again."""
    first = len(job.morphs)

    def wait_morph(seconds):
        before, end = len(job.morphs), time.monotonic() + seconds
        while len(job.morphs) == before and time.monotonic() < end:
            time.sleep(0.01)

    for number in range(rounds):
        chosen = list(job.ranks().values())
        i = chosen[number % len(chosen)]
        job.agents[i].kill()
        wait_morph(20)
        job.start_agent(i)
        wait_morph(5)  # it may not pay to go on with it
        job.wait_steps(3, 20)
    plans = [(match[2].split(" from the checkpoint")[0], float(match[4])) for _, match in job.morphs[first:]]
    return [seconds - 1 / rates[plan] for plan, seconds in plans if plan in rates] or [0.1]


def measure_rates(args, net, folder):
    job = Job(args, net, folder)
    rows, writes = [], []
    try:
        if not job.start():
            raise SystemExit("the job that is measured did not start")
        for machines in range(args.agents, 0, -1):
            steps = watch_steps(job, UNDISTURBED)[1:]  # the first is a part of one
            rate = (steps[-1][1] - steps[0][1]) / (steps[-1][0] - steps[0][0])
            state = job.state()
            stages = int(re.match(r"pp (\d+)", job.shape)[1])
            rows.append({"machines": machines, "plan": job.shape, "steps_per_s": rate, "uses": len(state["ranks"]), "stages": stages,
                         "planned": 1 / state["step_s"]})
            for when, line in job.lines:
                if (saved := re.match(r"checkpoint: .*step-(\d+)", line)) and (at := [t for t, n in steps if n == int(saved[1])]):
                    writes.append(max(0.0, when - at[0]))
            if machines > 1:
                before, start = len(job.morphs), time.monotonic()
                job.agents[job.ranks()[len(state["ranks"]) - 1]].kill()
                while len(job.morphs) == before and time.monotonic() < start + 60:
                    time.sleep(0.01)
        for i in range(args.agents):
            if i not in job.alive():
                job.start_agent(i)
        job.wait_steps(20, 60)
        morphs = measure_morphs(job, {row["plan"]: row["steps_per_s"] for row in rows})
        job.end()
    finally:
        job.kill()
    measured = {"rows": rows, "morph": statistics.mean(morphs), "write": statistics.median(writes or [0.1])}
    print("steps/s before: " + ", ".join(f"{row['machines']} machines ({row['plan']}) {row['steps_per_s']:.1f}" for row in rows))
    print(f"a morph takes {measured['morph']:.2f} s beyond its first step, a checkpoint {measured['write']:.2f} s", flush=True)
    return measured


def write_trace(file, job, gone, begin, end):
    """Events in seconds from the begin; machines that were there before come at 0."""
    moments = [(when, "add", line.split()[1], None) for when, line in job.lines if line.startswith("joined: ")]
    # Lost without a hand in it: seen at once.
    moments += [(when, "lost", line.split()[1].rstrip(":"), 0) for when, line in job.lines if line.startswith("lost: ")]
    moments += [(when, "remove", name, seen) for when, name, seen in gone]
    moments.sort(key=lambda m: m[0])
    there, leaving, rows = set(), set(), []
    for when, what, name, seen in moments:
        if when > end:
            break
        if what == "add" and name not in there:
            there.add(name)
            rows.append((max(0.0, when - begin), "add", name, ""))
        elif what != "add" and name in there and name not in leaving:
            if seen is not None and seen < 0:
                leaving.add(name)
                left = min(-seen, end - when)
                rows.append((when + left - begin, "remove", name, -left))
            else:
                there.discard(name)
                rows.append((when - begin, "remove", name, "" if seen is None else seen))
    rows.append((end - begin, "add", "the-end", ""))
    rows.sort(key=lambda row: row[0])
    with open(file, "w") as f:
        f.write("seconds,event,node,seen\n" + "".join(f"{t:.4f},{what},{name},{seen}\n" for t, what, name, seen in rows))


def rates_of_run(job, steps, enough=20):
    """Steps per second by plan."""
    plans = [(int(match[3]), match[2].split(" from the checkpoint")[0]) for _, match in job.morphs]
    firsts, seconds = {first for first, _ in plans}, {}
    for step in steps:
        plan = [plan for first, plan in plans if first <= step["step"]][-1:]
        if plan and step["step"] not in firsts:
            seconds.setdefault(plan[0], []).append(step["step_s"])
    return {plan: 1 / statistics.mean(times) for plan, times in seconds.items() if len(times) >= enough}


def predict(args, measured, job, gone, steps, begin, end):
    """Steps per second, of the same time."""
    trace = f"{job.folder}/availability.csv"
    write_trace(trace, job, gone, begin, end)
    of_run = rates_of_run(job, steps)
    print("steps/s of the run: " + ", ".join(f"{plan} {rate:.1f}" for plan, rate in of_run.items()))
    before = play(args, measured, job.folder, trace, {})
    print(f"with the rates of before: {before['samples_per_s'] / GLOBAL_BATCH:.3f} steps/s")
    found = play(args, measured, job.folder, trace, of_run)
    print("simulated: " + ", ".join(f"{share:.1%} {name}" for name, share in found["shares"].items()) +
          f"; {found['restarts']} morphs, {found['rollbacks']} back to a checkpoint")
    return found["samples_per_s"] / GLOBAL_BATCH


def play(args, measured, folder, trace, rates):
    table = f"{folder}/rates.csv"
    # Plans that the run did few steps of were slower than before by as much as the others.
    slower = statistics.mean([rates[row["plan"]] / row["steps_per_s"] for row in measured["rows"] if row["plan"] in rates] or [1])
    with open(table, "w") as f:
        f.write("machines,samples_per_s,uses,stages,planned_samples_per_s\n")
        for row in sorted(measured["rows"], key=lambda row: row["machines"]):
            rate = rates.get(row["plan"], row["steps_per_s"] * slower)
            f.write(f"{row['machines']},{rate * GLOBAL_BATCH},{row['uses']},{row['stages']},{row['planned'] * GLOBAL_BATCH}\n")
    command = [args.nereus, "simulate", "--availability", trace, "--rates", table, "--global-batch", str(GLOBAL_BATCH), "--policy", "ours",
               "--checkpoint-every", f"{args.every} steps", "--checkpoint-time", f"{measured['write']:.4f} s", "--morph-time",
               f"{measured['morph']:.4f} s", "--format", "json"]
    answer = subprocess.run(command, capture_output=True, text=True)
    if answer.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {answer.stderr}")
    return json.loads(answer.stdout)["policies"][0]
