#!/usr/bin/env bash
# clang-tidy says nothing of files that were changed lately: names as in CONTRIBUTING.md, and mistakes (.clang-tidy has the list).
# Without the worker: libtorch's headers do not compile with Clang 14 in C++20 (std::vector of an incomplete type).
# At most 16 files, the latest first (scripts/changed_sources says since when); with NEREUS_EVERYTHING=yes or --everything all.
# Beside others: it only reads, and gives way to them.
#
#   tests/long/tidy.sh [--everything | FILE...]
set -uo pipefail
root=$(dirname -- "$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")")
source "$root/scripts/common.sh"
source "$root/tests/long/checks"
renice -n 19 $$ >/dev/null
command -v clang-tidy-14 >/dev/null || skip "clang-tidy is not installed (Debian: clang-tidy-14)"
cd "$root" || exit 1

without_worker() { grep -v '^src/worker/'; }
files=()
if [[ ${1:-} == --everything || (${NEREUS_EVERYTHING:-} && $# -eq 0) ]]; then
  mapfile -t files < <(scripts/changed_sources --all cpp | without_worker)
elif (($#)); then
  files=("$@")
else
  mapfile -t files < <(scripts/changed_sources cpp | without_worker | head -n 16)
fi
((${#files[@]})) || { echo "nothing was changed"; exit 0; }
build_tree "$root/build/plain" plain "${plain_tree[@]}" -- help || exit 1

# Its arguments are GCC's: clang does not know all of them.
one() { # FILE: silent where nothing is found
  local said
  said=$(clang-tidy-14 -p "$root/build/plain" --quiet --warnings-as-errors='*' --extra-arg=-Wno-unknown-warning-option \
    --extra-arg=-Wno-ignored-optimization-argument --extra-arg=-Wno-unused-command-line-argument "$1" 2>&1 </dev/null) && return
  printf '%s\n' "$said" | grep -vE '^[0-9]+ warnings|^Suppressed|^Use -header-filter' | cut -c 1-300 >&2
  return 1
}
export -f one
export root
echo "${#files[@]} files"
printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$(num_jobs)" bash -c 'one "$1"' one
