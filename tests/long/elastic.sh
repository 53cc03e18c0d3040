#!/usr/bin/env bash
# An elastic job whose machines come and go: agents in network namespaces behind links of 1 Gbit/s, disturbed at random (kill -9,
# SIGTERM with notice, SIGSTOP and waking, network cuts, joins, the coordinator killed, two ranks and whole stages at once, kills
# during a morph and a checkpoint), and every loss compared with that of an undisturbed run. Then what must be refused.
# NEREUS_SOAK_SEED and NEREUS_SOAK_SECONDS (90; the issue's ten minutes: 600) choose another. Needs root, for namespaces.
# RESULTS takes a line a test.
set -uo pipefail

root=$(dirname -- "$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")")
nereus=$(readlink -f -- "${NEREUS:-$root/build/test/nereus}")
scratch=$(mktemp -d)
pids=()
clean() {
  for pid in "${pids[@]:-}"; do [[ $pid ]] && kill -9 "$pid" 2>/dev/null; done
  rm -rf "$scratch"
}
trap clean EXIT
cd "$scratch" || exit 1
source "$root/tests/long/checks"

"$(dirname -- "$nereus")/nereus-worker" --version >/dev/null 2>&1 || skip "nereus-worker is not built"
model=(--model gpt2 --set model.layers=4 --set model.hidden=64 --set model.heads=4 --set model.vocab=256 --seq 32 --precision fp64
  --data synthetic --global-batch 12 --rate 1e-3 --threads 1)

# Shapes change with the machines, and state comes from peers.
"$nereus" train "${model[@]}" --steps 40 --format json -o one.json 2>one.err
check "one rank: exit 0" test $? -eq 0
"$nereus" train --elastic "${model[@]}" --steps 40 --job shapes --agents 6 --shapes 2x3,2x2,3x1 --checkpoint-every 1000 --format json \
  -o shapes.json 2>shapes.err &
job=$!
pids+=("$job")
wait_for() { # words in a file
  for ((i = 0; i < 600; ++i)); do grep -q "$1" "$2" 2>/dev/null && return 0 || sleep 0.1; done
  return 1
}
agent_of_rank() { # rank
  local name
  name=$(python3 -c 'import json, sys; print({r: n for n, r in json.load(open("shapes/coordinator.json"))["ranks"].items()}[int(sys.argv[1])])' "$1")
  pgrep -P "$job" -f -- "--name $name " | head -n 1
}
for ((i = 0; i < 600; ++i)); do (($(cat shapes/steps.jsonl 2>/dev/null | wc -l) >= 5)) && break || sleep 0.1; done
first=$(agent_of_rank 1) second=$(agent_of_rank 5)
kill -9 "$first" "$second"
wait "$job"
check "machines are lost: exit 0" test $? -eq 0
check "machines are lost: losses of one rank, from peers' state" python3 -c '
import json
one, many = json.load(open("one.json")), json.load(open("shapes.json"))
assert len(many["losses"]) == 40
assert all(abs(a / b - 1) < 1e-9 for a, b in zip(one["losses"], many["losses"]))
morphs = [e for e in many["events"] if e["kind"] == "morph"]
assert morphs and all(m["checkpoint_bytes"] == 0 and m["lost_steps"] == 0 for m in morphs), morphs
assert sum(m["peer_bytes"] for m in morphs) > 0
print("  morphs:", [(m["text"], m["own_bytes"], m["peer_bytes"], round(m["seconds"], 2)) for m in morphs])'

# Strangers and agents of another token are refused, told and forgotten; the job goes on.
"$nereus" train --elastic "${model[@]}" --steps 60 --job strangers --agents 2 --listen "127.0.0.1:$((28000 + $$ % 1000))" \
  --format json -o strangers.json 2>strangers.err &
job=$!
pids+=("$job")
wait_for "after the sign" strangers.err
printf 'GET / HTTP/1.1\r\n\r\n' | timeout 2 bash -c "cat >/dev/tcp/127.0.0.1/$((28000 + $$ % 1000))"
head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >other.token
timeout 4 "$nereus" agent --join "127.0.0.1:$((28000 + $$ % 1000))" --token other.token --name stranger 2>stranger.err
wait "$job"
check "strangers: the job ends well" test $? -eq 0
check "strangers: both are refused" test "$(grep -c '^refused' strangers.err)" -ge 2
check "strangers: none joined" test "$(grep -c '^joined: stranger' strangers.err)" -eq 0
check "the token is its owner's alone" test "$(stat -c %a strangers/token)" = 600

if ((EUID == 0)) && command -v ip tc >/dev/null && ip netns add "nereus$$-try" 2>/dev/null; then
  ip netns del "nereus$$-try"

  # A disk that is full: checkpoints fail and say so, training goes on, the last complete one stays.
  mkdir full
  if mount -t tmpfs -o size=3m none full 2>/dev/null; then
    "$nereus" train --elastic "${model[@]}" --steps 30 --job disk --agents 2 --shapes 1x2 --checkpoint full --checkpoint-every 5 --format json \
      -o disk.json 2>disk.err
    check "a full disk: exit 0" test $? -eq 0
    check "a full disk: said" grep -q "^remark: .*checkpoint" disk.err
    check "a full disk: all steps" python3 -c 'import json; assert len(json.load(open("disk.json"))["losses"]) == 30'
    umount full
  fi

  python3 "$root/tests/long/elastic/soak.py" --nereus "$nereus" --folder soak --namespaces --seed "${NEREUS_SOAK_SEED:-1}" \
    --seconds "${NEREUS_SOAK_SECONDS:-90}"
  check "soak in namespaces" test $? -eq 0
else
  python3 "$root/tests/long/elastic/soak.py" --nereus "$nereus" --folder soak --seed "${NEREUS_SOAK_SEED:-1}" \
    --seconds "${NEREUS_SOAK_SECONDS:-90}"
  check "soak without namespaces" test $? -eq 0
fi
((failed)) && tail -n 20 ./*.err
exit $failed
