#!/usr/bin/env bash
# Every source file is formatted as .clang-format says.
# Beside others: one file after the other.
set -euo pipefail
cd "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../.."
folders=()
for folder in src tests bench; do [[ -d $folder ]] && folders+=("$folder"); done
find "${folders[@]}" -name '*.[ch]pp' -print0 | xargs -0 -n 20 clang-format-14 --dry-run --Werror
