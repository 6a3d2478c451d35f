#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Blenders of later Debians, with windows: window.sh 4.3|5.2...
# Packages are unpacked into a folder that becomes the root of that Blender alone; nothing is installed.
set -euo pipefail
# shellcheck source=tests/platforms/apt.sh
source "$(dirname "$0")/../platforms/apt.sh"

cache=${MMDSKIN_CACHE:-$HOME/.cache/mmdskin}
packages=(blender base-files libc-bin fonts-noto-cjk python3-numpy python3-requests python3-zstandard
    libgl1 libegl1 libegl-mesa0 libglx-mesa0 libgl1-mesa-dri libxcursor1 libxinerama1 libxrandr2)

# install SUITE VERSION PACKAGES...
install() {
    local folder=$cache/window-$2 root=$cache/window-$2/root mirror
    [[ ! -e $folder/ready ]] || return 0
    # shellcheck disable=SC2016
    mirror=$(apt-get indextargets --format '$(REPO_URI)' "Label: Debian" | head -1)
    [[ -n $mirror ]] || { echo "Not a Debian system: Blender $2 has no window here" && return; }
    echo "Downloading Blender $2 of Debian $1 into $folder"
    mkdir -p "$folder"
    echo "deb $mirror $1 main" >"$folder/sources.list"
    local from=(-o Dir::Etc::SourceList="$folder/sources.list" -o Dir::Etc::SourceParts=/dev/null)
    apt_in "$folder" "${from[@]}" update
    apt_in "$folder" "${from[@]}" install -y --download-only --no-install-recommends "${@:3}"
    # First the package with the links that the others unpack through.
    mkdir -p "$root"
    dpkg -x "$folder"/cache/archives/base-files_*.deb "$root"
    unpack_into "$root" "$folder"
    # No package is configured: what its scripts would choose.
    printf '%s\n' /usr/lib/x86_64-linux-gnu/{blas,lapack} >"$root/etc/ld.so.conf.d/alternatives.conf"
    write_launcher "$folder"
    "$folder/blender" /usr/sbin/ldconfig
    "$folder/blender" /usr/bin/blender --version
    rm -rf "$folder/cache"
    touch "$folder/ready"
}

# write_launcher FOLDER: a script that runs a command with the folder's root and this machine's other folders.
# Mesa must not share its cache with this machine's: it ends by a bus error.
write_launcher() {
    cat >"$1/blender" <<LAUNCHER
#!/bin/bash
((EUID)) && user=--map-root-user
export XDG_CACHE_HOME=$1/caches PATH=/usr/sbin:/usr/bin:/sbin:/bin
exec unshare --mount \${user:-} bash -c '
for folder in /*; do
    case \$folder in /usr | /etc | /var) continue ;; esac
    [[ -d \$folder && ! -L \$folder ]] || continue
    mkdir -p "\$0\$folder"
    mount --rbind "\$folder" "\$0\$folder"
done
exec unshare --root="\$0" --wd="\$PWD" "\$@"' "$1/root" "\$@"
LAUNCHER
    chmod +x "$1/blender"
}

for version in "$@"; do
    case $version in
    4.3) install trixie "$version" "${packages[@]}" ;;
    5.2) install sid "$version" "${packages[@]}" python3-cattr ;;
    *) echo "usage: $0 4.3|5.2..." >&2 && exit 2 ;;
    esac
done
