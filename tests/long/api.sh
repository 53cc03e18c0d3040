#!/usr/bin/env bash
# The public face gives what the command line gives: the pinned table through `nereus api`, and a program that links the
# installed library with find_package(nereus).
# Beside others: it takes some seconds.
set -uo pipefail
root=$(dirname -- "$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")")
source "$root/tests/long/checks"
nereus=$(readlink -f -- "${NEREUS:-$root/build/test/nereus}")
tree=$(dirname -- "$nereus")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Stands for the program: each command becomes a line for `nereus api`, whose answer is printed.
cat >"$scratch/nereus" <<EOF
#!/usr/bin/env bash
line=\$("$nereus" "\$@" --as-request) || exit
reply=\$("$nereus" api <<<"\$line" | grep -v '^{"id":1,"progress"')
sed -E 's/^\{"id":1,"answer"://; s/(,"notes":\[[^]]*\])?(,"exit_code":[0-9]+)?\}\$//' <<<"\$reply"
code=\$(grep -oE '"exit_code":[0-9]+\}\$' <<<"\$reply" | tr -dc 0-9)
exit "\${code:-0}"
EOF
chmod +x "$scratch/nereus"
check "the pinned table through nereus api" "$root/tests/pinned/run" "$scratch/nereus"

installed() { cmake --install "$tree" --prefix "$scratch/installed" >"$scratch/install.log" 2>&1 || { tail "$scratch/install.log"; false; }; }
check "cmake --install" installed
builds() {
  { cmake -S "$root/examples/library" -B "$scratch/example" -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$scratch/installed" &&
    cmake --build "$scratch/example"; } >"$scratch/example.log" 2>&1 || { tail "$scratch/example.log"; false; }
}
check "a program links nereus::nereus" builds
# The same three plans as the command line's.
cat >"$scratch/show.py" <<'EOF'
import json, sys
for plan in json.load(sys.stdin)["plans"]:
    d = plan["degrees"]
    print("tp %d, pp %d, dp %d: %.3f s, MFU %.1f %%" % (d["tp"], d["pp"], d["dp"], plan["step_s"], 100 * plan["model_flops_utilization"]))
EOF
agrees() {
  diff <("$scratch/example/plan_a_model" llama3-8b 4xdgx-h100 2>/dev/null) \
    <("$scratch/installed/bin/nereus" plan --model llama3-8b --cluster 4xdgx-h100 --top 3 --format json | python3 "$scratch/show.py")
}
check "its plans are those of nereus plan" agrees
refuses() { # what is wrong is said in JSON, with the exit code
  local said
  said=$("$scratch/example/plan_a_model" llama3-9b 2>&1 >/dev/null)
  [[ $? -eq 2 && $said == *'"code"'* && $said == *llama3-8b* ]] || { echo "$said"; false; }
}
check "a wrong model is refused with the nearest" refuses
exit $failed
