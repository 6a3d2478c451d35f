#!/bin/bash
# SPDX-License-Identifier: MIT
# fuzz.sh <program> <seconds>: a libFuzzer run over the small models at hand; what fails stays in build/fuzz.
set -euo pipefail
program=$1
seconds=$2
corpus=$program-corpus
fixtures=${MMDSKIN_SHARED:-../shared}/models/fixtures
mkdir -p "$corpus"
seeds=()
[[ -d $fixtures ]] && seeds+=("$fixtures")
echo "fuzzing $program for $seconds seconds"
log=$program.log
if ! "$program" -max_total_time="$seconds" -max_len=200000 -timeout=5 -rss_limit_mb=1024 \
    -malloc_limit_mb=256 -artifact_prefix=build/fuzz/ "$corpus" "${seeds[@]}" >"$log" 2>&1; then
    tail -50 "$log" >&2
    exit 1
fi
tail -2 "$log"
