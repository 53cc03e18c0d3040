#!/usr/bin/env bash
# A study ends with the same bytes however it was run: killed with -9 at many moments and gone on with, on one, two and
# four ranks, with one killed and its work redone; and its page opens in a browser.
#
#   tests/long/explore.sh       prints one line a case
set -euo pipefail
root=$(cd "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../.." && pwd)
source "$root/scripts/common.sh"
targets=(nereus)
if command -v mpirun >/dev/null; then targets+=(nereus_mpi); fi
build_tree "$root/build/test" test "${test_tree[@]}" -- "${targets[@]}"
nereus=$root/build/test/nereus
folder=$root/build/explore
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
RESULTS=${RESULTS:-$folder/results}
failed=0
verdict() { # name, whether it holds
  if [[ $2 == yes ]]; then word=passed; else word=failed failed=1; fi
  printf '%-42s %s\n' "$1" "$word"
  echo "$word explore $1" >>"$RESULTS"
}

# Searched: every cluster has some hundred thousand strategies. Listed: thousands of clusters with six each.
cat >searched.toml <<'END'
name = "searched"
stack = "megatron"
goals = ["time", "energy"]
[workload]
model = "llama2-7b"
global_batch = 256
[cluster]
base = "4xdgx-a100-80"
[axes]
nodes = [1, 2, 4]
inside_bandwidth = ["x0.5", "x1", "x2"]
memory = "40 GiB..80 GiB+10 GiB"
peak = ["x1", "x2", "x3"]
END
cat >listed.toml <<'END'
name = "listed"
stack = "megatron"
[workload]
model = "megatron-1t"
global_batch = 1024
[cluster]
base = "128xdgx-a100-80"
[axes]
network_bandwidth = "10 GB/s..200 GB/s+10 GB/s"
memory = "80 GiB..640 GiB+40 GiB"
memory_bandwidth = "1 TB/s..10 TB/s+500 GB/s"
inside_bandwidth = "100 GB/s..2000 GB/s+100 GB/s"
[strategy]
space = "mp-dp"
zero = 2
zero_group = 0
recompute = "full"
micro_batch = 1
sequence_parallel = false
tensor_overlap = false
END

# What must be the same: the database, every point, the page, and the answer but for its seconds.
same() { # reference, other
  cmp "$1.sqlite" "$2.sqlite" && cmp "$1.csv" "$2.csv" && cmp "$1.html" "$2.html" &&
    cmp <(sed -E 's/"(seconds|resumed_clusters)":[^,]*,|"database":[^,]*,//g' "$1.json") \
      <(sed -E 's/"(seconds|resumed_clusters)":[^,]*,|"database":[^,]*,//g' "$2.json")
}
explore() { # study, name, more...
  "${launcher[@]}" "$nereus" explore "$1.toml" --db "$2.sqlite" --csv "$2.csv" --html "$2.html" --format json \
    "${@:3}" >"$2.json"
}

launcher=()
for study in searched listed; do
  explore $study $study
  launcher=()
  kills=0
  for moment in 0.05 0.3 0.11 0.7 0.02 0.45 0.9 0.2 0.35 0.6 0.15 1.1; do
    "$nereus" explore $study.toml --db killed-$study.sqlite >/dev/null 2>&1 &
    pid=$!
    sleep $moment
    if kill -9 $pid 2>/dev/null; then kills=$((kills + 1)); fi
    wait $pid 2>/dev/null || true
  done
  explore $study killed-$study
  verdict "$study: killed $kills times" "$(same $study killed-$study >&2 && ((kills > 2)) && echo yes)"
  explore $study one-thread-$study --threads 1
  verdict "$study: on one thread" "$(same $study one-thread-$study >&2 && echo yes)"
done

if command -v mpirun >/dev/null; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  for study in searched listed; do
    for ranks in 1 2 4; do
      launcher=(mpirun --oversubscribe -n $ranks)
      explore $study ranks-$ranks-$study
      verdict "$study: on $ranks ranks" "$(same $study ranks-$ranks-$study >&2 && echo yes)"
    done
  done
  # A worker dies; the others do its work.
  launcher=(mpirun --oversubscribe --enable-recovery -n 3)
  explore listed lost 2>lost.err &
  job=$!
  # Once all have started: rank 0 writes what is computed.
  for ((i = 0; i < 600; ++i)); do
    [[ ! -s lost.sqlite ]] || break
    sleep 0.1
  done
  victim=$(pgrep -f -- "$nereus explore listed.toml --db lost.sqlite" | xargs -r ps -o pid=,args= -p | grep -v mpirun |
    awk 'NR == 3 { print $1 }')
  [[ $victim ]] && kill -9 "$victim" || true
  wait $job || true
  verdict "listed: a rank lost" "$(same listed lost >&2 && echo yes)"
else
  echo "skipped explore on ranks: mpirun is not installed (Debian: openmpi-bin)" >>"$RESULTS"
fi

if python3 "$root/tests/long/check_page.py" --find >/dev/null 2>&1; then
  verdict "the page in a browser" \
    "$(python3 "$root/tests/long/check_page.py" searched.html listed.html >&2 && echo yes)"
else
  echo "skipped explore page: no Chromium (Debian: chromium)" >>"$RESULTS"
fi
exit $failed
