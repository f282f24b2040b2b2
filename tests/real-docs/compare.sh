#!/usr/bin/env bash
# Compares two access logs: compare.sh WGET_LOG CRAWL_LOG DELAY_MS
# Lines: end_s duration_s host path status content_type. Exits 1 when a promise broke.
set -euo pipefail
wget_log=$1 crawl_log=$2 delay_ms=$3

html() { awk '$5 == 200 && $6 ~ /^text\/html/ { print "http://" $3 $4 }' "$1" | sort; }
only_wget=$(comm -23 <(html "$wget_log" | uniq) <(html "$crawl_log" | uniq))
only_crawl=$(comm -13 <(html "$wget_log" | uniq) <(html "$crawl_log" | uniq))
twice=$(html "$crawl_log" | uniq -d)
# Both times of nginx are rounded to a millisecond, so a true gap may seem up to 2 ms shorter.
early=$(awk '{ printf "%.3f %s %s\n", $1 - $2, $3, $4 }' "$crawl_log" | sort -n | awk -v d="$delay_ms" '
  ($2 in last) { gap = ($1 - last[$2]) * 1000; if (gap < d - 2.001) print gap " ms before " $2 $3; if (!seen || gap < least) { least = gap; seen = 1 } }
  { last[$2] = $1 }
  END { printf "least gap %.0f ms\n", least > "/dev/stderr" }')

count() { [ -z "$1" ] && echo 0 || printf '%s\n' "$1" | wc -l; }
printf 'html by wget %s, by escapement %s, only wget %s, only escapement %s, fetched twice %s, early %s\n' \
  "$(html "$wget_log" | uniq | wc -l)" "$(html "$crawl_log" | uniq | wc -l)" \
  "$(count "$only_wget")" "$(count "$only_crawl")" "$(count "$twice")" "$(count "$early")"
for list in "$only_wget" "$only_crawl" "$twice" "$early"; do
  [ -z "$list" ] || printf '%s\n--\n' "$list" | head -n 20
done
[ -z "$only_wget$only_crawl$twice$early" ]
