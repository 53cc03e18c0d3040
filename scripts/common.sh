# Shared by ./nereus and ./test: packages, configuring, building. Everything is said on stderr.
#
#   root=/path/to/checkout; source "$root/scripts/common.sh"
#   require_packages build test
#   build_tree "$root/build/test" nereus -DNEREUS_TESTS=ON     # directory, what to call it, cmake arguments

# ccache lets the build trees share what is the same in them; it needs some home.
[[ -w ${HOME:-/nonexistent} ]] || export CCACHE_DIR=$root/build/.ccache
# And checkouts: paths inside one are hashed relative to it.
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=yes
# What is compiled with a precompiled header (the worker) is kept too only if this is said.
export CCACHE_SLOPPINESS=pch_defines,time_macros

# cmake's arguments for the tests' trees: what users run; ASan, UBSan and the fuzzers, which are clang's; ThreadSanitizer. One
# list a tree: with others it would be configured anew.
# The tests' own files are optimized less than what they test: most of a build would go into that.
test_tree=(-DCMAKE_BUILD_TYPE=Release -DNEREUS_WARNINGS_ARE_ERRORS=ON -DNEREUS_TESTS=ON -DNEREUS_TEST_OPTIONS=-O1 -DNEREUS_WORKER=ON)
sanitized=(-DCMAKE_BUILD_TYPE=None -DNEREUS_WARNINGS_ARE_ERRORS=ON "-DCMAKE_CXX_FLAGS=-O1 -g1" -DNEREUS_TESTS=ON)
# ASan, and those of UBSan's checks that find wrong numbers. Its checks of pointers (alignment, vptr, object sizes and more) doubled
# the time to compile: they are for --everything. Folders in which a program spends little time are not optimized, and
# lld links in a third of the time.
sanitizers=address,signed-integer-overflow,integer-divide-by-zero,float-cast-overflow,shift,bounds,bool,enum,return,unreachable,vla-bound
[[ ! ${NEREUS_EVERYTHING:-} ]] || sanitizers=address,undefined
unoptimized="api;app;reproduce;cli;export;chart;chakra;timeline;launch;measure;job;profile;calibrate;cluster;stack"
fuzz_tree=("${sanitized[@]}" -DCMAKE_C_COMPILER=clang-14 -DCMAKE_CXX_COMPILER=clang++-14 -DNEREUS_FUZZ=ON -DNEREUS_SANITIZE=$sanitizers
  -DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld
  "-DNEREUS_UNOPTIMIZED=$unoptimized" "-DNEREUS_TEST_OPTIONS=-O0;-fno-sanitize=undefined")
thread_tree=("${sanitized[@]}" -DNEREUS_TEST_OPTIONS=-O0 -DNEREUS_SANITIZE=thread "-DNEREUS_UNOPTIMIZED=$unoptimized;spec;model;plan")
# Configured only, for its compile_commands.json: each file's own command, where other trees compile many at a time.
plain_tree=(-DCMAKE_BUILD_TYPE=Release -DNEREUS_TESTS=ON -DNEREUS_WORKER=ON -DNEREUS_UNITY=OFF)

say() { printf 'nereus: %s\n' "$*" >&2; }

# The packages of the given groups, one a line.
packages_of() {
  local group package rest
  while read -r group package rest; do
    [[ " $* " == *" $group "* ]] && printf '%s\n' "$package"
  done <"$root/scripts/packages.txt"
  return 0
}

# Installs what is missing of the given groups; without root says the line to run and ends with exit code 4.
require_packages() {
  if ! command -v dpkg-query >/dev/null; then
    say "not Debian: please see to these yourself: $(packages_of "$@" | tr '\n' ' ')"
    return 0
  fi
  local wanted installed missing=() package
  mapfile -t wanted < <(packages_of "$@" $( ((EUID == 0)) && echo handy))
  installed=$'\n'$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null || true)$'\n'
  for package in "${wanted[@]}"; do
    [[ $installed == *$'\n'"installed $package"$'\n'* ]] || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    say "missing packages; please run:"
    say "  sudo apt-get install --no-install-recommends ${missing[*]}"
    exit 4
  fi
  say "installing ${missing[*]}"
  local log
  log=$(mktemp)
  export DEBIAN_FRONTEND=noninteractive
  if ! { apt-get -q update && apt-get -q install -y --no-install-recommends "${missing[@]}"; } \
    </dev/null >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    say "apt-get could not install them (is there a network or a package mirror?)"
    exit 4
  fi
  rm -f "$log"
}

# Compilers take up to about 1 GiB each: as many jobs as there are cores, fewer where memory is short.
num_jobs() {
  local jobs gib
  jobs=$(nproc)
  gib=$(awk '/MemAvailable/ {print int($2 / 1048576)}' /proc/meminfo 2>/dev/null || echo "$jobs")
  ((gib < 1)) && gib=1
  printf '%s\n' "${NEREUS_JOBS:-$((jobs < gib ? jobs : gib))}"
}

# Reads ninja's lines ("[12/80] Building ...") and shows how far it is: in place on a terminal, else a line every 30 s.
# Silent when nothing is compiled.
show_progress() {
  local line last=$SECONDS before=$SECONDS busy=
  while IFS= read -r line; do
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\]\ (Building|Linking) ]] || continue
    [[ $busy ]] || say "building $1"
    busy=yes
    if [[ -t 2 ]]; then
      printf '\r\033[Knereus: building %s [%s/%s]' "$1" "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" >&2
    elif ((SECONDS - last >= 30)); then
      say "building $1 [${BASH_REMATCH[1]}/${BASH_REMATCH[2]}]"
      last=$SECONDS
    fi
  done
  [[ $busy && -t 2 ]] && printf '\r\033[K' >&2
  [[ $busy ]] && say "building $1 took $((SECONDS - before)) s"
  return 0
}

# build_tree DIR NAME [-DVAR=VALUE...] [-- TARGET...]: configures where needed, builds, says so when it does something.
# The log is DIR/build.log. Returns 1 after showing the first errors. A shell of its own: its lock goes when it ends, however.
build_tree() (
  set -o pipefail
  dir=$1 name=$2 arguments=() targets=()
  shift 2
  while (($#)); do
    if [[ $1 == -- ]]; then
      targets=("${@:2}")
      break
    fi
    arguments+=("$1")
    shift
  done
  mkdir -p "$dir"
  log=$dir/build.log wish="${arguments[*]}"
  exec {build_lock}>"$dir/.lock"
  flock "$build_lock"
  : >"$log"
  if [[ ! -f $dir/build.ninja || $(cat "$dir/.configured" 2>/dev/null) != "$wish" ]]; then
    say "configuring $name in ${dir#"$root"/}"
    if ! cmake -S "$root" -B "$dir" -G Ninja "${arguments[@]}" </dev/null >>"$log" 2>&1; then
      tail -n 40 "$log" >&2
      say "configuring failed; all of it is in $log"
      exit 1
    fi
    printf '%s\n' "$wish" >"$dir/.configured"
  fi
  if ! ninja -C "$dir" -j "$(num_jobs)" "${targets[@]}" </dev/null 2>&1 | tee -a "$log" | show_progress "$name"; then
    show_first_errors "$log"
    say "building $name failed; all of it is in $log"
    exit 1
  fi
)

# The first failure without the command line and the compiler's chains of inlining; ninja's last lines where nothing was
# compiled in vain (no such target, a folder that cannot be written).
show_first_errors() {
  local errors
  errors=$(awk '/^FAILED:/ { found = 1; getline; next } found && !/^ *inlined from/ && ++lines <= 30' "$1" | cut -c 1-300)
  if [[ $errors ]]; then printf '%s\n' "$errors" >&2; else grep -v '^\[[0-9]*/[0-9]*\]' "$1" | tail -n 20 | cut -c 1-300 >&2; fi
}
