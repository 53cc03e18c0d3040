#!/usr/bin/env bash
# src/ keeps its structure: scripts/structure says what that is. Then a small tree that breaks each of its rules on purpose.
# Beside others: it takes a second.
set -uo pipefail
root=$(dirname -- "$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")")
source "$root/tests/long/checks"
command -v python3 >/dev/null || skip "Python is not installed (Debian: python3)"

check "src/ keeps its structure" "$root/scripts/structure"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
begin() { # a tree that is good
  rm -rf "$scratch/tree"
  mkdir -p "$scratch"/tree/{cmake,src/low,src/low/deep,src/high,src/high/part,src/alone}
  cd "$scratch/tree" || exit 1
  printf 'nereus_folder(low DEPENDS fmt::fmt)\nnereus_folder(high DEPENDS\n  high/part)\n' >CMakeLists.txt
  printf 'nereus_folder(high/part DEPENDS low OPTIONS -O2)\nadd_library(x src/alone/module.cpp)\n' >cmake/more.cmake
  printf '## Folders\n\n| folder | is |\n| --- | --- |\n| `low/` | a |\n| `high/` | b |\n| `high/part/` | c |\n\n## Rest\n\n| `rest/` | d |\n' >ARCHITECTURE.md
  touch src/low/{a.cpp,a.hpp,testing.hpp} src/high/{h.hpp,testing.hpp} src/alone/module.cpp
  echo '#include "low/a.hpp"' >src/low/deep/b.hpp
  printf '#include "low/deep/b.hpp"\n#include <vector>\n#include "high/part/p.hpp"\n' >src/high/h.cpp
  echo '#include "low/a.hpp"' >src/high/part/p.hpp
  printf '#include "low/testing.hpp"\n#include "low/deep/b.hpp"\n' >src/low/a_test.cpp
}
finds() { # what must be said; the tree in the current folder breaks one rule
  local said
  said=$("$root/scripts/structure" --root .)
  [[ $? -eq 1 && $said == *"$1"* && $said == *"structure: 1 wrong" ]] || { echo "expected: $1"$'\n'"$said"; false; }
}
begin
check "a good tree" test "$("$root/scripts/structure" --root .)" = "structure: good"
begin && for i in {1..61}; do : >"src/low/f$i.cpp"; done && rm src/low/a.cpp src/low/a.hpp && sed -i 1d src/low/deep/b.hpp src/high/part/p.hpp
check "a folder of 61 files" finds "src/low: 61 files, at most 60"
begin && seq 401 | sed 's|^|// |' >src/low/a.cpp
check "a file of 401 lines" finds "src/low/a.cpp: 401 lines, at most 400"
begin && touch src/high/a.cpp
check "two files of one name" finds "a.cpp: 2 files of that name: src/high/a.cpp, src/low/a.cpp"
begin && sed -i '/part/d' ARCHITECTURE.md
check "a library that is not described" finds "the table of folders lacks high/part/"
begin && sed -i 's/^| `low.*/&\n| `lower\/` | d |/' ARCHITECTURE.md
check "a folder that is described and is none" finds "lower/ in the table of folders is no library"
begin && mkdir src/more && touch src/more/m.cpp
check "a file of no library" finds "src/more: belongs to no nereus_folder()"
begin && echo '#include "high/h.hpp"' >>src/low/a_test.cpp
check "an include against the direction" finds "src/low/a_test.cpp:3: includes high/h.hpp, and low does not depend on high"
begin && echo '#include "low/deep/b.hpp"' >src/low/a.cpp
check "a circle inside one library" finds "includes make a circle of 2 folders: low, low/deep"
begin && echo '#include "low/testing.hpp"' >src/low/a.cpp
check "a program that includes what is for tests" finds "src/low/a.cpp:1: includes low/testing.hpp, which is for tests"
begin && sed -i 's/low DEPENDS/low DEPENDS high/' CMakeLists.txt
check "libraries in a circle" finds "DEPENDS makes a circle of high, high/part, low"
exit "$failed"
