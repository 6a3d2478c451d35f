#!/bin/bash
# SPDX-License-Identifier: MIT
# fuzz.sh PROGRAM SECONDS SEED: replays the known crashers and the kept corpus, then runs libFuzzer from
# these and the seed files. Inputs that fail are kept in build/fuzz. The same SEED tries the same inputs
# again; 0 is a new one each time.
# fuzz.sh keep PROGRAM...: packs what runs have found, minimized, as tests/fuzz/corpus/NAME.tar.xz.
set -euo pipefail
shopt -s nullglob
limits=(-timeout=15 -rss_limit_mb=1024 -malloc_limit_mb=256 -artifact_prefix=build/fuzz/)

# Of an input of this size or less. Files need room, and scripts end before.
longest() {
    case $1 in
    model | motion | pair) echo 200000 ;;
    *) echo 1500 ;;
    esac
}

unpack_corpus() {
    local packed=tests/fuzz/corpus/$1.tar.xz
    mkdir -p "build/fuzz/$1-kept"
    [[ ! -f $packed ]] || tar --extract --xz --file "$packed" --directory "build/fuzz/$1-kept"
}

# Larger inputs seldom reach more, and take longer.
keep() {
    local name program=$1
    name=$(basename "$program")
    unpack_corpus "$name"
    rm -rf "build/fuzz/$name-merged"
    mkdir -p "$program-corpus" "build/fuzz/$name-merged" tests/fuzz/corpus
    nice "$program" "${limits[@]}" -merge=1 -max_len=20000 "build/fuzz/$name-merged" \
        "build/fuzz/seeds/$name" "build/fuzz/$name-kept" "$program-corpus" 2>/dev/null
    tar --create --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 --mode=644 \
        --directory "build/fuzz/$name-merged" . | xz -9 >"tests/fuzz/corpus/$name.tar.xz"
    du -b "tests/fuzz/corpus/$name.tar.xz"
}

if [[ $1 == keep ]]; then
    for program in "${@:2}"; do keep "$program"; done
    exit
fi

program=$1
seconds=$2
seed=$3
name=$(basename "$program")
corpus=$program-corpus
mkdir -p "$corpus"
unpack_corpus "$name"
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
echo "fuzzing $program for $seconds seconds"
run() {
    "$program" "${limits[@]}" "$@" >"$log" 2>&1 || {
        tail -50 "$log" >&2
        exit 1
    }
}
((${#crashers[@]} == 0)) || run "${crashers[@]}"
run -runs=0 "build/fuzz/$name-kept"
run -seed="$seed" -max_total_time="$seconds" -max_len="$(longest "$name")" "$corpus" \
    "build/fuzz/seeds/$name" "build/fuzz/$name-kept"
tail -2 "$log"
