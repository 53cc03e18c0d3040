#!/usr/bin/env bash
# Every parser under the fuzzer, 40 seconds each.
exec "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../fuzz/run" 40
