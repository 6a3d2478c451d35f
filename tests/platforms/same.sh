#!/bin/bash
# SPDX-License-Identifier: MIT
# Builds what ships a second time, in a clone in another folder and without compiler caches, and
# compares the files: same.sh FILE...
set -euo pipefail

[[ -z $(git status --porcelain) ]] || {
    echo "The clone contains committed changes only: commit first" >&2
    exit 1
}
folder=$(mktemp -d -t elsewhere.XXXXXX)
trap 'rm -rf "$folder"' EXIT
git clone --quiet --shared . "$folder/clone"
ZIG_GLOBAL_CACHE_DIR=$folder/zig CCACHE_DISABLE=1 make -C "$folder/clone" wheels sdist addon
for file in "$@"; do
    cmp "$file" "$folder/clone/$file"
    sha256sum "$file"
done
echo "$# files are the same, byte for byte"
