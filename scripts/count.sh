# Counts tests for ./test. Callers report each test once; print_counts writes the summary and sets the exit status.

num_passed=0 num_failed=0 num_skipped=0
failed_names=() skipped_names=()

count_passed() { num_passed=$((num_passed + 1)); }
count_failed() { num_failed=$((num_failed + 1)) && failed_names+=("$1"); }
count_skipped() { num_skipped=$((num_skipped + 1)) && skipped_names+=("$1"); }

# A file of lines "passed|failed|skipped NAME [: reason]".
count_lines() {
  local verdict name
  if [[ ! -e $2 ]]; then
    count_failed "$1: did not finish"
    return
  fi
  while read -r verdict name; do
    "count_$verdict" "$1: $name"
  done <"$2"
}

# The tests of one ctest run: $2 holds ctest.junit and, for each GoogleTest program NAME_test, NAME_test.xml; $3 holds the
# programs.
count_ctest() {
  local build=$1 dir=$2 programs=$3 name status xml failures
  if [[ ! -s $dir/ctest.junit ]]; then
    count_failed "$build: ctest did not finish"
    return
  fi
  while read -r name status; do
    xml=$dir/${name}_test.xml failures=0
    if [[ -s $xml ]]; then
      count_gtest "$build: $name" "$xml"
    elif [[ $status == run ]]; then
      count_passed
    fi
    # A program that dies, times out or leaks fails even where each of its tests passed.
    if [[ $status == fail && $failures == 0 ]]; then
      count_failed "$build: $name as a whole$(last_test "$programs/${name}_test" "$xml")"
    fi
    [[ $status == disabled || $status == notrun ]] && count_skipped "$build: $name: $status"
  done < <(sed -nE 's/.*<testcase name="([^"]*)".* status="([^"]*)".*/\1 \2/p' "$dir/ctest.junit")
  return 0
}

# Where a program died before it wrote its results: the test it was in.
last_test() {
  [[ -x $1 && ! -s $2 ]] || return 0
  timeout 60 env GTEST_BRIEF=0 "$1" 2>/dev/null </dev/null | sed -n 's/^\[ RUN *\] /, in /p' | tail -n 1 || true
}

# One line per test of GoogleTest's XML; `failures` is the caller's.
count_gtest() {
  local prefix=$1 verdict name
  while IFS=$'\t' read -r verdict name; do
    "count_$verdict" "$prefix $name"
    [[ $verdict == failed ]] && failures=$((failures + 1))
  done < <(awk '
    function flush() { if (name != "") print verdict "\t" name (reason != "" ? ": " reason : ""); name = "" }
    function field(key) { return match($0, key "=\"[^\"]*\"") ? substr($0, RSTART + length(key) + 2, RLENGTH - length(key) - 3) : "" }
    /<testcase / {
      flush()
      name = field(" classname"); name = name "." field(" name"); reason = ""
      verdict = /result="skipped"/ ? "skipped" : /status="run"/ ? "passed" : "off"
      if (verdict == "off") name = ""
    }
    /<failure / { verdict = "failed" }
    /<skipped / { reason = field("message"); sub(/^[^ ]*:[0-9]+(&#x0A;|\n)?/, "", reason); gsub(/&#x0A;/, " ", reason) }
    END { flush() }' "$2")
  return 0
}

# timed NAME COMMAND...: what it took goes into the table of print_spent. Returns what the command returns.
spent=()
timed() {
  local name=$1 begun=${EPOCHREALTIME/[.,]/} status=0
  shift
  "$@" || status=$?
  add_spent "$name" $(((${EPOCHREALTIME/[.,]/} - begun) / 1000))
  return "$status"
}
add_spent() { spent+=("$2 $1"); } # name, milliseconds

# The longest first. $1: seconds from begin to end, less than their sum where some ran side by side.
print_spent() {
  ((${#spent[@]})) || return 0
  echo
  echo "Where the time went, s"
  printf '%s\n' "${spent[@]}" | sort -s -k1,1nr | awk -v total="$1" '
    { seconds = $1 / 1000; sub(/^[0-9]+ /, ""); if (seconds >= 20) { row($0, seconds) } else { ++count; shorter += seconds } }
    END { if (count) row(count " shorter one" (count > 1 ? "s" : ""), shorter); row("from begin to end", total) }
    function row(name, seconds) { printf "%-44s %6.0f\n", name, seconds }'
}

summary() { echo "$num_passed passed, $num_failed failed, $num_skipped skipped"; }

print_counts() {
  local name
  echo
  for name in "${skipped_names[@]}"; do echo "skipped  $name"; done
  for name in "${failed_names[@]}"; do echo "FAILED   $name"; done
  if ((num_passed + num_failed + num_skipped == 0)); then
    echo "no test matches" >&2
    num_failed=1
  fi
  summary
  ((num_failed == 0))
}
