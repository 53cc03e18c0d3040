#!/usr/bin/env bash
# Background jobs on a GPU that a foreground job has first call on: killed at any time they leave its losses, to the bit, as
# they are without them. Where nereus-worker sees no GPU: nothing.
#
#   NEREUS=build/dev/nereus tests/long/background_gpu.sh
set -uo pipefail
root=$(dirname -- "$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")")
source "$root/tests/long/checks"
source "$root/tests/long/background_jobs"
begin_with_worker
"$(dirname -- "$nereus")/nereus-worker" --version | grep -qE '"num_gpus":[1-9]' || skip "background jobs on a GPU: nereus-worker sees none"

plan() { # file, micro-batch, global batch
  "$nereus" plan --model gpt2 --cluster "$root/bench/gpu/h200.toml" --precision bf16 --micro-batch "$2" --global-batch "$3" --tp 1 --pp 1 --dp 1 -o "$1" >plan.txt 2>&1 || cat plan.txt
}
plan fg.plan 2 2
plan bg.plan 1 16
foreground=(train fg.plan --data synthetic --device cuda --deterministic --steps 500 --format json)

"$nereus" "${foreground[@]}" >alone.json 2>err.txt
check "alone" test $? -eq 0
"$nereus" "${foreground[@]}" >again.json 2>err.txt
check "twice the same, to the bit" test "$(losses again.json)" = "$(losses alone.json)"

# Cut into pieces, a background job computes what it would alone.
"$nereus" train bg.plan --data synthetic --device cuda --steps 8 --format json >background.json 2>err.txt
check "the background's job alone" test $? -eq 0
"$nereus" "${foreground[@]}" --background bg.plan,steps=8 --background bg.plan --slowdown 100% >beside.json 2>err.txt
check "two background jobs" test $? -eq 0
check "the foreground's losses, to the bit" test "$(losses beside.json)" = "$(losses alone.json)"
check "the first is done" test "$(of beside.json 'b["jobs"][0]["end"]')" = done
check "with the loss that it has alone" python3 -c 'import json, sys
beside, alone = (json.load(open(name)) for name in ("beside.json", "background.json"))
mine, own = beside["background"]["jobs"][0]["final_loss"], alone["losses"][-1]
sys.exit(0 if abs(mine / own - 1) < 2e-3 and own < alone["losses"][0] - 0.5 else f"{mine} and alone {own} of {alone}")'
((failed == 0)) || { cat err.txt; of beside.json b; }

# With the bound that is promised unless another is, a step that is as short gives seldom.
"$nereus" "${foreground[@]}" --background bg.plan >seldom.json 2>err.txt
check "one step in many gives" test "$(of seldom.json 'b["turns"]["steps_per_turn"] == 1024 and b["turns"]["given_s"] > 0.02')" = True
check "for a background that comes forward" test "$(of seldom.json 'b["share_of_time"] > 0.005')" = True
check "the same losses" test "$(losses seldom.json)" = "$(losses alone.json)"
((failed == 0)) || { cat err.txt; of seldom.json b; }

# As it starts, in its first steps, in its turns.
for moment in 0.5 4 7; do kill_first "killed after $moment s" "$moment" --background bg.plan --background bg.plan; done

"$nereus" "${foreground[@]}" --background bg.plan --background-memory 1GiB >out.txt 2>err.txt
check "too little memory: exit 2" test $? -eq 2
check "and the reason" grep -q train.background-memory err.txt
"$nereus" "${foreground[@]}" --background bg.plan --background-by shares >out.txt 2>err.txt
check "no shares on GPUs: exit 2" test $? -eq 2
check "and the reason" grep -q train.background-device err.txt
exit $failed
