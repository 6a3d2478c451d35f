#!/bin/bash
# SPDX-License-Identifier: MIT
# fuzz.sh <program> <seconds> <seed>: known crashers once, then a libFuzzer run from the seeds; what
# fails stays in build/fuzz. The same seed tries the same inputs again, 0 is another one each time.
set -euo pipefail
program=$1
seconds=$2
seed=$3
name=$(basename "$program")
corpus=$program-corpus
mkdir -p "$corpus"
shopt -s nullglob
crashers=()
for file in tests/fuzz/crashers/"$name"/*; do
    if [[ $file == *.xz ]]; then
        unpacked=build/fuzz/$(basename "$file" .xz)
        xz --decompress --stdout "$file" >"$unpacked"
        file=$unpacked
    fi
    crashers+=("$file")
done
log=$program.log
limits=(-timeout=15 -rss_limit_mb=1024 -malloc_limit_mb=256 -artifact_prefix=build/fuzz/)
echo "fuzzing $program for $seconds seconds"
run() {
    "$program" "${limits[@]}" "$@" >"$log" 2>&1 || {
        tail -50 "$log" >&2
        exit 1
    }
}
((${#crashers[@]} == 0)) || run "${crashers[@]}"
run -seed="$seed" -max_total_time="$seconds" -max_len=200000 "$corpus" "build/fuzz/seeds/$name"
tail -2 "$log"
