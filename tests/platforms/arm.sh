#!/bin/bash
# SPDX-License-Identifier: MIT
# Debian's Python 3.11 for ARM in QEMU: arm.sh setup | install WHEEL | run ARGUMENTS...
set -euo pipefail

cache=${XDG_CACHE_HOME:-$HOME/.cache}/mmdskin/arm
folder=$PWD/build/arm
packages=(python3.11-minimal libpython3.11-minimal libpython3.11-stdlib libc6 libgcc-s1 libstdc++6
    zlib1g libexpat1 libssl3 libffi8 libbz2-1.0 liblzma5 libcrypt1 libuuid1)

# The lists of that architecture are apt's in a folder of ours: the system's stay as they are.
apt_arm() {
    mkdir -p "$cache/apt/lists/partial" "$cache/apt/cache/archives/partial"
    : >"$cache/apt/status"
    apt-get -qq -o APT::Sandbox::User=root -o APT::Architecture=arm64 -o APT::Architectures=arm64 \
        -o Dir::State::Lists="$cache/apt/lists" -o Dir::State::status="$cache/apt/status" \
        -o Dir::Cache="$cache/apt/cache" "$@"
}

setup() {
    local file
    mkdir -p "$cache/wheels"
    if [[ ! -f $cache/ready ]]; then
        apt_arm update
        (cd "$cache" && apt_arm download "${packages[@]}")
        .venv/bin/pip download --quiet --dest "$cache/wheels" --only-binary=:all: \
            --python-version 3.11 --platform manylinux2014_aarch64 --platform manylinux_2_17_aarch64 \
            --platform manylinux_2_27_aarch64 --platform manylinux_2_28_aarch64 \
            "numpy>=2" pillow "pytest>=8,<10"
        touch "$cache/ready"
    fi
    rm -rf "$folder"
    mkdir -p "$folder/root"
    for file in "$cache"/*.deb; do
        dpkg -x "$file" "$folder/root"
    done
    for file in "$cache"/wheels/*.whl; do
        .venv/bin/python -m zipfile -e "$file" "$folder/site-packages"
    done
}

install() {
    rm -rf "$folder"/site-packages/mmdskin*
    .venv/bin/python -m zipfile -e "$1" "$folder/site-packages"
}

run() {
    PYTHONPATH=$folder/site-packages PYTHONDONTWRITEBYTECODE=1 \
        qemu-aarch64-static -L "$folder/root" "$folder/root/usr/bin/python3.11" "$@"
}

"$@"
