#!/usr/bin/env bash
# Background jobs beside a foreground job, as real worker processes: whatever happens to them, the foreground's losses are,
# to the bit, those of running alone; they queue, save, and are refused where they cannot be.
#
#   NEREUS=build/dev/nereus tests/long/background.sh
set -uo pipefail
root=$(dirname -- "$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")")
source "$root/tests/long/checks"
source "$root/tests/long/background_jobs"
begin_with_worker

plan() { # file, hidden, global batch, ranks
  cat >"$4.toml" <<EOF
[[groups]]
count = $4
[groups.node]
name = "here"
num_devices = 1
network = "2 GB/s"
network_latency = "30 us"
network_kind = "other"
device = { name = "core", memory = "8 GiB", memory_bandwidth = "10 GB/s", peak = { fp32 = "80 GFLOP/s" } }
EOF
  "$nereus" plan --model gpt2 --set model.layers=2 --set model.hidden="$2" --set model.heads=4 --set model.vocab=256 \
    --set model.seq=32 --cluster "$4.toml" --precision fp32 --global-batch "$3" --tp 1 --pp 1 --dp "$4" -o "$1" >plan.txt 2>&1 || cat plan.txt
}
plan fg.plan 128 8 2
plan bg.plan 64 4 1
plan wide.plan 64 4 2
foreground=(train fg.plan --data synthetic --steps 100 --threads 1 --format json)
# Other work on this machine must not starve them here.
beside=(--background-priority usual --slowdown 300%)

"$nereus" "${foreground[@]}" >alone.json 2>err.txt
check "alone" test $? -eq 0
check "and it has losses" test -n "$(losses alone.json)"

"$nereus" "${foreground[@]}" --background bg.plan,steps=3,threads=1 --background wide.plan,threads=1,checkpoint=bg "${beside[@]}" >beside.json 2>err.txt
check "two background jobs" test $? -eq 0
check "the foreground's losses, to the bit" test "$(losses beside.json)" = "$(losses alone.json)"
check "the first is done" test "$(of beside.json 'b["jobs"][0]["end"]')" = done
check "after three steps" test "$(of beside.json 'b["jobs"][0]["steps"]')" = 3
check "the second ended with the foreground" test "$(of beside.json 'b["jobs"][1]["end"]')" = "ended with the foreground"
check "stderr counts the same steps" grep -q "ended after $(of beside.json 'b["jobs"][1]["steps"]') steps\? with the foreground" err.txt
check "its speed alone is measured" test "$(of beside.json 'b["jobs"][1]["alone_per_s"] is not None')" = True
check "it saved" test -d bg
check "steps alone and beside" test "$(of beside.json 'b["slowdown"]["steps_alone"] >= 8 and b["slowdown"]["steps_beside"] > 10')" = True
((failed == 0)) || { cat err.txt; of beside.json b; }

# Killed at several moments: as it starts, in its first steps, later.
two=(--background bg.plan,threads=1 --background bg.plan,threads=1)
for moment in 0.05 0.7 1.5; do
  kill_first "killed after $moment s" "$moment" "${two[@]}" "${beside[@]}"
  check "the next began" test "$(of killed.json 'b["jobs"][1]["end"] != "not begun"')" = True
done

# Asked to end, by others than the foreground: its ranks end well, and yet it is not done.
signal=TERM kill_first "asked to end" 1.5 "${two[@]}" "${beside[@]}"
check "and why" test "$(of killed.json 'any(why in b["jobs"][0]["why"] for why in ("by another process", "signal 15"))')" = True

# In turns, layer by layer, instead of stopped and woken.
"$nereus" "${foreground[@]}" --background bg.plan,threads=1 --background-by turns "${beside[@]}" >turns.json 2>err.txt
check "in turns" test $? -eq 0
check "the same losses, in turns" test "$(losses turns.json)" = "$(losses alone.json)"
check "it came forward" test "$(of turns.json 'b["jobs"][0]["steps"] > 3 and b["turns"]["pieces"] > 100')" = True
check "in turns: steps alone and beside" test "$(of turns.json 'b["slowdown"]["steps_alone"] >= 8 and b["slowdown"]["steps_beside"] > 10')" = True
((failed == 0)) || { cat err.txt; of turns.json b; }
kill_first "killed in its turn" 1 "${two[@]}" --background-by turns "${beside[@]}"

"$nereus" train fg.plan --data synthetic --checkpoint run --background bg.plan,checkpoint=./run/ >out.txt 2>err.txt
check "one folder for two jobs: exit 2" test $? -eq 2
check "and the reason" grep -q train.background-folder err.txt
"$nereus" train fg.plan --data synthetic --background bg.plan --background-memory 1MiB >out.txt 2>err.txt
check "more memory than its quota: exit 2" test $? -eq 2
check "and the reason" grep -q train.background-memory err.txt
"$nereus" train fg.plan --data synthetic --background nothing.plan >out.txt 2>err.txt
check "no such plan: exit 2" test $? -eq 2
# On GPUs, with a program in the worker's place that says it has two and keeps what it is handed: whole, since the first rank
# to end has the others killed.
keep="cp \$(dirname \$2)/background-0.json $scratch/kept.\$\$ && mv $scratch/kept.\$\$ $scratch/background-0.json; exit 1"
gpus=$(python3 "$root/bench/gpu/worker.py" "$nereus" "$keep" | tee gpus.txt)
sed -i 's/"num_gpus": 1/"num_gpus": 2/' "$gpus"
on_gpus=(train fg.plan --data synthetic --device cuda --worker "$gpus" --background)
"$nereus" "${on_gpus[@]}" bg.plan >out.txt 2>err.txt
check "on GPUs it takes turns" test "$(python3 -c 'import json; j = json.load(open("background-0.json")); print(j["machine"]["device"], j["sharing"]["waits"], j["sharing"]["num_gates"])')" = "cuda True 2"
check "with a quota of their memory" grep -qE '"memory_limits": ?"[0-9]+ B"' background-0.json
"$nereus" "${on_gpus[@]}" bg.plan --background-by shares >out.txt 2>err.txt
check "nobody is stopped there: exit 2" test $? -eq 2
check "and the reason" grep -q train.background-device err.txt
"$nereus" "${on_gpus[@]}" bg.plan --comm shared >out.txt 2>err.txt
check "two ranks on one GPU: exit 2" test $? -eq 2
check "and the reason" grep -q train.background-device err.txt
plan four.plan 64 4 4
"$nereus" "${on_gpus[@]}" four.plan >out.txt 2>err.txt
check "more ranks than the foreground: exit 2" test $? -eq 2
rm -f "$gpus"
check "nothing is left of them" test -z "$(pgrep -f "$scratch" | grep -v "^$$\$" | head -1)"
exit $failed
