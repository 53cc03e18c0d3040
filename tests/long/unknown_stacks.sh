#!/usr/bin/env bash
# Published sets of runs as those of software that nobody knows: from a dozen rows, the calibrated stack is never worse than
# its parent by more than a percentage point on the other rows; where the parent is off by more than 15 %, it is better by a
# third in the median.
set -uo pipefail
root=$(dirname -- "$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")")
source "$root/tests/long/checks"
source "$root/scripts/common.sh"

build_tree "$root/build/test" test "${test_tree[@]}" -- calibrate_sets || exit 1
check "calibrated stacks beat their parents" "$root/build/test/tests/calibrate_sets" "$root"/data/published/{runs,decoders-2,cnn-bert-dlrm}.csv
exit $failed
