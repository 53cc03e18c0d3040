#!/usr/bin/env bash
# The report page and its pictures in a real browser, in light and dark: tests/long/check_page.py says what is looked at.
# tests/long/report/sample.cpp writes the page. Then pages that are broken on purpose, each of which must be found.
# Beside others: one browser.
#
#   tests/long/report.sh [FOLDER]      leaves the pages and screenshots there (default: build/report)
set -euo pipefail
root=$(cd "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../.." && pwd)
source "$root/scripts/common.sh"
check=$root/tests/long/check_page.py
command -v python3 >/dev/null || { echo "Python is not installed (Debian: python3)"; exit 77; }
"$check" --find >/dev/null || { "$check" --find; exit 77; }

pages=${1:-$root/build/report}
build_tree "$root/build/test" test "${test_tree[@]}" -- chart_sample
rm -rf "$pages"
mkdir -p "$pages"
RESULTS=${RESULTS:-$pages/results}
"$root/build/test/tests/chart_sample" "$pages"
failed=0
count() { # verdict, name
  echo "$1 report $2" | tee -a "$RESULTS"
  [[ $1 == passed ]] || failed=1
}

for file in "$pages"/*.html "$pages"/*.svg; do
  if "$check" --screenshots "$pages/screenshots" "$file"; then verdict=passed; else verdict=failed; fi
  count $verdict "$(basename "$file")"
done

# A page broken by one sed command must be found, for that reason.
broken() { # name, what is said of it, sed command
  sed "$3" "$pages/sample.html" >"$pages/broken.html"
  local said verdict=passed
  if cmp -s "$pages/sample.html" "$pages/broken.html"; then
    said="the sed command changed nothing" verdict=failed
  elif said=$("$check" "$pages/broken.html"); then
    verdict=failed
  elif [[ $said != *"$2"* ]]; then
    verdict=failed
  fi
  [[ $verdict == passed ]] || printf 'expected: %s\n%s\n' "$2" "$said"
  count $verdict "finds $1"
}
broken "a request" "requests http" 's|<main>|<main><img alt="" src="http://localhost:9/x.png">|; /Content-Security-Policy/d'
broken "an error" "throws" 's|<script>|<script>setTimeout(() => nowhere());|'
broken "a logged error" "logs an error" 's|<script>|<script>console.error("no");|'
broken "text that cannot be read" "dark: h1" 's/--ink:#e6e8eb/--ink:#2a2e35/'
broken "text that cannot be read in a cell" "has a contrast of" 's/--t15:#ffffff/--t15:#31476d/'
broken "one mode only" "is the same in light and dark" 's/prefers-color-scheme:dark/prefers-color-scheme:neither/g'
broken "text outside a picture" "lies outside" 's/<text x="16"/<text x="-60"/'
broken "texts over one another" "overlap" 's|</svg>|<text x="20" y="28">over</text></svg>|'
broken "an empty picture" "is empty or too small" 's/<svg xmlns="[^"]*" id="heat"/& style="display:none"/'
broken "wrong order" "not sorted" 's/down ? order(b, a) : order(a, b)/order(a, b)/'
broken "text sorted as numbers are not" "column step time" 's/if (cell.dataset.n !== undefined)/if (false)/'
broken "an overflow" "pixels wide" 's/.wide{overflow-x:auto}/.wide{}/'
broken "a missing level" "level 4 after" 's/h2>/h4>/g'
broken "a table without caption" "no caption" 's/<caption>.*<\/caption>//'
broken "an id twice" "is not unique" 's/section-2/section-1/g'
broken "dark print" "prints on" 's/@media screen and (prefers/@media (prefers/g'
exit $failed
