#!/usr/bin/env bash
# A plan by hand whose ranks compute and store unevenly, layer by layer with activations in host memory: trained by real
# worker processes, its losses are those of one rank; it goes on from its checkpoint; what cannot be run is refused.
# Beside others: losses alone are compared.
#
#   NEREUS=build/dev/nereus tests/long/mixed.sh
set -uo pipefail
root=$(dirname -- "$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")")
source "$root/tests/long/checks"
begin_with_worker

model=(--model gpt2 --set model.layers=4 --set model.hidden=64 --set model.heads=4 --set model.vocab=128 --set model.seq=32)
"$nereus" plan "${model[@]}" --cluster 1xdgx-h100 --global-batch 8 -o any.plan >plan.txt
python3 - <<'END'
import json

plan = json.load(open("any.plan"))
del plan["degrees"]
units = 720720 << 32
place = plan["placement"]
place.update(precision="fp64", gather="per-pass", schedule="1f1b")


def state(parts, kinds=("weights", "gradients", "optimizer")):
    shares, at = [], 0
    for i, (rank, part) in enumerate(parts):
        end = units if i + 1 == len(parts) else at + int(part * units)
        shares.append({"kinds": list(kinds), "ranks": [[rank, 1, 1]], "begin": at, "end": end})
        at = end
    return shares


def work(rank, micro_batch, count, first, last=0):
    return {"count": 1, "first": rank, "micro_batch": micro_batch, "num_micro_batches": count, "first_sample": first,
            "last_micro_batch": last, "recompute": "full", "offload_activations": 0.5}


# Samples 5/2/1 on ranks 0, 1, 2; state 0.5/0.2 on ranks 0 and 1, 0.3 on rank 3, which computes nothing.
place["runs"] = [{"first_layer": 0, "num_layers": 6, "stage": 0,
                  "replicas": [work(0, 2, 3, 0, 1), work(1, 1, 2, 5), work(2, 1, 1, 7)],
                  "state": state([(0, 0.5), (1, 0.2), (3, 0.3)])}]
json.dump(plan, open("mixed.plan", "w"))
place["runs"][0]["replicas"][0]["recompute"] = "none"
json.dump(plan, open("refused.plan", "w"))
END
losses() { python3 -c 'import json, sys; print(*("%.10g" % x for x in json.load(open(sys.argv[1]))["losses"]))' "$1"; }

"$nereus" train mixed.plan --data synthetic --steps 8 --clip 1 --checkpoint run --checkpoint-every 4 --format json >mixed.json 2>err.txt
check "exit 0" test $? -eq 0
"$nereus" train "${model[@]}" --precision fp64 --global-batch 8 --data synthetic --steps 8 --clip 1 --format json >one.json 2>err1.txt
check "the losses of one rank" test "$(losses mixed.json)" = "$(losses one.json)"
"$nereus" train mixed.plan --data synthetic --steps 8 --clip 1 --resume run/step-000004 --format json >resumed.json 2>err2.txt
check "resumed, the same losses" test "$(losses resumed.json)" = "$(losses one.json | cut -d' ' -f5-)"
"$nereus" train refused.plan --data synthetic --steps 2 >out.txt 2>err3.txt
check "offload without recompute: exit 2" test $? -eq 2
check "and the reason" grep -q "train.offload" err3.txt
((failed == 0)) || cat err.txt err3.txt
exit $failed
