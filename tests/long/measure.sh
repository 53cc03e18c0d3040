#!/usr/bin/env bash
# nereus measure as real worker processes on this machine, two ranks: every part is there, profiles are compared, and a step of a
# small GPT is predicted from its measured layers. What takes an idle machine (how far two runs agree, how near predictions are to
# trainings, how long it takes) is recorded by bench/measure/run.
#
#   NEREUS=build/dev/nereus tests/long/measure.sh
set -uo pipefail
root=$(dirname -- "$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")")
source "$root/tests/long/checks"
begin_with_worker

model=(--model gpt2 --set model.layers=4 --set model.hidden=256 --set model.heads=4 --set model.vocab=4096 --seq 128)
"$nereus" measure --quick "${model[@]}" --dp 2 --samples 2,4 -o first.json --format json >out.json 2>err.txt
check "measure ends well" test $? -eq 0
check "says what it is doing" grep -q '^measuring: ' err.txt
check "JSON is the profile" cmp -s out.json first.json
"$nereus" measure --quick "${model[@]}" --dp 2 --samples 2,4 -o second.json >table.txt 2>err.txt
check "measure again" test $? -eq 0
check "tables have kernels, links, collectives and layers" \
  awk '/^Kernels/ {k=1} /^Messages/ {m=1} /^Collectives/ {c=1} /^Layers/ {l=1} END {exit !(k && m && c && l)}' table.txt

fields() { # file
  python3 - "$1" <<'PY'
import json, sys
p = json.load(open(sys.argv[1]))
c = p["context"]
assert c["device"] == "CPU" and c["library"].startswith("libtorch") and c["ranks"] == 2 and c["quick"], c
kinds = {k["kind"] for k in p["kernels"]}
assert kinds == {"gemm", "attention", "norm", "element_wise", "convolution", "optimizer"}, kinds
assert p["memory"]["copy"]["bytes_per_s"]["median"] > 1e8
assert {(l["from"], l["to"]) for l in p["links"]} == {(0, 1)} and len(p["links"]) >= 4
assert {c["kind"] for c in p["collectives"]} == {"all_reduce", "all_gather", "reduce_scatter"}
assert p["jitter"]["p99"] >= 0 and p["jitter"]["worst"] >= p["jitter"]["p99"]
warm, cold = p["disk"]["warm"], p["disk"]["cold"]
assert warm["bytes_loaded"] < 0.1 * warm["bytes_read"], warm
assert cold["bytes_loaded"] == 0 or cold["bytes_loaded"] > 0.9 * cold["bytes_read"], cold
assert {q["kind"] for q in p["prepare"]} == {"tokens", "images"}
layers = {l["role"]: l for l in p["layers"]}
assert set(layers) >= {"embedding", "block", "head"}, set(layers)
assert layers["block"]["samples"] == [2, 4]
for list in ("kernels", "links", "collectives"):
    for own in p[list]:
        s = own["seconds"]
        assert 0 < s["low"] <= s["median"] <= s["high"] and s["repeats"] >= 5, own
        assert s["processes"] == c["processes"] >= 3 and s["half_width"] > 0, own
block = layers["block"]
assert block["processes"] == c["processes"] and len(block["forward_half_width_s"]) == 2 and min(block["forward_half_width_s"]) > 0, block
PY
}
check "every part is there, with its interval over processes" fields first.json
# Twice the work; a neighbour may take the machine away meanwhile, but seldom in all four of two runs at two sizes.
backward_is_longer() {
  python3 -c 'import json
blocks = [l for file in ("first.json", "second.json") for l in json.load(open(file))["layers"] if l["role"] == "block"]
times = [pair for b in blocks for pair in zip(b["forward_s"], b["backward_s"])]
assert len(times) == 4 and min(map(min, times)) > 0 and any(backward > forward for forward, backward in times), times'
}
check "a block's backward pass takes longer than its forward pass" backward_is_longer

# How far two runs agree depends on what else the machine does: bench/measure/run records it. Here differences are put in.
scaled() { # profile, keys=factor: numbers whose key begins so, or of all that are written with an interval ("interval")
  python3 - "$@" <<'PY'
import json, sys
name, (key, factor) = sys.argv[1], sys.argv[2].split("=")
def scale(node):
    if isinstance(node, list):
        return [scale(item) for item in node]
    if not isinstance(node, dict):
        return node
    keys = ("median", "low", "high") if key == "interval" and "median" in node else key
    return {k: [x * float(factor) for x in v] if k.startswith(keys) and isinstance(v, list) else
            v * float(factor) if k.startswith(keys) else scale(v) for k, v in node.items()}
json.dump(scale(json.load(open(name))), sys.stdout)
PY
}
differ() { # a profile; what must hold of d numbers of n that differ from first.json's
  "$nereus" measure --compare first.json "$1" --format json >compare.json 2>err.txt &&
    python3 -c 'import json, sys
c = json.load(open("compare.json")); d, n = c["differing"], len(c["numbers"])
assert c["tested"] == n and eval(sys.argv[1]), (d, n)' "$2"
}
check "two runs have numbers to compare" differ second.json 'n > 30'
check "a profile agrees with itself" differ first.json 'd == 0'
scaled first.json interval=10 >slow.json
check "a machine that is ten times as slow differs in most of them" differ slow.json '2 * d > n'

# Under a launcher each rank starts its own workers anew, and every time they have to meet.
launch() { # rank
  RANK=$1 LOCAL_RANK=$1 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port timeout 120 \
    "$nereus" measure --quick --parts links,collectives --comm gloo --processes 3 -o "launched-$1.json" >"launched-$1.txt" 2>&1
}
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
launch 1 &
launch 0
check "ranks of a launcher measure in three processes" test $? -eq 0
wait $!
check "and so does the other rank" test $? -eq 0
check "rank 0 writes what both found" python3 -c 'import json
p = json.load(open("launched-0.json"))
assert p["context"]["processes"] == 3 and all(l["seconds"]["processes"] == 3 for l in p["links"]) and p["collectives"], p'

plan=("${model[@]}" --dp 2 --micro-batch 2 --global-batch 8)
predict() { "$nereus" predict "${plan[@]}" --cluster this-machine:2 --profile "$1" --format json >"$2" 2>err.txt; }
# Two micro-batches of two samples go through the embedding, four blocks and the head. How near the whole step is to one that train
# measures depends on the machine's other work: bench/measure/run records it.
compute_is_measured() {
  predict first.json predicted.json && scaled first.json backward_=3 >slow.json && predict slow.json slower.json && python3 -c '
import json
first, slower = (json.load(open(name))["breakdown"]["compute"] for name in ("predicted.json", "slower.json"))
count = {"embedding": 1, "block": 4, "head": 1}
layers = [l for l in json.load(open("first.json"))["layers"] if l["role"] in count]
forward, backward = (2 * sum(count[l["role"]] * l[key][0] for l in layers) for key in ("forward_s", "backward_s"))
print(f"compute: measured {forward + backward:.4f} s, predicted {first:.4f}; backward passes three times as long: {slower:.4f}")
assert abs(first / (forward + backward) - 1) < 0.01 and abs((slower - first) / (2 * backward) - 1) < 0.01'
}
check "predicted compute is that of the measured layers" compute_is_measured
"$nereus" simulate "${plan[@]}" --cluster this-machine:2 --profile first.json --format json >simulate.json 2>err.txt
check "simulate from the profile" test $? -eq 0
"$nereus" plan "${model[@]}" --global-batch 8 --cluster this-machine:2 --profile first.json --format json >plan.json 2>err.txt
check "plan from the profile" test $? -eq 0

sed 's/"device_name":"[^"]*"/"device_name":"Another CPU"/' first.json >other.json
"$nereus" predict "${plan[@]}" --cluster this-machine:2 --profile other.json >out.txt 2>err.txt
check "a profile of another device is refused" grep -q 'error\[profile.other-device\]' err.txt
sed 's/"library":"libtorch [^"]*"/"library":"libtorch 0.1"/' first.json >old.json
"$nereus" train "${plan[@]}" --data synthetic --steps 1 --profile old.json >out.txt 2>err.txt
check "a profile of another library is refused by train" grep -q 'error\[profile.other-library\]' err.txt
"$nereus" train "${plan[@]}" --data synthetic --steps 1 --profile old.json --force-profile >out.txt 2>err.txt
check "unless it is forced" test $? -eq 0
exit "$failed"
