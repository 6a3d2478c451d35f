#!/bin/bash
# SPDX-License-Identifier: MIT
# Installs what docs/examples/requirements.txt lists, in a virtual environment that is kept between runs.
set -euo pipefail

python=${1:-/usr/bin/python3}
folder=${MMDSKIN_CACHE:-$HOME/.cache/mmdskin}/examples
requirements=docs/examples/requirements.txt
mkdir -p "$folder"
# Another checkout may be at it.
exec 9>"$folder.lock"
flock 9
# `ready` says for which list all was installed.
if cmp -s "$requirements" "$folder/ready" && "$folder/bin/python" -c '' 2>/dev/null; then
    exit 0
fi
echo "Installing the examples' packages into $folder"
rm -rf "$folder"
"$python" -m venv "$folder"
if "$folder/bin/pip" install --quiet --no-cache-dir --disable-pip-version-check -r "$requirements"; then
    cp "$requirements" "$folder/ready"
else
    echo "The examples' packages cannot be installed here; their tests will skip"
fi
