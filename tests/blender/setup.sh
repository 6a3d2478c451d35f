#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Installs the Blenders for the tests: setup.sh 3.4|4.2|4.5|5.0|5.2...
# 3.4 is Debian's, with a virtual display. The others are bpy from PyPI, each in its own virtual
# environment, which is kept between runs. Without the Python that a bpy needs, its tests are skipped.
set -euo pipefail

cache=${MMDSKIN_CACHE:-$HOME/.cache/mmdskin}
# Debian's Blender also installs the libraries that every bpy loads.
packages=(blender python3-numpy python3-venv xvfb xdotool imagemagick libgl1-mesa-dri libegl1
    python3-gi gir1.2-gtk-3.0)

# In a subshell, which holds the lock.
install_packages() (
    if ! command -v dpkg-query >/dev/null; then
        echo "This is not Debian or Ubuntu. Please install the equivalents of: ${packages[*]}" >&2
        return
    fi
    local missing=() root=() package
    mkdir -p build
    exec 8>build/packages.lock # one apt-get at a time
    flock 8
    for package in "${packages[@]}"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
            missing+=("$package")
    done
    ((${#missing[@]})) || return 0
    if ((EUID)); then
        if ! command -v sudo >/dev/null; then
            echo "Packages are missing. As root: apt-get install ${missing[*]}" >&2
            exit 1
        fi
        root=(sudo)
    fi
    echo "Installing ${missing[*]}"
    "${root[@]}" apt-get update -qq
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null
)

# find_python 3.13: prints the path of one that runs. pyenv's shims may belong to disabled versions.
find_python() {
    local candidate
    for candidate in "/usr/bin/python$1" "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python3; do
        if [[ $("$candidate" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) == "$1" ]]; then
            echo "$candidate"
            return
        fi
    done
}

# install_bpy 4.5: does nothing if the file `ready` says that all is installed.
install_bpy() {
    local needs=3.11 numpy='numpy<2' folder=$cache/bpy-$1 python
    # The series that Blender 5.2 is built with: a newer one hides what is wrong with that one.
    [[ $1 == 5.2 ]] && needs=3.13 numpy='numpy==2.2.*'
    if [[ -e $folder/ready ]] && "$folder/bin/python" -c '' 2>/dev/null; then
        "$folder/bin/pip" install --quiet --no-cache-dir --disable-pip-version-check "$numpy"
        return
    fi
    python=$(find_python "$needs")
    if [[ -z $python ]]; then
        echo "Blender $1: Python $needs is not available, so its tests will be skipped"
        return
    fi
    echo "Installing bpy $1 into $folder"
    rm -rf "$folder"
    "$python" -m venv "$folder"
    "$folder/bin/pip" install --quiet --no-cache-dir --disable-pip-version-check "bpy==$1.*" "$numpy"
    touch "$folder/ready"
}

install_packages
mkdir -p "$cache"
for version in "$@"; do
    case $version in
    3.4) ;;
    4.2 | 4.5 | 5.0 | 5.2)
        # Another checkout may be installing it.
        (
            flock 9
            install_bpy "$version"
        ) 9>"$cache/bpy-$version.lock"
        ;;
    *)
        echo "usage: $0 3.4|4.2|4.5|5.0|5.2..." >&2
        exit 2
        ;;
    esac
done
