#!/usr/bin/env bash
# The code asks for no more than its compilers and standard libraries share: clang 14 with libc++ 13, which has the least of C++20,
# and without the libraries that one can do without (oneTBB, yaml-cpp, protobuf; of fmt the headers alone). Files that were changed
# lately are compiled so, at most 16, the latest first (scripts/changed_sources says since when); with NEREUS_EVERYTHING=yes or
# --everything the whole of nereus is built so, base to app and its command line, and must agree with the pinned table.
#
# libc++ comes from Debian's packages, unpacked into build/libcxx: installed, they would take libtorch's place.
# Beside others: it only compiles, and gives way to them.
#
#   tests/long/portable.sh [--everything | FILE...]
set -uo pipefail
root=$(dirname -- "$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")")
source "$root/scripts/common.sh"
source "$root/tests/long/checks"
renice -n 19 $$ >/dev/null
command -v clang++-14 >/dev/null || skip "clang is not installed (Debian: clang-14)"
cd "$root" || exit 1

libcxx=$root/build/libcxx packages=(libc++-13-dev libc++1-13 libc++abi-13-dev libc++abi1-13 libunwind-13)
if [[ ! -d $libcxx ]]; then
  command -v apt-get >/dev/null || skip "libc++ 13 is fetched with apt-get, which is not here"
  mkdir -p "$root/build"
  fetched=$(mktemp -d "$root/build/libcxx.XXXXXX")
  trap 'rm -rf "$fetched"' EXIT
  (cd "$fetched" && apt-get -q download "${packages[@]}" >log 2>&1) ||
    skip "apt-get could not download libc++ 13 (is there a network or a package mirror?)"
  for package in "$fetched"/*.deb; do dpkg -x "$package" "$fetched/unpacked" || exit 1; done
  mv -T "$fetched/unpacked" "$libcxx" || exit 1
fi
headers=(-nostdinc++ -isystem "$libcxx/usr/lib/llvm-13/include/c++/v1")

# Does the standard library compile at all with this clang? Then what follows is about our code.
echo '#include <vector>' | clang++-14 -std=c++20 "${headers[@]}" -fsyntax-only -x c++ - || { echo "libc++ in $libcxx is not whole"; exit 1; }

if [[ ${1:-} == --everything || (${NEREUS_EVERYTHING:-} && $# -eq 0) ]]; then
  portable_tree=(-DCMAKE_BUILD_TYPE=Release -DNEREUS_WARNINGS_ARE_ERRORS=ON -DNEREUS_TESTS=OFF
    -DCMAKE_C_COMPILER=clang-14 -DCMAKE_CXX_COMPILER=clang++-14 "-DCMAKE_CXX_FLAGS=${headers[*]}"
    "-DCMAKE_EXE_LINKER_FLAGS=-stdlib=libc++ -L$libcxx/usr/lib/llvm-13/lib -Wl,-rpath,$libcxx/usr/lib/llvm-13/lib"
    -DNEREUS_TBB=OFF -DNEREUS_YAML=OFF -DNEREUS_ONNX=OFF -DNEREUS_FMT=fmt::fmt-header-only)
  check "nereus builds with clang 14, libc++ 13 and the fewest libraries" \
    build_tree "$root/build/portable" portable "${portable_tree[@]}" -- nereus
  ((!failed)) || exit 1
  check "its answers are those of the pinned table" tests/pinned/run build/portable/nereus
  exit "$failed"
fi

# Tests, and what needs libraries that are left out, are for the other trees.
portable_sources() { grep -vE '^src/(worker|mpi|model/onnx)/|_test\.cpp$'; }
if (($#)); then files=("$@"); else mapfile -t files < <(scripts/changed_sources cpp | portable_sources | head -n 16); fi
((${#files[@]})) || { echo "nothing was changed"; exit 0; }
one() { # FILE: silent where it compiles
  local said
  said=$(clang++-14 -std=c++20 "${@:2}" -fsyntax-only -Isrc -DFMT_HEADER_ONLY -DNEREUS_WITHOUT_YAML "$1" 2>&1 </dev/null) && return
  { echo "$1 does not compile with clang 14 and libc++ 13:"; head -n 12 <<<"$said" | cut -c 1-300; } >&2
  return 1
}
export -f one
echo "${#files[@]} files"
# shellcheck disable=SC2016  # the inner shell expands them
printf '%s\0' "${files[@]}" | xargs -0 -P "$(num_jobs)" -I '{}' bash -c 'one "$@"' one '{}' "${headers[@]}"
