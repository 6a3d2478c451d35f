#!/bin/bash
# SPDX-License-Identifier: MIT
# Installs Debian packages by purpose: setup.sh build|check|demo|windows|node...
set -euo pipefail

packages=()
for use in "$@"; do
    case $use in
    build)
        packages+=(gcc libc6-dev python3 python3-dev python3-venv libcglm-dev libegl-dev
            libegl1 libegl-mesa0 libgl1-mesa-dri)
        ;;
    check)
        packages+=(binutils clang cmake pkgconf clang-format glslang-tools libclang-rt-14-dev llvm musl xz-utils
            gcc-mingw-w64-x86-64-win32 gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static)
        ;;
    demo)
        packages+=(blender python3-numpy)
        ;;
    windows)
        packages+=(wine64 xvfb xauth maven gcc-mingw-w64-x86-64-win32)
        ;;
    node)
        packages+=(nodejs npm)
        ;;
    *)
        echo "usage: $0 build|check|demo|windows|node..." >&2
        exit 2
        ;;
    esac
done

if ! command -v dpkg-query >/dev/null; then
    echo "This is not Debian or Ubuntu. Please install the equivalents of: ${packages[*]}" >&2
    exit 0
fi

# Targets of one make may be here at the same time; dpkg would fail.
mkdir -p build
exec 9>build/packages.lock
flock 9
missing=()
for package in "${packages[@]}"; do
    status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
    [[ $status == "install ok installed" ]] || missing+=("$package")
done
[[ ${#missing[@]} -gt 0 ]] || exit 0

root=()
if [[ $(id -u) -ne 0 ]]; then
    if ! command -v sudo >/dev/null; then
        echo "Packages are missing. As root: apt-get install ${missing[*]}" >&2
        exit 1
    fi
    root=(sudo)
fi
echo "Installing ${missing[*]}"
"${root[@]}" apt-get -o DPkg::Lock::Timeout=600 update -qq
"${root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -o DPkg::Lock::Timeout=600 install -qq -y --no-install-recommends "${missing[@]}" >/dev/null
