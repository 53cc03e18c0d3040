#!/usr/bin/env bash
# `nereus train` from the outside: what is printed, what is left, how it ends when ranks die, hang or are asked to stop, and
# under launchers. First on a worker that trains nothing (tests/fake_worker), then on the real one where it is built.
# RESULTS takes a line a test.
# Beside others: its ranks wait more than they compute.
set -uo pipefail

root=$(dirname -- "$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")")
nereus=${NEREUS:-$root/build/test/nereus}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
export TMPDIR=$scratch  # job files lie there: other trainings of the machine are not ours

source "$root/tests/long/checks"

export FAKE_BUILD
FAKE_BUILD=$("$nereus" version --format json | python3 -c 'import json, sys; v = json.load(sys.stdin); print(v["version"], v["commit"])')
small=(--model gpt2 --set model.layers=4 --set model.hidden=64 --set model.heads=4 --seq 32 --data synthetic --worker
  "$root/tests/fake_worker")
train() { "$nereus" train "${small[@]}" --pp 2 --dp 2 "$@"; }
no_worker_left() { ! pgrep -f "fake_worker --job $scratch/.*nereus-train-" >left.txt || { cat left.txt; false; }; }

train --steps 5 --format json --metrics m.jsonl --tensorboard tb --timeline t.json --compare >out.json 2>err.txt
check "exit 0" test $? -eq 0
check "the contract's fields" python3 -c '
import json
d = json.load(open("out.json"))
assert d["steps"] == 5 and len(d["losses"]) == 5 and abs(d["final_loss"] - 3.6) < 1e-9
assert abs(d["step_s"] - 0.04) < 1e-9 and abs(d["tokens_per_s"] - 25000) < 1e-3 and d["events"] == []
assert d["compare"][-1]["part"] == "step"
assert [json.loads(l)["step"] for l in open("m.jsonl")] == list(range(5))'
check "step lines on stderr" grep -q '^step 0  loss 4.0000' err.txt
check "the trace is good" "$nereus" doctor --trace t.json -o trace.txt
check "event files" test -s tb/*tfevents*

# Measured steps become rows that calibrate and validate read.
"$nereus" train "${small[@]}" --dp 2 --steps 5 --record runs.csv --svg loss.svg >out.txt 2>err.txt
"$nereus" train "${small[@]}" --pp 2 --steps 5 --record runs.csv >out.txt 2>err.txt
check "two rows of runs" test "$(wc -l <runs.csv)" -eq 3
check "validate reads them" bash -c "'$nereus' validate runs.csv --format json | python3 -c 'import json, sys; assert json.load(sys.stdin)[\"used\"] == 2'"
# Two rows may not be enough to beat what is known: then the file has the parent's numbers.
check "calibrate reads them" bash -c "'$nereus' calibrate runs.csv --as here -o here.toml >/dev/null && grep -q '^inherits' here.toml"
check "a picture of the losses" grep -q "mean of\|loss" loss.svg
"$nereus" train "${small[@]}" --pp 2 --schedule gpipe --steps 5 --record runs.csv >out.txt 2>err.txt
check "no column for GPipe: exit 2" test $? -eq 2
echo "a,b" >other.csv
"$nereus" train "${small[@]}" --steps 5 --record other.csv >out.txt 2>err.txt
check "a table of other columns: exit 2" test $? -eq 2

for fault in "2 3 kill:5:signal 9" "1 3 exit:5:about to end" "3 0 error:5:no memory for layer 3" "0 2 input:2:damaged" \
  "2 1 behind:5:all-reduce 12" "1 2 stop:5:stopped"; do
  IFS=: read -r what code words <<<"$fault"
  rank=${what%% *}
  began=$SECONDS
  FAKE_FAULT=$what train --steps 1000 --timeout 5 >out.txt 2>err.txt
  check "$what: exit $code" test $? -eq "$code"
  check "$what: its rank and words are last" bash -c "tail -n 2 err.txt | grep -q 'rank $rank (on .*$words'"
  check "$what: in time" test $((SECONDS - began)) -le 12
  check "$what: nothing left" no_worker_left
done

FAKE_FAULT="1 2 inputs" train --steps 1000 >out.txt 2>err.txt
check "two errors of the input: exit 2" test $? -eq 2
check "two errors of the input: both are said" bash -c "grep -q 'rank 1 (on .*damaged' err.txt && grep -q 'rank 1 (on .*lacks layer 3' err.txt"

# Ctrl-C, and SIGTERM, to the launcher alone.
for signal in INT:10 TERM:75; do
  # A background job of a shell ignores SIGINT; so it is started where it does not.
  FAKE_SLEEP=0.1 python3 - "$nereus" "${signal%:*}" "${signal#*:}" "${small[@]}" <<'PYTHON'
import json, os, signal, subprocess, sys, time
nereus, name, code, *small = sys.argv[1:]
child = subprocess.Popen([nereus, "train", *small, "--dp", "2", "--steps", "10000", "--format", "json", "--checkpoint", "run"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
for line in child.stderr:
    if line.startswith("step "):
        break
child.send_signal(getattr(signal, "SIG" + name))
out, err = child.communicate(timeout=30)
result = json.loads(out)
assert child.returncode == int(code), (child.returncode, err)
assert result["steps"] >= 1 and result["losses"], result
PYTHON
  check "SIG${signal%:*}: exit ${signal#*:} with the steps so far" test $? -eq 0
  check "SIG${signal%:*}: nothing left" no_worker_left
done

# A launcher that is killed takes its ranks with it.
: >err.txt
FAKE_SLEEP=0.1 "$nereus" train "${small[@]}" --dp 4 --steps 10000 >out.txt 2>err.txt &
launcher=$!
for _ in $(seq 100); do grep -q '^step ' err.txt && break; sleep 0.1; done
kill -KILL "$launcher"
wait "$launcher" 2>/dev/null
sleep 1
check "a killed launcher: nothing left" no_worker_left

# One rank a call, as launchers start it: only rank 0 prints.
for rank in 1 0; do
  RANK=$rank WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29511 "$nereus" train "${small[@]}" --dp 2 --steps 3 \
    --format json >"rank$rank.json" 2>"rank$rank.txt"
  check "rank $rank of two: exit 0" test $? -eq 0
done
check "rank 0 prints the result" grep -q '"final_loss"' rank0.json
check "rank 1 prints none" test ! -s rank1.json
if command -v mpirun >/dev/null; then
  mpirun --allow-run-as-root --oversubscribe -n 4 "$nereus" train "${small[@]}" --pp 2 --dp 2 --steps 3 --format json >mpi.json 2>mpi.txt
  check "mpirun -n 4" test "$(grep -c '"final_loss"' mpi.json)" = 1
  mpirun --allow-run-as-root --oversubscribe -n 3 "$nereus" train "${small[@]}" --pp 2 --dp 2 --steps 3 >mpi.json 2>mpi.txt
  check "mpirun -n 3 of 4 ranks: refused" grep -q 'train.world-size' mpi.txt
fi

# More than the machine takes is refused at once.
check "a million agents: exit 2" bash -c "'$nereus' train --elastic ${small[*]} --job many --agents 1000000 --steps 1 2>err.txt; test \$? -eq 2"
check "a million agents: said" grep -q 'train.too-many-processes' err.txt
# Nobody's name.
check "--listen nowhere: said" bash -c "'$nereus' train --elastic ${small[*]} --job listen --listen no-such-host.invalid:29400 --agents 1 --steps 1 2>err.txt; test \$? -eq 4 && grep -q 'elastic.listen.*not known' err.txt"

# The real worker, where it is built beside the program.
[[ -x $(dirname "$nereus")/nereus-worker ]] || exit "$failed"
tiny=(--model gpt2 --set model.layers=4 --set model.hidden=32 --set model.heads=4 --set model.vocab=128 --seq 16 --data
  synthetic --global-batch 8 --precision fp64 --threads 1)
real() { "$nereus" train "${tiny[@]}" "$@"; }
no_real_left() { ! pgrep -f "nereus-worker --job $scratch/.*nereus-train-" >left.txt || { cat left.txt; false; }; }

real --steps 4 --format json >one.json 2>one.txt
check "real: one rank" test $? -eq 0
real --steps 4 --pp 2 --dp 2 --zero 1 --format json --timeline t.json --compare --metrics m.jsonl >four.json 2>four.txt
check "real: pp 2 x dp 2" test $? -eq 0
check "real: the same losses" python3 -c '
import json
a, b = (json.load(open(f))["losses"] for f in ("one.json", "four.json"))
assert len(a) == len(b) == 4 and all(abs(x - y) <= 1e-9 * abs(x) for x, y in zip(a, b)), (a, b)'
check "real: the trace is good" "$nereus" doctor --trace t.json -o trace.txt

real --steps 2 --dp 2 --checkpoint run --format json >first.json 2>first.txt
real --steps 4 --pp 2 --resume run --format json >second.json 2>second.txt
check "real: resumed on another plan" python3 -c '
import json
a = json.load(open("one.json"))["losses"]
b = [x for f in ("first.json", "second.json") for x in json.load(open(f))["losses"]]
assert len(b) == 4 and all(abs(x - y) <= 1e-9 * abs(x) for x, y in zip(a, b)), (a, b)'
real --steps 2 --checkpoint run >out.txt 2>err.txt
check "real: a fresh run among another's checkpoints: exit 2" test $? -eq 2
check "real: a fresh run among another's checkpoints: said" grep -q 'train.other-run' err.txt
"$nereus" train "${tiny[@]}" --steps 1000000 --checkpoint both >first.txt 2>&1 &
launcher=$!
for _ in $(seq 600); do grep -q '^step ' first.txt && break; sleep 0.05; done
real --steps 2 --checkpoint both >out.txt 2>err.txt
check "real: two in one folder: exit 4" test $? -eq 4
check "real: two in one folder: said" grep -q 'checkpoint.running' err.txt
kill -TERM "$launcher"
wait "$launcher"
check "real: two in one folder: the first goes on" test $? -eq 75

# Ranks that were not started alike: all of them say which and what.
for pair in "--seed 7:seed 7" "--rate 0.5:rate 0.5" "--set model.heads=2:model gpt2" "--micro-batch 2:plan "; do
  for rank in 0 1; do
    other=()
    ((rank)) && read -ra other <<<"${pair%%:*}"
    RANK=$rank WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29512 "$nereus" train "${tiny[@]}" --dp 2 --steps 3 "${other[@]}" \
      --timeout 20 >"out$rank.txt" 2>"err$rank.txt" &
    ranks[rank]=$!
  done
  wait "${ranks[0]}"
  first=$?
  wait "${ranks[1]}"
  check "real: ${pair%%:*} on one rank: exit 2" test "$first $?" = "2 2"
  check "real: ${pair%%:*} on one rank: said by both" bash -c "grep -q 'train.ranks-differ.*rank 1 has.*${pair#*:}' err0.txt && grep -q 'train.ranks-differ' err1.txt"
done

# A disk that is full: a checkpoint on the way is given up, the last one is what the job fails with.
mkdir full
if ((EUID == 0)) && mount -t tmpfs -o size=300k none full 2>/dev/null; then
  real --steps 4 --checkpoint full --checkpoint-every 2 --format json >full.json 2>full.txt
  check "real: a full disk: exit 4" test $? -eq 4
  check "real: a full disk: all steps" python3 -c 'import json; assert len(json.load(open("full.json"))["losses"]) == 4'
  check "real: a full disk: said on the way" grep -q 'checkpoint.write.*training goes on' full.txt
  umount full
fi

byte=$(find run -name '*.safetensors' | head -n 1)
printf x | dd of="$byte" bs=1 seek=$(($(stat -c %s "$byte") - 1)) conv=notrunc 2>/dev/null
real --steps 4 --resume run >out.txt 2>err.txt
check "real: a damaged checkpoint: exit 2" test $? -eq 2

# Rank 0 is stopped while it starts. Then one that never answers: its kernel takes connections, as that of a stopped one.
"$nereus" train "${tiny[@]}" --dp 2 --steps 1000000 --timeout 5 >out.txt 2>err.txt &
launcher=$!
for _ in $(seq 600); do first=$(pgrep -P "$launcher" -f -- '--rank 0') && break; sleep 0.05; done
began=$SECONDS
kill -STOP "$first"
wait "$launcher"
check "real: rank 0 stopped at its start: exit 5" test $? -eq 5
check "real: rank 0 stopped at its start: named last" bash -c "tail -n 2 err.txt | grep -q 'rank 0 (on '"
check "real: rank 0 stopped at its start: in time" test $((SECONDS - began)) -le 14
check "real: rank 0 stopped at its start: nothing left" no_real_left
python3 -c '
import socket, time
host = socket.create_server(("127.0.0.1", 0))
print(host.getsockname()[1], flush=True)
time.sleep(60)' >port.txt &
host=$!
for _ in $(seq 100); do [[ -s port.txt ]] && break; sleep 0.1; done
began=$SECONDS
RANK=1 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$(<port.txt) "$nereus" train "${tiny[@]}" --dp 2 --steps 3 --comm gloo \
  --timeout 5 >out.txt 2>err.txt
check "real: rank 0 answers nothing: exit 5" test $? -eq 5
check "real: rank 0 answers nothing: named" bash -c "tail -n 2 err.txt | grep -q 'rank 0, which hosts the store, answered nothing'"
check "real: rank 0 answers nothing: in time" test $((SECONDS - began)) -le 12
kill "$host"

for signal in KILL STOP; do
  : >err.txt  # or the last run's steps are taken for this one's
  "$nereus" train "${tiny[@]}" --pp 2 --dp 2 --steps 1000000 --timeout 8 >out.txt 2>err.txt &
  launcher=$!
  for _ in $(seq 600); do grep -q '^step ' err.txt && break; sleep 0.1; done
  began=$SECONDS
  kill -"$signal" "$(pgrep -P "$launcher" -f -- '--rank 2')" || kill "$launcher"
  wait "$launcher"
  check "real: SIG$signal to rank 2: exit 5" test $? -eq 5
  check "real: SIG$signal to rank 2: named last" bash -c "tail -n 2 err.txt | grep -q 'rank 2 (on '"
  check "real: SIG$signal to rank 2: in time" test $((SECONDS - began)) -le 14
  check "real: SIG$signal to rank 2: nothing left" no_real_left
done
exit "$failed"
