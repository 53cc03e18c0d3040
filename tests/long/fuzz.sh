#!/usr/bin/env bash
# Every parser under the fuzzer, 10 seconds each; tests/fuzz/run takes any time.
exec "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../fuzz/run" 10
