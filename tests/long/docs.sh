#!/usr/bin/env bash
# What README.md and docs/**/*.md show is what the program prints: scripts/docs --check, which says what may differ. Commands that
# take more than ten seconds only with NEREUS_EVERYTHING=yes. One file that is wrong on purpose must be found.
# Beside others: wall-clock seconds may differ.
#
#   NEREUS=build/dev/nereus tests/long/docs.sh
set -uo pipefail
root=$(dirname -- "$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")")
source "$root/tests/long/checks"
command -v python3 >/dev/null || skip "Python is not installed (Debian: python3)"
NEREUS=$(readlink -f -- "${NEREUS:-$root/build/test/nereus}")
export NEREUS
[[ -x $NEREUS ]] || skip "there is no $NEREUS"
"$(dirname -- "$NEREUS")/nereus-worker" --version >/dev/null 2>&1 || skip "nereus-worker is not built"

check "documentation shows what the program prints" "$root/scripts/docs" --check $([[ ${NEREUS_EVERYTHING:-} ]] || echo --quick)

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
page() { printf '```console\n$ %s\n%s\n```\n' "$1" "$2" >"$scratch/page.md"; }
good() { "$root/scripts/docs" --check "$scratch/page.md" >"$scratch/out" 2>&1; }
differs() { ! good && grep -q '^differs: ' "$scratch/out"; }
page "echo 12 candidates in 0.5 s, 7 cut" "12 candidates in 61.25 ms, 7 cut"
check "wall-clock seconds may differ" good
page "echo 12 candidates in 0.5 s, 7 cut" "12 candidates in 0.5 s, 8 cut"
check "nothing else of such a line may" differs
page "echo step 0.5 s" "step 0.6 s"
check "predicted seconds may not" differs
page "echo one; echo two" "one"
check "a line too many is found" differs
exit "$failed"
