#!/usr/bin/env bash
# Every parser under the fuzzer, 3 seconds each, a minute with NEREUS_EVERYTHING=yes; tests/fuzz/run takes any time.
exec "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../fuzz/run" "$([[ ${NEREUS_EVERYTHING:-} ]] && echo 60 || echo 3)"
