#!/usr/bin/env bash
# Training across hosts: two network namespaces, joined by a link of 200 Mbit/s, each with two ranks that a launcher starts
# (a loop that sets what launchers set, and mpirun). The losses are those of one host; a cut cable ends
# the job, with a rank named. Needs root, for namespaces. RESULTS takes a line a test.
# Beside others: its link is slower than its processes.
set -uo pipefail

root=$(dirname -- "$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")")
nereus=$(readlink -f -- "${NEREUS:-$root/build/test/nereus}")
scratch=$(mktemp -d)
tag=nereus$$
clean() {
  ip netns pids "$tag-a" 2>/dev/null | xargs -r kill -9
  ip netns pids "$tag-b" 2>/dev/null | xargs -r kill -9
  ip netns del "$tag-a" 2>/dev/null
  ip netns del "$tag-b" 2>/dev/null
  rm -rf "$scratch"
}
trap clean EXIT
cd "$scratch" || exit 1
source "$root/tests/long/checks"

((EUID == 0)) || skip "network namespaces need root"
command -v ip tc >/dev/null || skip "no ip and tc here (iproute2)"
"$(dirname -- "$nereus")/nereus-worker" --version >/dev/null 2>&1 || skip "nereus-worker is not built"
ip netns add "$tag-a" 2>/dev/null && ip netns add "$tag-b" || skip "this kernel makes no network namespaces"
ip link add v0 netns "$tag-a" type veth peer name v0 netns "$tag-b" || skip "no veth links here"
for side in a:1 b:2; do
  on="ip -n $tag-${side%:*}"
  $on addr add "10.231.7.${side#*:}/24" dev v0
  $on link set v0 up
  $on link set lo up
  tc -n "$tag-${side%:*}" qdisc add dev v0 root tbf rate 200mbit burst 64kb latency 50ms || skip "no token buckets (tbf) here"
done

model=(--model gpt2 --set model.layers=4 --set model.hidden=64 --set model.heads=4 --set model.vocab=256 --seq 32 --data synthetic
  --global-batch 8 --threads 1 --rate 1e-3)
losses_equal() { # file: those of one host, to what fp32 sums in another order leave
  python3 -c '
import json, sys
a, b = (json.load(open(f))["losses"] for f in ("one.json", sys.argv[1]))
assert len(a) == len(b) == 10 and all(abs(x / y - 1) < 1e-5 for x, y in zip(a, b)), (a, b)' "$1"
}
"$nereus" train "${model[@]}" --steps 10 --format json -o one.json 2>one.err
check "one host" test $? -eq 0

# What every launcher sets, two ranks a host; rank 0 writes the result.
by_hand() { # port, more words
  local port=$1 status=0 pids=()
  shift
  for rank in 0 1 2 3; do
    RANK=$rank WORLD_SIZE=4 LOCAL_RANK=$((rank % 2)) MASTER_ADDR=10.231.7.1 MASTER_PORT=$port \
      ip netns exec "$tag-$( ((rank < 2)) && echo a || echo b)" "$nereus" train "${model[@]}" "$@" 2>"rank$rank.err" &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || status=$?; done
  return $status
}
for plan in "dp 4:--dp 4" "pp 2 x dp 2:--pp 2 --dp 2" "pp 4:--pp 4" "ZeRO-3, dp 4:--dp 4 --zero 3" "tp 2 x pp 2:--tp 2 --pp 2"; do
  # shellcheck disable=SC2086
  by_hand 29400 ${plan#*:} --steps 10 --format json -o many.json
  check "${plan%%:*}: exit 0" test $? -eq 0
  check "${plan%%:*}: losses of one host" losses_equal many.json
  rm -f many.json
done

# A plan whose ranks send 50 MB a step over the link must wait for it: 4 s at 200 Mbit/s and some.
by_hand 29401 --dp 4 --set model.hidden=512 --set model.heads=8 --steps 3 --format json -o slow.json
check "the link's rate is felt" python3 -c '
import json
d = json.load(open("slow.json"))
print("  step", d["step_s"], "s, waiting for gradients", d["waits"]["reduce"] if "reduce" in d["waits"] else d["waits"])
assert d["step_s"] > 2'

# mpirun of one host starts the ranks of both, by an agent that enters the other namespace as ssh would the other machine.
if command -v mpirun >/dev/null; then
  printf '#!/bin/sh\nshift\nexec ip netns exec %s-b sh -c "$*"\n' "$tag" >agent
  chmod +x agent
  ip netns exec "$tag-a" mpirun --allow-run-as-root -n 4 --host 10.231.7.1:2,10.231.7.2:2 --mca plm_rsh_agent "$PWD/agent" \
    --mca oob_tcp_if_include v0 -x MASTER_ADDR=10.231.7.1 -x MASTER_PORT=29402 \
    "$nereus" train "${model[@]}" --pp 2 --dp 2 --steps 10 --format json -o "$PWD/mpirun.json" >mpirun.out 2>&1
  check "mpirun: exit 0" test $? -eq 0
  check "mpirun: losses of one host" losses_equal mpirun.json
  [[ -s mpirun.json ]] || tail -n 20 mpirun.out
fi

# The cable is cut: every rank ends with exit 5, and says who cannot be reached.
began=$SECONDS
rm -f rank?.err
by_hand 29403 --pp 2 --dp 2 --steps 100000 --timeout 5 >cut.out &
job=$!
for ((i = 0; i < 100; ++i)); do grep -q "^step 1" rank0.err 2>/dev/null && break || sleep 0.2; done
ip -n "$tag-b" link set v0 down
wait "$job"
check "a cut cable: exit 5" test $? -eq 5
check "a cut cable: within the time-out and some" test $((SECONDS - began)) -le 45
check "a cut cable: a rank of the other host is named" grep -qE "rank [23]" rank0.err
check "nothing left in the namespaces" test -z "$(ip netns pids "$tag-a")$(ip netns pids "$tag-b")"
((failed)) && tail -n 5 rank?.err
exit $failed
