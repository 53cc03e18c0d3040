#!/usr/bin/env bash
# Files that were changed lately compile one by one, as they do in an editor, though trees are built of many files at a time
# (unity): each .cpp with its own includes, each .hpp alone. At most 30 and 10 of them, the latest first (scripts/changed_sources
# says since when), with g++ -fsyntax-only; with NEREUS_EVERYTHING=yes or --everything all of them. A header that is the first
# include of its own .cpp needs no compilation of its own.
# Beside others: it only compiles, and gives way to them.
#
#   tests/long/plain.sh [--everything | FILE...]
set -uo pipefail
root=$(dirname -- "$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")")
source "$root/scripts/common.sh"
source "$root/tests/long/checks"
renice -n 19 $$ >/dev/null
command -v python3 >/dev/null || skip "Python is not installed (Debian: python3)"
cd "$root" || exit 1

files=()
if [[ ${1:-} == --everything || (${NEREUS_EVERYTHING:-} && $# -eq 0) ]]; then
  mapfile -t files < <(scripts/changed_sources --all cpp hpp)
elif (($#)); then
  files=("$@")
else
  mapfile -t files < <(scripts/changed_sources cpp | head -n 30; scripts/changed_sources hpp | head -n 10)
fi
((${#files[@]})) || { echo "nothing was changed"; exit 0; }

# Configured only; what cmake writes then is all that sources include.
dir=$root/build/plain
build_tree "$dir" plain "${plain_tree[@]}" -- help || exit 1

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 - "$dir/compile_commands.json" "$root" "${files[@]}" >"$scratch/commands" <<'END' || exit 1
import json, os, re, shlex, sys
database, root, *files = sys.argv[1:]
commands = {}
for entry in json.load(open(database)):
    words, kept = shlex.split(entry["command"]), []
    while words:
        word = words.pop(0)
        if word in ("-o", "-include") or word == "-Winvalid-pch":
            if word != "-Winvalid-pch":
                words.pop(0)
        elif word != "-c" and os.path.basename(word) != "ccache":
            kept.append(word)
    source = os.path.realpath(os.path.join(entry["directory"], entry["file"]))
    kept = [word for word in kept if not word.endswith(".cpp")] + ["-fsyntax-only"]
    commands.setdefault(os.path.relpath(source, root), kept)


def first_include(path):
    found = re.search(r'^#include "([^"]+)"', open(path, encoding="utf-8").read(), re.M)
    return found and "src/" + found[1]


def is_test(path):
    return path.endswith("_test.cpp") or "test" in os.path.basename(path)


def flags_beside(header):
    """Of a source of the nearest folder, for tests where the header is for tests."""
    folder = os.path.dirname(header)
    while folder:
        for source, flags in sorted(commands.items()):
            if source.startswith(folder + "/") and is_test(source) == is_test(header):
                return flags
        folder = os.path.dirname(folder)
    return None


shown = set()
for name in sorted(files, key=lambda name: name.endswith(".hpp")):
    if not os.path.isfile(name):
        sys.exit(f"there is no {name}")
    if name.endswith(".cpp"):
        flags, what = commands.get(name), [name]
        shown.add(first_include(name))
        if flags is None:
            print(f"{name}: no target compiles it", file=sys.stderr)  # such as what only a machine with MPI has
            continue
    else:
        flags, what = flags_beside(name), ["-include", name, "-x", "c++", "/dev/null"]
        if flags is None or name in shown:
            continue
    print(name + "\t" + shlex.join(flags + what))
END

one() { # NAME<TAB>COMMAND
  local name=${1%%$'\t'*}
  (cd "$root" && eval "${1#*$'\t'}") </dev/null >"$scratch/$$" 2>&1 && return
  { echo "$name does not compile alone:"; head -n 12 "$scratch/$$" | cut -c 1-300; } >&2
  return 1
}
export -f one
export root scratch
echo "$(wc -l <"$scratch/commands") compilations"
tr '\n' '\0' <"$scratch/commands" | xargs -0 -n 1 -P "$(num_jobs)" bash -c 'one "$1"' one
