#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Install what the Blender tests need: Debian's blender with its numpy, a virtual display, and bpy 4.5
# in an environment of its own that is kept between runs.
set -euo pipefail

packages=(blender python3-numpy python3-venv xvfb xdotool imagemagick libgl1-mesa-dri libegl1)
environment=${MMDSKIN_BPY:-$HOME/.cache/mmdskin/bpy-4.5}

if ! command -v dpkg-query >/dev/null; then
    echo "Not a Debian system; what is needed here is called there: ${packages[*]}"
    packages=()
fi
missing=()
for package in "${packages[@]}"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
if ((${#missing[@]})); then
    root=()
    if ((EUID)); then
        if ! command -v sudo >/dev/null; then
            echo "Please install as root: apt-get install ${missing[*]}" >&2
            exit 1
        fi
        root=(sudo)
    fi
    "${root[@]}" apt-get update -q
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "${missing[@]}"
fi

# bpy 4.5 is built for Python 3.11 only.
python=
for candidate in /usr/bin/python3.11 python3.11 python3; do
    if command -v "$candidate" >/dev/null &&
        [ "$("$candidate" -c 'import sys; print(*sys.version_info[:2])')" = "3 11" ]; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    echo "Python 3.11 is missing: the tests in Blender 4.5 will be skipped" >&2
    exit 0
fi
if [ ! -e "$environment/ready" ]; then
    rm -rf "$environment"
    mkdir -p "$(dirname "$environment")"
    "$python" -m venv "$environment"
    "$environment/bin/pip" install --quiet 'bpy==4.5.*' 'numpy<2'
    touch "$environment/ready"
fi
