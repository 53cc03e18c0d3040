#!/usr/bin/env bash
# Stalls that are put into small jobs on purpose, one by one and in pairs, are found, named and sized; and where nothing was put in,
# nothing is found (tests/long/stalls/cases.py says how). Three kinds of stall and two runs without; all seven, pairs and twenty such
# runs with NEREUS_EVERYTHING=yes, which takes most of an hour. NEREUS_STALL_SECONDS: of each measurement (5). Further words are
# arguments of cases.py: --all, --only launch,fetch. Some need root, for namespaces and control groups. RESULTS takes a line a test.
set -uo pipefail

root=$(dirname -- "$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")")
nereus=$(readlink -f -- "${NEREUS:-$root/build/test/nereus}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
source "$root/tests/long/checks"

"$(dirname -- "$nereus")/nereus-worker" --version >/dev/null 2>&1 || skip "nereus-worker is not built"
g++ -std=c++17 -O1 -w -shared -fPIC "$root/tests/long/stalls/inject.cpp" -o "$scratch/inject.so" -ldl ||
  skip "what puts stalls in does not build"
if [[ ${NEREUS_EVERYTHING:-} ]]; then how=(--all --nulls 20); else how=(--only launch,network,prepare --nulls 2); fi
wait_until_quiet
status=0
python3 "$root/tests/long/stalls/cases.py" --nereus "$nereus" --inject "$scratch/inject.so" --seconds "${NEREUS_STALL_SECONDS:-5}" \
  "${how[@]}" "$@" | tee "$scratch/out" || status=$?
while IFS= read -r line; do
  case $line in
    passed*) check "${line#passed }" true ;;
    failed*) check "${line#failed }" false ;;
    skipped*) echo "skipped stalls: ${line#skipped }" >>"${RESULTS:-/dev/null}" ;;
  esac
done <"$scratch/out"
check "all cases ran" grep -q 'nothing put in: ' "$scratch/out"
exit $status
