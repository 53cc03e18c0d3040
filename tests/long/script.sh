#!/usr/bin/env bash
# Models of a user's own: exported from Python, trained there and by `nereus train` under several plans, from the same values
# on the same samples. Losses of 20 SGD steps agree within 1e-9 in fp64 and 1e-5 in fp32. Then what is refused.
# Skipped where no python3 has torch, or the worker is not built. RESULTS takes a line a test.
# Beside others: it trains one small model after the other.
set -uo pipefail

root=$(dirname -- "$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")")
nereus=${NEREUS:-$root/build/test/nereus}
python=
for candidate in python3 /usr/bin/python3; do
  "$candidate" -c 'import torch' 2>/dev/null && python=$candidate && break
done
[[ $python ]] || { echo "no python3 here has torch (Debian: python3-torch)" && exit 77; }
[[ -x $(dirname "$nereus")/nereus-worker ]] || { echo "nereus-worker is not built" && exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

source "$root/tests/long/checks"

"$python" "$root/tests/script/models.py" . 2>export.txt
check "exported, and trained in Python" test $? -eq 0
check "what TorchScript cannot read is traced" grep -q '^join: traced' export.txt

"$python" "$root/tests/script/exporter.py" .
check "what the exporter counts and refuses" test $? -eq 0

sgd=(--optimizer sgd --rate 0.05 --steps 20 --global-batch 8 --shuffle=off --threads 1 --format json)
plans=("" "--pp 2" "--dp 2" "--dp 2 --zero 3" "--pp 2 --dp 2" "--pp 2 --schedule zb-h1" "--dp 2 --zero 2 --recompute full")
for model in chain graph words lines; do
  for plan in "${plans[@]}"; do
    for precision in fp64:1e-9 fp32:1e-5; do
      # Rounding is the same matter under all plans: two of them are enough.
      [[ $precision == fp32* && $plan && $plan != "--pp 2 --dp 2" ]] && continue
      # shellcheck disable=SC2086
      "$nereus" train --model "$model" $plan --precision "${precision%:*}" --data "$model.safetensors" "${sgd[@]}" \
        >out.json 2>err.txt || tail -n 2 err.txt
      check "$model ${plan:-one rank} ${precision%:*}" python3 -c '
import json, sys
name, precision, tolerance = sys.argv[1:]
expected, got = json.load(open(name + ".json"))[precision], json.load(open("out.json"))["losses"]
assert len(got) == len(expected) == 20
worst = max(abs(a - b) / abs(b) for a, b in zip(got, expected))
assert worst < float(tolerance), worst' "$model" "${precision%:*}" "${precision#*:}"
    done
  done
done

"$nereus" train --model words --data synthetic --steps 3 --global-batch 4 --threads 1 >out.txt 2>err.txt
check "synthetic tokens" test $? -eq 0
"$nereus" train --model chain --data chain.safetensors --pp 2 --steps 10 "${sgd[@]:0:4}" --global-batch 8 --shuffle=off \
  --precision fp64 --threads 1 --checkpoint run --format json >first.json 2>err.txt
"$nereus" train --model chain --data chain.safetensors --dp 2 "${sgd[@]}" --precision fp64 --resume run >second.json 2>err.txt
check "resumed on another plan" python3 -c '
import json
expected = json.load(open("chain.json"))["fp64"]
got = [x for f in ("first.json", "second.json") for x in json.load(open(f))["losses"]]
assert len(got) == 20 and all(abs(a - b) < 1e-9 * b for a, b in zip(got, expected)), got'

refused() { # code, arguments of train
  local code=$1
  shift
  "$nereus" train "$@" >out.txt 2>err.txt
  check "refused: $code" bash -c "[[ $? -eq 2 ]] && grep -q '$code' err.txt"
}
refused 'train.data-kind' --model chain --data synthetic
refused 'train.data-shape' --model chain --data lines.safetensors
refused 'model.fixed' --model chain --data chain.safetensors --seq 4
refused 'train.dropout' --model chain --data chain.safetensors --dropout 0.1
refused 'plan.tensor' --model chain --data chain.safetensors --tp 2
"$nereus" plan --model chain --cluster 1xdgx-a100-80 --global-batch 64 -o chain.plan >out.txt 2>&1
sed -i 's/"id": "./"id": "x/' chain/model.json
refused 'model.script-changed' chain.plan --data chain.safetensors
rm -r chain
refused 'model.script-missing' chain.plan --data chain.safetensors
exit "$failed"
