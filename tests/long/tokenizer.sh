#!/usr/bin/env bash
# Tokens of nereus data prepare beside those of a slow encoder in Python, for every kind of tokenizer.json that is read,
# over random Unicode texts and a novel.
# Beside others: one Python program.
#
#   [SEED=N] tests/long/tokenizer.sh
set -euo pipefail
root=$(cd "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../.." && pwd)
source "$root/scripts/common.sh"
command -v python3 >/dev/null || exit 77
build_tree "$root/build/test" test "${test_tree[@]}" -- nereus
seed=${SEED:-$((RANDOM % 1000 + 1))}
say "seed $seed"
exec python3 "$root/tests/tokenizer/compare.py" "$root/build/test/nereus" "$root/data/text/persuasion.txt" "$([[ ${NEREUS_EVERYTHING:-} ]] && echo 3000 || echo 300)" "$seed"
