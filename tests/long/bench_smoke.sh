#!/usr/bin/env bash
# Every benchmark runs; what it measures is not looked at here.
# Beside others: for that reason.
set -euo pipefail
root=$(cd "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../.." && pwd)
source "$root/scripts/common.sh"
[[ -f $root/bench/CMakeLists.txt ]] || { echo "there is no bench/ yet"; exit 77; }
build_tree "$root/build/bench" benchmarks -DCMAKE_BUILD_TYPE=Release -DNEREUS_WARNINGS_ARE_ERRORS=ON -DNEREUS_BENCH=ON
cd "$root" # benchmarks read data/ from here
for program in "$root"/build/bench/bench/*_bench "$root"/build/bench/*_bench; do
  [[ -x $program ]] || continue
  name=$(basename "$program")
  if "$program" --benchmark_min_time=0.01; then verdict=passed; else verdict=failed; fi
  echo "$verdict $name" >>"$RESULTS"
done
! grep -q ^failed "$RESULTS"
