#!/usr/bin/env bash
# PyTorch scripts that are not ours: what the shim does with scripts of several kinds; and with NEREUS_SHIM_COMPARE=1 or NEREUS_EVERYTHING=yes a script measured
# by the shim and by its traces, beside our own trainer's measurement of the same model (tests/long/shim/compare.py says how; shares of
# a step within 0.10 of each other take an idle machine). NEREUS_SHIM_SECONDS: of each such measurement (10). Skipped where no python3
# has torch, or the worker is not built. RESULTS takes a line a test.
set -uo pipefail

root=$(dirname -- "$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")")
source "$root/tests/long/checks"
begin_with_worker
python=
for candidate in python3 /usr/bin/python3; do
  "$candidate" -c 'import torch' 2>/dev/null && python=$candidate && break
done
[[ $python ]] || skip "no python3 here has torch (Debian: python3-torch)"
export OMP_NUM_THREADS=1
for i in {0..63}; do head -c 65536 /dev/urandom >"$i.bin"; done

measure() { # seconds, command: the answer is in out.json
  local seconds=$1
  shift
  timeout 180 "$nereus" measure --format json --seconds "$seconds" --rounds 3 -o out.json -- "$@" 2>err.txt
}
# Two ranks. Standard output is redirected and shown again: without, Debian's torch 1.13 under Python 3.11 fails to start ranks.
two=("$python" -m torch.distributed.run --nproc_per_node 2 --redirects 1 --tee 1 "$root/tests/long/shim/scripts.py")
one=("$python" "$root/tests/long/shim/scripts.py")
holds() { # a test of the answer `a` and its stalls `s`
  "$python" -c 'import json, sys
a = json.load(open("out.json")); s = a["stalls"]
assert eval(sys.argv[1]), json.dumps({k: v for k, v in s.items() if v["measured"]})' "$1"
}

measure 2 "${two[@]}" files .
check "two ranks, files, workers: it ends well" test $? -eq 0
check "all parts add up to the step" holds \
  'abs(a["one_device_s"] + sum(v["seconds"] for k, v in s.items() if k != "launch") - a["step_s"]) < 1e-9'
check "every cause is measured or says why not" holds 'all(v["measured"] or v["note"] for v in s.values())'
check "ranks are two, on one host" holds 'a["ranks"] == 2 and a["hosts"] == 1 and s["network"]["note"] == "one host"'
check "samples of all ranks" holds 'abs(a["samples_per_s"] * a["step_s"] - 32) < 1e-6'

# A round that something else disturbed makes the interval of three wide, and the answer says so: one of three measurements has to see it.
sleeper_is_found() {
  for _ in 1 2 3; do
    measure 2 "${one[@]}" slow-files . && holds '0.028 < s["prepare"]["seconds"] < 0.08 and s["prepare"]["significant"]' && return
  done
  return 1
}
check "a loader that sleeps 32 ms a batch is found" sleeper_is_found
check "one rank has nobody to wait for" holds 's["interconnect"]["note"] == "one rank" and not s["straggler"]["measured"]'

measure 1 "${one[@]}" no-loader .
check "no loader: said, not guessed" holds '"DataLoader" in s["prepare"]["note"] and not s["fetch"]["measured"]'
measure 1 "${two[@]}" talks .
check "what cannot be left out: said, not guessed" holds '"isend" in str(a["notes"]) and "turned off" in s["interconnect"]["note"] and not s["contention"]["measured"]'
measure 1 "${one[@]}" saves .
check "weights stay what they are" test $? -eq 0
check "only what was saved before measuring is there" test ! -e saved.pt
measure 1 "${one[@]}" ends .
check "a script that ends too soon: exit 2, and why" bash -c "[[ $? -eq 2 ]] && grep -q 'measure.no-step' err.txt"
measure 1 "${one[@]}" fails .
check "a script that fails: exit 5, and why" bash -c "[[ $? -eq 5 ]] && grep -q 'measure.job-failed' err.txt"

[[ ${NEREUS_SHIM_COMPARE:-${NEREUS_EVERYTHING:-}} ]] || exit "$failed"
mkdir compare
"$python" "$root/tests/long/shim/compare.py" --nereus "$nereus" --python "$python" --folder "$scratch/compare" \
  --seconds "${NEREUS_SHIM_SECONDS:-10}" >compare.txt 2>compare.err
check "comparisons ran" test $? -eq 0
cat compare.txt compare.err
while IFS= read -r line; do
  case $line in
    passed*) check "${line#passed }" true ;;
    failed*) check "${line#failed }" false ;;
    skipped*) echo "skipped shim: ${line#skipped }" >>"${RESULTS:-/dev/null}" ;;
  esac
done <compare.txt
exit "$failed"
