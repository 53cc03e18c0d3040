#!/usr/bin/env bash
# An elastic job whose machines come and go: agents in network namespaces behind links of 1 Gbit/s, disturbed at random (kill -9,
# SIGTERM with notice, SIGSTOP and waking, network cuts, joins, the coordinator killed, two ranks and whole stages at once, kills
# during a morph and a checkpoint), and every loss compared with that of an undisturbed run. Before that: what must be refused, plans
# against those of `nereus plan`, a slow machine, clocks that are wrong.
# NEREUS_SOAK_SEED and NEREUS_SOAK_SECONDS (45; 600 with NEREUS_EVERYTHING=yes) choose another. Needs root, for namespaces.
# RESULTS takes a line a test.
# Beside others: it waits more than it computes.
set -uo pipefail

root=$(dirname -- "$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")")
nereus=$(readlink -f -- "${NEREUS:-$root/build/test/nereus}")
scratch=$(mktemp -d)
pids=()
clean() {
  for pid in "${pids[@]:-}"; do [[ $pid ]] && kill -9 "$pid" 2>/dev/null; done
  rm -rf "$scratch"
}
trap clean EXIT
cd "$scratch" || exit 1
source "$root/tests/long/checks"

"$(dirname -- "$nereus")/nereus-worker" --version >/dev/null 2>&1 || skip "nereus-worker is not built"
model=(--model gpt2 --set model.layers=4 --set model.hidden=64 --set model.heads=4 --set model.vocab=256 --seq 32 --precision fp64
  --data synthetic --global-batch 12 --rate 1e-3 --threads 1)

soak() { # name, more options; why it failed is a line of its own
  local name=$1
  shift
  python3 "$root/tests/long/elastic/soak.py" --nereus "$nereus" --folder soak --seed "${NEREUS_SOAK_SEED:-1}" \
    --seconds "${NEREUS_SOAK_SECONDS:-$([[ ${NEREUS_EVERYTHING:-} ]] && echo 600 || echo 45)}" "$@" 2>&1 | tee soak.out
  local status=${PIPESTATUS[0]} line
  while IFS= read -r line; do check "$name: ${line#failed: }" false; done < <(grep '^failed: ' soak.out)
  check "$name$( ((status)) && tail -n 1 soak.out | sed 's/^/: /')" test "$status" -eq 0
}

# Shapes change with the machines, and state comes from peers.
"$nereus" train "${model[@]}" --steps 40 --format json -o one.json 2>one.err
check "one rank: exit 0" test $? -eq 0
"$nereus" train --elastic "${model[@]}" --steps 40 --job shapes --agents 6 --shapes 2x3,2x2,3x1 --checkpoint-every 1000 --format json \
  -o shapes.json 2>shapes.err &
job=$!
pids+=("$job")
wait_for() { # words in a file
  for ((i = 0; i < 600; ++i)); do grep -q "$1" "$2" 2>/dev/null && return 0 || sleep 0.1; done
  return 1
}
agent_of_rank() { # rank
  local name
  name=$(python3 -c 'import json, sys; print({r: n for n, r in json.load(open("shapes/coordinator.json"))["ranks"].items()}[int(sys.argv[1])])' "$1")
  pgrep -P "$job" -f -- "--name $name " | head -n 1
}
for ((i = 0; i < 600; ++i)); do (($(cat shapes/steps.jsonl 2>/dev/null | wc -l) >= 5)) && break || sleep 0.1; done
# Both of stage 1: one of the others must take their place.
first=$(agent_of_rank 4) second=$(agent_of_rank 5)
kill -9 "$first" "$second"
wait "$job"
check "machines are lost: exit 0" test $? -eq 0
check "machines are lost: losses of one rank, from peers' state" python3 -c '
import json
one, many = json.load(open("one.json")), json.load(open("shapes.json"))
assert len(many["losses"]) == 40
assert all(abs(a / b - 1) < 1e-9 for a, b in zip(one["losses"], many["losses"]))
morphs = [e for e in many["events"] if e["kind"] == "morph"]
assert morphs and all(m["checkpoint_bytes"] == 0 and m["lost_steps"] == 0 for m in morphs), morphs
assert sum(m["peer_bytes"] for m in morphs) > 0
print("  morphs:", [(m["text"], m["own_bytes"], m["peer_bytes"], round(m["seconds"], 2)) for m in morphs])'

# Strangers and agents of another token are refused, told and forgotten; the job goes on.
"$nereus" train --elastic "${model[@]}" --steps 60 --job strangers --agents 2 --listen "127.0.0.1:$((28000 + $$ % 1000))" \
  --format json -o strangers.json 2>strangers.err &
job=$!
pids+=("$job")
wait_for "after the sign" strangers.err
printf 'GET / HTTP/1.1\r\n\r\n' | timeout 2 bash -c "cat >/dev/tcp/127.0.0.1/$((28000 + $$ % 1000))"
head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >other.token
timeout 20 "$nereus" agent --join "127.0.0.1:$((28000 + $$ % 1000))" --token other.token --name stranger 2>stranger.err
check "strangers: told why, exit 2" test $? -eq 2 -a "$(grep -c "refused by .*the token is not the job's" stranger.err)" -eq 1
timeout 20 "$nereus" agent --join "127.0.0.1:$((28000 + $$ % 1000))" --token strangers/token --name $'odd\nname' 2>odd.err
check "a name of two lines: exit 2" test $? -eq 2 -a "$(grep -c '^refused: odd?name' strangers.err)" -eq 1
wait "$job"
check "strangers: the job ends well" test $? -eq 0
check "strangers: both are refused" test "$(grep -c '^refused' strangers.err)" -ge 2
check "strangers: none joined" test "$(grep -c '^joined: stranger' strangers.err)" -eq 0
check "the token is its owner's alone" test "$(stat -c %a strangers/token)" = 600

# The plan of every generation is what `nereus plan` says for those machines.
small=(--model gpt2 --set model.layers=4 --set model.hidden=64 --set model.heads=4 --set model.vocab=256 --seq 32 --precision fp32
  --global-batch 12)
"$nereus" train --elastic "${small[@]}" --data synthetic --rate 1e-3 --threads 1 --steps 100000 --job plans --agents 4 \
  --cluster 4xp3.2xlarge --format json -o plans.json 2>plans.err &
job=$!
pids+=("$job")
same_plan() { # machines
  "$nereus" plan "${small[@]}" --cluster "$1xp3.2xlarge" -o "$1.plan" >/dev/null &&
    python3 -c 'import json, sys; assert json.loads(json.load(open("plans/coordinator.json"))["job"])["plan"] == json.load(open(sys.argv[1]))' "$1.plan"
}
wait_for "after the sign" plans.err
check "the plan of 4 machines is plan's" same_plan 4
kill -9 "$(pgrep -P "$job" -f -- "--name local-2 ")"
wait_for "generation 1:.*after the sign" plans.err
check "the plan of 3 machines is plan's" same_plan 3
check "a local agent that ended is told of" grep -q "local-2 ended (signal 9) and is not started again" plans.err
kill -INT "$job"
wait "$job"
check "asked to end: exit 10" test $? -eq 10
check "asked to end: agents are told so" grep -q "local-0: the job was asked to stop" plans.err

# A machine that is slow, not gone: left out where that is faster, and tried again later.
"$nereus" train --elastic "${model[@]}" --steps 100000 --job slow --agents 3 --shapes 1x3,1x2,1x1 --probation 3 --format json -o slow.json \
  2>slow.err &
job=$!
pids+=("$job")
wait_for "after the sign" slow.err
worker=$(pgrep -P "$(pgrep -P "$job" -f -- "--name local-1 ")" | head -n 1)
(while kill -STOP "$worker" && sleep 0.2 && kill -CONT "$worker" && sleep 0.02; do :; done) 2>/dev/null &
stutter=$!
pids+=("$stutter")
wait_for "^slow: local-1" slow.err
kill "$stutter" && kill -CONT "$worker"
check "a slow machine is found by its step times" grep -q "^slow: local-1: busy" slow.err
wait_for "^probation: local-1: was slow" slow.err
wait_for "^checkpoint interval" slow.err
check "it is tried again" grep -q "^probation: local-1: was slow" slow.err
kill -INT "$job"
wait "$job"
check "a slow machine: losses of one rank, every step once" python3 -c '
import json
one, many = json.load(open("one.json")), json.load(open("slow.json"))
assert [json.loads(line)["step"] for line in open("slow/steps.jsonl")] == list(range(len(many["losses"])))
assert len(many["losses"]) > 16 and all(abs(a / b - 1) < 1e-9 for a, b in zip(one["losses"], many["losses"]))
morphs = [e for e in many["events"] if e["kind"] == "morph"]
assert morphs[0]["text"] == "pp 1 dp 2" and all(m["lost_steps"] == 0 for m in morphs), morphs'
check "checkpoints as often as measured, told" grep -q "^checkpoint interval: .* s: one checkpoint costs" slow.err

# Clocks an hour ahead and an hour behind: no date of a machine matters.
cat >skew.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
static long skew(void) { const char *text = getenv("SKEW"); return text ? atol(text) : 0; }
int clock_gettime(clockid_t clock, struct timespec *now) {
  int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
  const int result = real(clock, now);
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) now->tv_sec += skew();
  return result;
}
time_t time(time_t *out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
int gettimeofday(struct timeval *out, void *zone) {
  struct timespec now;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &now);
  out->tv_sec = now.tv_sec;
  out->tv_usec = now.tv_nsec / 1000;
  return 0;
}
END
if cc -O1 -shared -fPIC -o skew.so skew.c -ldl 2>/dev/null; then
  "$nereus" train --elastic "${model[@]}" --steps 40 --job skew --machines 2 --shapes 1x2,1x1 --listen "127.0.0.1:$((27000 + $$ % 1000))" \
    --format json -o skew.json 2>skew.err &
  job=$!
  pids+=("$job")
  wait_for "agents:" skew.err
  for hour in 3600 -3600; do
    SKEW=$hour LD_PRELOAD=$PWD/skew.so "$nereus" agent --join "127.0.0.1:$((27000 + $$ % 1000))" --token skew/token --name "skew$hour" \
      2>"agent$hour.err" &
    agent=$!
    pids+=("$agent")
  done
  for ((i = 0; i < 600; ++i)); do (($(cat skew/steps.jsonl 2>/dev/null | wc -l) >= 5)) && break || sleep 0.1; done
  kill -TERM "$agent"
  wait "$job"
  check "clocks two hours apart: exit 0" test $? -eq 0
  check "clocks two hours apart: losses of one rank, a notice taken" python3 -c '
import json
one, many = json.load(open("one.json")), json.load(open("skew.json"))
assert len(many["losses"]) == 40 and all(abs(a / b - 1) < 1e-9 for a, b in zip(one["losses"], many["losses"]))
kinds = [e["kind"] for e in many["events"]]
assert "notice" in kinds and "morph" in kinds and "lost" not in kinds, kinds'
fi

if ((EUID == 0)) && command -v ip tc >/dev/null && ip netns add "nereus$$-try" 2>/dev/null; then
  ip netns del "nereus$$-try"

  # A disk that is full: checkpoints fail and say so, training goes on, but a job whose last state is nowhere is not done. With more
  # room the same command goes on.
  mkdir full
  if mount -t tmpfs -o size=3m none full 2>/dev/null; then
    on_disk() {
      "$nereus" train --elastic "${model[@]}" --steps 30 --job disk --agents 2 --shapes 1x2 --checkpoint full --checkpoint-every 5 --format json \
        -o disk.json 2>disk.err
    }
    on_disk
    check "a full disk: exit 4" test $? -eq 4
    check "a full disk: said" grep -q "^remark: .*checkpoint" disk.err
    check "a full disk: why it failed is last" bash -c "tail -n 2 disk.err | grep -q 'elastic.not-saved'"
    check "a full disk: all steps" python3 -c 'import json; assert len(json.load(open("disk.json"))["losses"]) == 30'
    mount -o remount,size=64m full
    on_disk
    check "room again: exit 0" test $? -eq 0
    check "room again: the last state" test -f full/step-000030/manifest.json
    umount full
  fi

  soak "soak in namespaces" --namespaces
else
  soak "soak without namespaces"
fi
((failed)) && tail -n 20 ./*.err
exit $failed
