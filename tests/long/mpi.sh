#!/usr/bin/env bash
# Work spread over the ranks of Open MPI: the same bytes at any number of ranks, whatever happens to them, and nothing left
# behind. tests/long/mpi/spread_sample.cpp is the program; unit tests of src/spread have ranks as threads.
# Beside others: its ranks wait more than they compute.
#
#   tests/long/mpi.sh [FILTER]      cases whose name contains FILTER
set -euo pipefail
root=$(cd "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../.." && pwd)
source "$root/scripts/common.sh"
if ! command -v mpirun >/dev/null || ! command -v mpicxx >/dev/null; then
  echo "Open MPI is not installed (Debian: openmpi-bin libopenmpi-dev)"
  exit 77
fi
build_tree "$root/build/test" test "${test_tree[@]}" -- spread_sample nereus
mkdir -p "$root/build"
work=$(mktemp -d "$root/build/mpi.XXXXXX")
RESULTS=${RESULTS:-$work/results}
# A name of its own, so that only this run's processes are found.
sample=$work/sample.${work##*.}
cp "$root/build/test/spread_sample" "$sample"
cp "$root/build/test/nereus_mpi.so" "$work/"
launcher=(mpirun --oversubscribe)
((EUID != 0)) || launcher+=(--allow-run-as-root)

# Processes of the sample by rank, and all of them that are not only waiting for their parent to notice.
pid_of_rank() {
  local pid
  for pid in $(running); do
    grep -qzx "OMPI_COMM_WORLD_RANK=$1" "/proc/$pid/environ" 2>/dev/null && echo "$pid"
  done
  return 0
}
running() { ps -eo pid=,stat=,args= | awk -v p="$sample" '$3 == p && $2 !~ /^Z/ {print $1}'; }
trap 'kill -9 $(running) 2>/dev/null || true; rm -rf "$work"' EXIT

# wait_for SECONDS COMMAND...: until it succeeds
wait_for() {
  local end=$((SECONDS + $1))
  until "${@:2}"; do
    ((SECONDS < end)) || return 1
    sleep 0.05
  done
}
wait_until_accepted() { wait_for 30 grep -qsx "accepted $1" "$work/err"; }
nothing_left() { wait_for 10 eval '[[ -z $(running) ]]' || { echo "left behind: $(running)"; return 1; }; }

# start MPIRUN_ARGUMENTS... -- SAMPLE_ARGUMENTS...: in the background as $job
start() {
  local options=()
  while [[ $1 != -- ]]; do
    options+=("$1")
    shift
  done
  shift
  : >"$work/err"
  timeout -s KILL 120 "${launcher[@]}" "${options[@]}" "$sample" "$@" >"$work/out" 2>"$work/err" </dev/null &
  job=$!
}
# ends_with CODE: the job in the background ends so, and nothing is left of it
ends_with() {
  local code=0
  wait "$job" || code=$?
  [[ $1 == any || ($1 == nonzero && $code != 0) || $1 == "$code" ]] ||
    { echo "exit code $code, not $1"; return 1; }
  nothing_left
}
same_bytes() { cmp "$work/expected" "$work/out"; }
stderr_has() { grep -q -- "$1" "$work/err" || { echo "stderr has no '$1'"; return 1; }; }
# Whole lines of the expected ones, from the first on.
is_prefix() { head -c "$(wc -c <"$work/out")" "$work/expected" | cmp - "$work/out"; }

# 600 pieces of about 10 ms with 3 kB each, on 2 threads a rank; a rank is lost after 1 s.
arguments=(600 10 3000 1 2)
"$sample" "${arguments[@]}" >"$work/expected" 2>/dev/null
[[ $(wc -l <"$work/expected") == 601 ]]

case_one_rank() { start -n 1 -- "${arguments[@]}" && ends_with 0 && same_bytes; }
case_two_ranks() { start -n 2 -- "${arguments[@]}" && ends_with 0 && same_bytes; }
case_four_ranks() { start -n 4 -- "${arguments[@]}" && ends_with 0 && same_bytes && stderr_has "lost 0"; }

# signal_rank SIGNAL RANK MPIRUN_ARGUMENTS...: when 100 pieces are accepted
signal_rank() {
  start "${@:3}" -n 4 -- "${arguments[@]}"
  wait_until_accepted 1100 && kill "-$1" "$(pid_of_rank "$2")"
}
case_killed_with_recovery() {
  signal_rank KILL 2 --enable-recovery && ends_with 0 && same_bytes && stderr_has "redone [1-9][0-9]*, lost 1"
}
case_killed_with_recovery_over_tcp() {
  signal_rank KILL 2 --enable-recovery --mca btl tcp,self && ends_with 0 && same_bytes && stderr_has "lost 1"
}
# Long results: a rank dies while one is under way.
case_killed_in_long_results() {
  local long=(60 20 2000000 1 2)
  "$sample" "${long[@]}" >"$work/long" 2>/dev/null
  start --enable-recovery -n 4 -- "${long[@]}"
  wait_until_accepted 1000 && kill -KILL "$(pid_of_rank 1)" && kill -KILL "$(pid_of_rank 3)" &&
    ends_with 0 && cmp "$work/long" "$work/out" && stderr_has "lost 2"
}
case_killed_without_recovery() {
  local begin=$SECONDS
  signal_rank KILL 2 && ends_with nonzero && ((SECONDS - begin < 20)) && is_prefix_or_stopped
}
# What rank 0 had written is whole pieces, with or without its last word.
is_prefix_or_stopped() {
  [[ $(tail -n 1 "$work/out") != stopped ]] || sed -i '$d' "$work/out"
  is_prefix
}
case_all_but_rank_0_killed() {
  start --enable-recovery -n 3 -- "${arguments[@]}"
  wait_until_accepted 1100 && kill -KILL "$(pid_of_rank 1)" "$(pid_of_rank 2)" && ends_with 0 && same_bytes &&
    stderr_has "lost 2"
}
case_rank_0_killed_with_recovery() { signal_rank KILL 0 --enable-recovery && ends_with any && stderr_has "rank-0-lost"; }
case_suspended() { signal_rank STOP 2 && ends_with 0 && same_bytes && stderr_has "lost 1"; }
case_suspended_with_recovery() { signal_rank STOP 2 --enable-recovery && ends_with 0 && same_bytes && stderr_has "lost 1"; }
case_suspended_and_back() {
  signal_rank STOP 2 && wait_for 20 grep -q "no sign of life" "$work/err" && kill -CONT "$(pid_of_rank 2)" &&
    ends_with 0 && same_bytes && stderr_has "is back" && stderr_has "lost 0"
}
case_rank_0_interrupted() { signal_rank INT 0 && ends_with 10 && [[ $(tail -n 1 "$work/out") == stopped ]] && is_prefix_or_stopped; }
case_usr1_to_mpirun() {
  start -n 4 -- "${arguments[@]}"
  # `timeout` hands signals it knows on to mpirun, and mpirun this one to its ranks.
  wait_until_accepted 1100 && kill -USR1 "$(ps -o pid= --ppid "$job")" && ends_with 10 &&
    [[ $(tail -n 1 "$work/out") == stopped ]] && is_prefix_or_stopped
}
# Mpirun gives its ranks SIGTERM, and a second later SIGKILL.
case_mpirun_interrupted() {
  start -n 4 -- "${arguments[@]}"
  wait_until_accepted 1100 && kill -INT "$(ps -o pid= --ppid "$job")" && ends_with nonzero && is_prefix_or_stopped
}
# Pieces of 1.5 to 4.5 s that sleep: whatever CPU rank 0 uses goes into waiting. A core that spins would use thousands of ms.
case_waits_without_burning_a_core() {
  start -n 4 -- 8 3000 0 10 2
  ends_with 0 && local cpu && cpu=$(sed -n 's/^cpu_ms //p' "$work/err") && echo "rank 0: $cpu ms of CPU" && ((cpu < 600))
}
# One rank never comes to MPI: the others would wait for it for ever.
case_rank_that_does_not_start() {
  local begin=$SECONDS code=0
  NEREUS_MPI_START_S=3 timeout -s KILL 60 "${launcher[@]}" --enable-recovery -n 2 "$sample" "${arguments[@]}" : -n 1 sleep 15 \
    >"$work/out" 2>"$work/err" </dev/null || code=$?
  ((code != 137 && SECONDS - begin < 40)) && [[ ! -s $work/out ]] && stderr_has "mpi.start" && nothing_left
}
case_no_module() {
  mkdir -p "$work/bare"
  cp "$sample" "$work/bare/"
  local code=0
  "${launcher[@]}" -n 2 "$work/bare/$(basename "$sample")" 10 1 >"$work/out" 2>"$work/err" || code=$?
  ((code == 4)) && [[ ! -s $work/out ]] && stderr_has "mpi.no-module" && stderr_has "libopenmpi-dev"
}
case_broken_module() {
  mkdir -p "$work/broken"
  cp "$sample" "$work/broken/"
  echo "not a library" >"$work/broken/nereus_mpi.so"
  local code=0
  "${launcher[@]}" -n 2 "$work/broken/$(basename "$sample")" 10 1 >"$work/out" 2>"$work/err" || code=$?
  ((code == 4)) && [[ ! -s $work/out ]] && stderr_has "mpi.not-loaded"
}
# The commit in the module's bytes, changed.
case_module_of_another_build() {
  mkdir -p "$work/other"
  cp "$sample" "$work/other/"
  local code=0 commit
  commit=$("$root/build/test/nereus" version --format csv | sed -n '2s/^[^,]*,\([0-9a-z]*\).*/\1/p')
  sed "s/$commit/${commit//?/0}/g" "$work/nereus_mpi.so" >"$work/other/nereus_mpi.so"
  "${launcher[@]}" -n 2 "$work/other/$(basename "$sample")" 10 1 >"$work/out" 2>"$work/err" || code=$?
  ((code == 4)) && [[ ! -s $work/out ]] && stderr_has "mpi.other-build"
}
case_program_does_not_link_mpi() { ! ldd "$root/build/test/nereus" | grep -i mpi; }

failed=0
for name in $(compgen -A function case_); do
  [[ $name == *"${1:-}"* ]] || continue
  if output=$("$name" 2>&1); then verdict=passed; else verdict=failed failed=1; fi
  echo "$verdict ${name#case_} ${output//$'\n'/; }"
  [[ $verdict == passed ]] || sed 's/^/    /' "$work/err" | tail -n 30
  echo "$verdict mpi ${name#case_}" >>"$RESULTS"
  kill -9 $(running) 2>/dev/null || true
done
exit $failed
