#!/usr/bin/env bash
# It learns: a byte-level GPT of 0.8 M parameters on two novels, pipeline 2 x data 2, a minute's worth of the run of
# docs/train.md. Guessing bytes evenly is a loss of 5.55, knowing how often each occurs 3.1. RESULTS takes a line a test.
# Beside others: nothing in it depends on time.
set -uo pipefail
root=$(dirname -- "$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")")
nereus=${NEREUS:-$root/build/test/nereus}
"$(dirname -- "$nereus")/nereus-worker" --version >/dev/null 2>&1 || { echo "nereus-worker is not built"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$nereus" data prepare "$root"/data/text/persuasion.txt "$root"/data/text/pride-and-prejudice.txt -o "$scratch/austen.tokens" >/dev/null 2>&1 &&
  "$nereus" train --model "$root/data/text/char-gpt.toml" --pp 2 --dp 2 --micro-batch 4 --global-batch 16 --data "$scratch/austen.tokens" \
    --steps 250 --rate 2e-3 --warmup 40 --weight-decay 0.1 --clip 1 --format json -o "$scratch/out.json" --svg "$scratch/loss.svg" 2>"$scratch/err" &&
  python3 - "$scratch/out.json" <<'PY'
import json, sys
losses = json.load(open(sys.argv[1]))["losses"]
last = sum(losses[-20:]) / 20
print(f"  loss {losses[0]:.3f} to {last:.3f}")
assert len(losses) == 250 and losses[0] > 5.4 and last < 2.45
PY
status=$?
word=$( ((status == 0)) && echo passed || echo failed)
echo "$word learn: a small GPT learns to write English letters"
[[ ${RESULTS:-} ]] && echo "$word learn: a small GPT learns to write English letters" >>"$RESULTS"
((status == 0)) || tail -n 3 "$scratch/err"
exit $status
