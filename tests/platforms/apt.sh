# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Source this file to unpack Debian packages that this machine cannot install into a folder.

# apt_in FOLDER ARGUMENTS...: apt-get with lists and files in that folder, not the system's.
apt_in() {
    mkdir -p "$1/lists/partial" "$1/cache/archives/partial"
    : >"$1/status"
    apt-get -qq -o APT::Sandbox::User=root -o Debug::NoLocking=true -o Dir::State::Lists="$1/lists" \
        -o Dir::State::status="$1/status" -o Dir::Cache="$1/cache" "${@:2}"
}

# unpack_into ROOT FOLDER: unpack what apt_in has downloaded to FOLDER.
unpack_into() {
    local file
    mkdir -p "$1"
    for file in "$2"/cache/archives/*.deb; do
        dpkg -x "$file" "$1"
    done
}
