#!/usr/bin/env bash
# Answers are what `nereus schema VERB answer` says: every JSON answer of the pinned table and of the golden tests, and of more
# calls below, is checked against data/schema, which in turn may name no field that none of them has. Then answers that are
# broken on purpose, each of which must be found.
# Beside others: no time is compared.
set -uo pipefail
root=$(dirname -- "$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")")
source "$root/tests/long/checks"
command -v python3 >/dev/null || skip "Python is not installed (Debian: python3)"
nereus=$(readlink -f -- "${NEREUS:-$root/build/test/nereus}")
check_schema=$root/tests/tools/check_schema.py schemas=$root/data/schema
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/answers" && cd "$scratch" || exit 1
real= sanitizers=
"$(dirname -- "$nereus")/nereus-worker" --version >/dev/null 2>&1 && real=yes
"$nereus" version | grep -q '^sanitizers' && sanitizers=yes

# Stands for the program, and keeps what it answers. The worker is found beside the program, so that is called by its path.
cat >nereus <<EOF
#!/usr/bin/env bash
[[ " \$* " == *" --format json "* ]] || exec "$nereus" "\$@"
answer=\$(mktemp "$scratch/answers/XXXXXXXX")
"$nereus" "\$@" >"\$answer"
status=\$?
printf '%s\n' "\$*" >"\$answer.command"
cat "\$answer"
exit \$status
EOF
chmod +x nereus

# Whether these tests pass is for themselves to say.
"$root/tests/pinned/run" "$scratch/nereus" >pinned.txt 2>&1
"$root/tests/golden/run" "$scratch/nereus" >golden.txt 2>&1
check "answers of the pinned table and the golden tests" test "$(find answers -name '*.command' | wc -l)" -ge 300

# Fields that those do not have.
fake=$root/tests/fake_worker profile=$scratch/profile.json one=$scratch/one.toml
small=(--model gpt2 --set model.layers=2 --set model.hidden=64 --set model.heads=4 --set model.vocab=256 --set model.seq=32)
on_ranks=("${small[@]}" --data synthetic --threads 1)
export FAKE_BUILD FAKE_PROFILE=$profile FAKE_SLEEP=0
FAKE_BUILD=$("$nereus" version --format json | python3 -c 'import json, sys; v = json.load(sys.stdin); print(v["version"], v["commit"])')
file_of_golden() { awk -v file="--- file $2" '$0 == file { on = 1; next } /^--- |^\$ / { on = 0 } on' "$root/tests/golden/$1.test"; }
file_of_golden pytorch whole.json >whole.json
file_of_golden simulate_collective six.toml >six.toml
# A profile with all that one can hold: what the worker that measures nothing has measured.
python3 - >profile.json <<'EOF'
import json
def about(median):
    return {"median": median, "low": median * 0.9, "high": median * 1.1, "repeats": 3}
layer = {"device": "CPU", "precision": "fp32", "tp": 1, "includes_collectives": True, "includes_launches": True, "samples": [1, 2],
         "forward_s": [0.01, 0.02], "backward_s": [0.02, 0.04]}
reads = {"bytes_per_s": about(1e8), "bytes_read": 1e6, "bytes_loaded": 1e6}
print(json.dumps({
    "schema_version": 1, "notes": [],
    "origin": {"source": "tests/long/schema.sh", "licence": "that of Nereus", "date": "2026-11-19", "library": "fake 1.0", "driver": "none"},
    "context": {"device": "CPU", "device_name": "a processor", "driver": "none", "library": "fake 1.0", "build": "0", "date": "2026-11-19", "host": "here",
                "system": "Linux", "backend": "shared", "cores": 2, "ranks": 2, "hosts": 1, "threads": 1},
    "kernels": [{"kind": "gemm", "precision": "fp32", "shape": [64, 64, 64], "flops": 524288, "bytes": 49152, "seconds": about(1e-4)}],
    "memory": {"copy": {"bytes": 1e6, "bytes_per_s": about(1e9)}},
    "links": [{"from": 0, "to": 1, "same_host": True, "bytes": 1e6, "seconds": about(1e-3)}],
    "collectives": [{"kind": "all_reduce", "backend": "shared", "ranks": 2, "hosts": 1, "bytes": 1e6, "seconds": about(1e-3)}],
    "jitter": {"seconds": about(1e-3), "p99": 0.1, "worst": 0.5},
    "disk": {"folder": "/tmp", "bytes": 1e6, "cold": reads, "warm": reads},
    "prepare": [{"kind": "pictures", "bytes": 1e5, "samples_per_s": about(100)}],
    "layers": [
        {"model": "gpt2", "role": "block", "layer": "block", "hidden": 768, "seq": 256, "parameters": 7087872, **layer,
         "forward_low_s": [0.01, 0.02], "forward_high_s": [0.011, 0.021], "backward_low_s": [0.02, 0.04], "backward_high_s": [0.021, 0.041],
         "update_s": 0.001, "memory_bytes": 1e7},
        {"model": "vgg16", "role": "other", "layer": "conv2d", "elements": 200704, "parameters": 1792, **layer, "includes_rest": True,
         "fitted_line": True}]}))
EOF
cat >one.toml <<'EOF'
[[groups]]
count = 1
[groups.node]
name = "here"
num_devices = 1
network = "2 GB/s"
network_latency = "30 us"
network_kind = "other"
device = { name = "core", memory = "8 GiB", memory_bandwidth = "10 GB/s", peak = { fp32 = "80 GFLOP/s" } }
EOF
echo 'torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024' \
  '--max-position-embeddings 1024 --micro-batch-size 4 --global-batch-size 64 --bf16 --use-distributed-optimizer' \
  '--grad-reduce-in-bf16' >lean.sh
grep -E '^(set|bigscience),' "$root/data/published/runs.csv" >own.csv
calls() { # a line of arguments each on stdin; all are made, 0 and 3 are good ends
  local line status wrong=0
  while read -r line; do
    eval "nereus_json $line" </dev/null >out.json 2>err.txt
    status=$?
    ((status == 0 || status == 3)) || { echo "nereus $line: exit $status" && head -n 5 err.txt && wrong=1; }
  done
  return "$wrong"
}
nereus_json() { "$scratch/nereus" "$@" --format json; }
check "more calls" calls <<'EOF'
explain --model gpt2 --seq 256 --cluster 1xp4d.24xlarge --profile "$profile" --force-profile
explore comet-strategies --no-db --set 'study.goals=["time", "energy", "devices"]'
explore comet-strategies --no-db --set 'study.axes.memory="1 GiB"'
recommend --model bert-large --samples 1e8 --deadline 7d --date 2026-11-16 --why p4d.24xlarge
simulate --mtbf 100h --model gpt2-xl --cluster 4xp4d.24xlarge --global-batch 512 --checkpoint-time 60s --spares 1
simulate --collective all-reduce --bytes 1MiB --network six.toml --compat astra-sim
plan --model vgg16 --cluster 1xp4d.24xlarge+1xg5.48xlarge --global-batch 64
plan --model gpt3-6.7b --cluster 1xp4d.24xlarge+2xg5.48xlarge --global-batch 62 --tp 1,2,4
plan --burst --model gpt2 --cluster 1xdgx-h100 --global-batch 16
plan --model llama3-8b --cluster 1xdgx-h100 --global-batch 64 -o best.plan
export best.plan --to torchtitan -o launch
calibrate own.csv --folds 0
explain --model dlrm --cluster 1xdgx-a100-80 --ep 8 --table-split row --global-batch 65536
plan --model dlrm-dcnv2 --cluster 1xdgx-a100-80 --global-batch 65536 --table-split row,column --ep 8
simulate --model dlrm --cluster 1xdgx-a100-80 --ep 8 --table-split row --global-batch 65536
import lean.sh --cluster 1xdgx-h100
plan --model gpt2 --cluster 1xdgx-h100 --global-batch 64 --state-types gradients=bf16,gathered=bf16
predict --model gpt2 --cluster 1xdgx-h100 --state-types gathered=bf16
validate --rows --plans "$root/data/published/repeats.csv"
validate --collectives "$root/data/collectives/nccl_a100.csv" --rows
validate --collectives "$root/data/collectives/astrasim_scaling.csv" --compat astra-sim --rows
validate --pipelines "$root/data/varuna/simulator_runs.csv" --rows
measure --kineto whole.json
measure --what-if "$root/docs/examples/stalls.json" --change bucket=4MiB --change cached=0.5 --change device=2 --change links=2
measure --worker "$fake" --quick --ranks 2 --processes 2
train --model resnet18 --data synthetic --worker "$fake" --steps 2
train "${on_ranks[@]}" --worker "$fake" --pp 2 --dp 2 --steps 3 --compare --timeline trace.json
doctor --trace trace.json
EOF
if [[ $real ]]; then
  check "calls that train on real ranks" calls <<'EOF'
train "${on_ranks[@]}" --steps 3 --checkpoint run --checkpoint-every 2
export run --to huggingface -o hub
train --elastic "${on_ranks[@]}" --global-batch 4 --steps 6 --job job --agents 2
measure --stalls "${on_ranks[@]}" --dp 3 --seconds 5 --rounds 2
plan "${small[@]}" --cluster "$one" --precision fp32 --global-batch 4 --tp 1 --pp 1 --dp 1 -o beside.plan
train beside.plan --data synthetic --steps 30 --threads 1 --background beside.plan,threads=1 --background-by turns --background-priority usual --slowdown 300%
EOF
fi

# All of them, a line each, and the schemas themselves, which are answers too.
python3 - "$nereus" >answers.jsonl 2>wrong.txt <<'EOF'
import glob, json, subprocess, sys
def put(command, text):
    try:
        print(json.dumps({"verb": command.split()[0].lstrip("-"), "command": command, "answer": json.loads(text)}))
    except ValueError as wrong:
        sys.exit(f"nereus {command}: {wrong}")
for name in sorted(glob.glob("answers/*.command")):
    with open(name) as command, open(name.removesuffix(".command")) as answer:
        text = answer.read()
        if text:  # else it was an error, or went to a file
            put(command.read().strip(), text)
for name in json.loads(subprocess.check_output([sys.argv[1], "schema", "schema"]))["properties"]["verb"]["enum"]:
    for what in ("request", "answer"):
        if (name, what) != ("agent", "answer"):
            put(f"schema {name} {what}", subprocess.check_output([sys.argv[1], "schema", name, what]))
EOF
whole() { [[ ! -s wrong.txt ]] || { cat wrong.txt; false; }; }
check "every answer is JSON" whole

# Fields that no call here has, and why.
cat >unseen.txt <<'EOF'
$defs.placement.runs[].ep             # experts are not placed on mixed clusters, nor in burst plans
$defs.placement.runs[].expert_tp      # the same
$defs.placement.runs[].table_slices   # the same of embedding tables
$defs.placement.runs[].table_split    # the same
$defs.replicas.offload_activations    # plan files may say it; the planners that show placements do not choose it
$defs.replicas.offload_tier           # the same
$defs.replicas.recompute_layers       # the same
$defs.replicas.tensor_stride          # the same
$defs.state.experts                   # the same
$defs.state.first_slice               # the same
$defs.state.peer_copy                 # the same
$defs.state.slice_stride              # the same
$defs.state.tier                      # the same
EOF
if [[ $real ]]; then
  echo 'measure(what a step waits for (--stalls, -- COMMAND, --kineto)).samples_per_s  # a training on pictures is long' >>unseen.txt
else
  cat >>unseen.txt <<'EOF'
# These need nereus-worker.
export(weights for Hugging Face)
measure(what a step waits for (--stalls, -- COMMAND, --kineto))
$defs.stall.rank
train.background
train.events[]
train.model_flops_utilization
EOF
fi
[[ $sanitizers ]] || echo 'version.sanitizers  # needs a build with sanitizers' >>unseen.txt
check "answers fit their schemas, which name nothing else" python3 "$check_schema" "$schemas" answers.jsonl --unseen unseen.txt

# The checker finds faults: in answers,
"$nereus" predict --model gpt2 --cluster 1xp4d.24xlarge --format json >predict.json
"$nereus" simulate --collective all-reduce --bytes 1MiB --cluster 1xdgx-h100 --format json >simulate.json
says() { # what must be said, command that must fail
  local expected=$1 said
  shift
  said=$("$@" 2>&1)
  [[ $? -eq 1 && $said == *"$expected"* ]] || { echo "expected: $expected"$'\n'"$said"; false; }
}
broken() { # what is done to an answer of a verb in Python, what must be said
  local verb=${2%%: *}
  python3 -c 'import json, sys
a = json.load(open(sys.argv[2]))
exec(sys.argv[3])
print(json.dumps({"verb": sys.argv[1], "command": "", "answer": a}))' "$verb" "$([[ -e $verb.json ]] && echo "$verb.json" || echo predict.json)" "$1" >broken.jsonl
  check "the checker finds: $2" says "$2" python3 "$check_schema" "$schemas" broken.jsonl
}
broken 'del a["step_s"]' "predict: step_s: is missing"
broken 'a["steps_s"] = 1' "predict: steps_s: is not in the schema"
broken 'a["step_s"] = "0.1 s"' 'predict: step_s: "0.1 s" is no number'
broken 'a["step_s"] = -1' 'predict: step_s: -1 is below 0'
broken 'a["fits"] = 1' "predict: fits: 1 is no boolean"
broken 'a["devices"] = True' "predict: devices: true is no integer"
broken 'a["degrees"]["tp"] = 1.5' "predict: degrees.tp: 1.5 is no integer"
broken 'a["degrees"]["zero"] = 4' "predict: degrees.zero: 4 is above 3"
broken 'a["degrees"]["schedule"] = "gpip"' 'predict: degrees.schedule: "gpip" is none of gpipe'
broken 'del a["memory"]["parts"]["slack"]' "predict: memory.parts.slack: is missing"
broken 'a["derived"][1] = None' "predict: derived[1]: null is no string"
broken 'a = [a]' "predict: : "
broken 'a["dimensions"][0]["kind"] = None' "simulate: dimensions[0].kind: null is no string"
broken 'a["bottleneck"]["dimension"] = 0' "simulate: bottleneck.dimension: 0 is below 1"
broken 'a["steps"] = 3' "simulate: steps: is not in the schema"
broken '' "predikt: there is no schema"

# in schemas,
printf '{"verb": "predict", "command": "", "answer": %s}\n' "$(tr -d '\n' <predict.json)" >good.jsonl
bad_schema() { # what is done to a schema in Python, what must be said
  rm -rf bad && mkdir bad
  python3 -c 'import json, sys
s = json.load(open(sys.argv[1]))
f = s["properties"]
exec(sys.argv[2])
json.dump(s, open("bad/predict.json", "w"))' "$schemas/predict.json" "$1"
  check "the checker finds: $2" says "$2" python3 "$check_schema" bad good.jsonl
}
bad_schema 'f["fits"]["typ"] = f["fits"].pop("type")' "predict.fits: the schema's 'typ' is not known"
bad_schema 'del f["fits"]["description"]' "predict.fits: no description"
bad_schema 'f["memory"]["$ref"] = "#/$defs/memry"' "there is no #/\$defs/memry"
bad_schema 's["required"].append("step")' "'step' is required and not described"
bad_schema 's["oneOf"] = [{"type": "object"}, {}]' "fits 2 kinds of answers, not one"

# and in what is listed as never seen.
mkdir few && cp "$schemas/version.json" few
printf '{"verb": "version", "command": "", "answer": {"version": "1", "commit": "", "compiler": "", "architecture": "", "system": "", "build_type": ""}}\n' >few.jsonl
echo 'version.sanitizers # no' >listed.txt
check "a list that is right" python3 "$check_schema" few few.jsonl --unseen listed.txt
echo 'version.commit # no' >>listed.txt
check "the checker finds what is listed and was seen" says "version.commit: listed as never seen, but all of it was" \
  python3 "$check_schema" few few.jsonl --unseen listed.txt
: >listed.txt
check "the checker finds what is in no answer" says "version.sanitizers: in no answer" python3 "$check_schema" few few.jsonl --unseen listed.txt
exit "$failed"
