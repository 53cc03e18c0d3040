#!/usr/bin/env bash
# Every parser under the fuzzer, a minute each.
exec "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../fuzz/run" 60
