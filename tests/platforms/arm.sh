#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs Debian's Python 3.11 and OpenGL for ARM in QEMU: arm.sh setup | install WHEEL | run ARGUMENTS...
set -euo pipefail
# shellcheck source=tests/platforms/apt.sh
source "$(dirname "$0")/apt.sh"

cache=${XDG_CACHE_HOME:-$HOME/.cache}/mmdskin/arm
folder=$PWD/build/arm
packages=(python3.11-minimal libpython3.11-stdlib libegl1 libegl-mesa0 libgl1-mesa-dri)

apt_arm() {
    apt_in "$cache/apt" -o APT::Architecture=arm64 -o APT::Architectures=arm64 "$@"
}

setup() {
    local file
    mkdir -p "$cache/wheels"
    if [[ ! -f $cache/ready-with-gl ]]; then
        apt_arm update
        apt_arm install -y --download-only --no-install-recommends "${packages[@]}"
        .venv/bin/pip download --quiet --dest "$cache/wheels" --only-binary=:all: \
            --python-version 3.11 --platform manylinux2014_aarch64 --platform manylinux_2_17_aarch64 \
            --platform manylinux_2_27_aarch64 --platform manylinux_2_28_aarch64 \
            "numpy>=2" pillow "pytest>=8,<10"
        touch "$cache/ready-with-gl"
    fi
    rm -rf "$folder"
    unpack_into "$folder/root" "$cache/apt"
    # Tests start sys.executable, which is this script.
    cat >"$folder/python" <<EOF
#!/bin/bash
exec qemu-aarch64-static -0 "\$0" -L "$folder/root" "$folder/root/usr/bin/python3.11" "\$@"
EOF
    chmod +x "$folder/python"
    for file in "$cache"/wheels/*.whl; do
        .venv/bin/python -m zipfile -e "$file" "$folder/site-packages"
    done
}

install() {
    rm -rf "$folder"/site-packages/mmdskin*
    .venv/bin/python -m zipfile -e "$1" "$folder/site-packages"
}

run() {
    PYTHONPATH=$folder/site-packages PYTHONDONTWRITEBYTECODE=1 "$folder/python" "$@"
}

"$@"
