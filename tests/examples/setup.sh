#!/bin/bash
# SPDX-License-Identifier: MIT
# Installs what docs/examples/requirements.txt and recipes.txt list, in a virtual environment that is kept
# between runs.
set -euo pipefail

python=${1:-/usr/bin/python3}
folder=${MMDSKIN_CACHE:-$HOME/.cache/mmdskin}/examples
requirements=(docs/examples/requirements.txt docs/examples/recipes.txt)
mkdir -p "$folder"
# Another checkout may be at it.
exec 9>"$folder.lock"
flock 9
# `ready` says for which lists all was installed.
if cat "${requirements[@]}" | cmp -s - "$folder/ready" && "$folder/bin/python" -c '' 2>/dev/null; then
    exit 0
fi
echo "Installing the examples' packages into $folder"
rm -rf "$folder"
"$python" -m venv "$folder"
if "$folder/bin/pip" install --quiet --no-cache-dir --disable-pip-version-check "${requirements[@]/#/-r}"; then
    cat "${requirements[@]}" >"$folder/ready"
else
    echo "The examples' packages cannot be installed here; their tests will skip"
fi
