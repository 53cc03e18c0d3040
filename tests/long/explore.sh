#!/usr/bin/env bash
# A study ends with the same bytes however it was run: killed with -9 at many moments and gone on with, on one, two and
# four ranks, with one killed and its work redone; and its page opens in a browser.
# Beside others: bytes alone are compared.
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

# COMET's two claims, and every claim's fields: half a minute, so not among the golden files, which sanitizers run too.
comet() {
  [[ $("$nereus" reproduce comet --format json 2>/dev/null | python3 -c '
import json, sys
claims = json.load(sys.stdin)["claims"]
print(len(claims) > 30, sorted({key for claim in claims for key in claim}))
print([(claim["name"], claim["published"]) for claim in claims if claim["published"]])') == "\
True ['command', 'inputs', 'kind', 'name', 'note', 'ours', 'published', 'seconds']
[('speedup by memory expansion, MP x DP', 1.4), ('clusters compared: slowest over fastest, MP x DP', 7.7)]" ]]
}
verdict "reproduce comet" "$(comet && echo yes)"

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
  # A rank dies that has begun to compute; the others do its work. Mpirun must not lose what rank 0 has printed, though rank 0 ends
  # the ranks that are lost by MPI_Abort.
  launcher=(mpirun --oversubscribe --enable-recovery -n 3)
  rank_2() { # the process, once its work has taken a tenth of a second of processor time
    local pid used
    for pid in $(pgrep -f -- "^$nereus explore listed.toml --db lost.sqlite"); do
      grep -qzx OMPI_COMM_WORLD_RANK=2 "/proc/$pid/environ" 2>/dev/null || continue
      used=$(awk '{ print $14 }' "/proc/$pid/stat" 2>/dev/null) && ((used >= 10)) && echo "$pid"
    done
    return 0
  }
  explore listed lost 2>lost.err &
  job=$!
  # Rank 0 writes what is computed: MPI has started.
  victim=
  for ((i = 0; i < 600; ++i)); do
    if [[ -s lost.sqlite ]] && victim=$(rank_2) && [[ $victim ]]; then break; fi
    sleep 0.1
  done
  status=0
  [[ ! $victim ]] || kill -9 "$victim" || victim=
  wait $job || status=$?
  echo "rank 2 was process ${victim:-unknown}; exit $status; $(wc -c <lost.json) bytes"
  cat lost.err
  verdict "listed: a rank lost, exit 0" "$([[ $victim && $status -eq 0 ]] && echo yes)"
  verdict "listed: a rank lost, said" "$(grep -q 'rank 2 .*no sign of life' lost.err && echo yes)"
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
