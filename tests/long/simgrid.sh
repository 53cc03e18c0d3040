#!/usr/bin/env bash
# Our simulated networks against SimGrid's, flow by flow: shared links, random flows, whole collectives on every kind of
# network. tests/long/simgrid/write_cases.cpp has the cases, play_case.cpp the settings of SimGrid and why.
# Beside others: one simulation after the other.
#
#   tests/long/simgrid.sh [FILTER]      cases whose name contains FILTER; prints one line a case
set -euo pipefail
root=$(cd "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../.." && pwd)
source "$root/scripts/common.sh"
if ! echo '#include <simgrid/s4u.hpp>' | c++ -std=c++17 -E -x c++ - >/dev/null 2>&1; then
  echo "SimGrid is not installed (Debian: libsimgrid-dev)"
  exit 77
fi
build_tree "$root/build/test" test "${test_tree[@]}" -- simgrid_cases
cases=$root/build/simgrid
rm -rf "$cases"
mkdir -p "$cases"
RESULTS=${RESULTS:-$cases/results}
c++ -O1 -std=c++17 "$root/tests/long/simgrid/play_case.cpp" -o "$cases/play_case" -lsimgrid
"$root/build/test/tests/simgrid_cases" "$cases"
failed=0
for case in "$cases"/*"${1:-}"*.case; do
  name=$(basename "$case" .case)
  if line=$(timeout 300 "$cases/play_case" "$case"); then verdict=passed; else verdict=failed failed=1; fi
  printf '%-42s %s\n' "$name" "${line:-no answer}"
  echo "$verdict simgrid $name" >>"$RESULTS"
done
exit $failed
