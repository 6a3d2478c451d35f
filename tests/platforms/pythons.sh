#!/bin/bash
# SPDX-License-Identifier: MIT
# Tests one wheel on every Python that is found here: pythons.sh WHEEL
set -euo pipefail
# shellcheck source=tests/platforms/apt.sh
source "$(dirname "$0")/apt.sh"

tests=(tests/skin/test_skin.py tests/pose/test_pose.py tests/module/test_import.py
    tests/module/test_pickle.py tests/module/test_contract.py tests/module/test_out.py)

# next_debian VERSION: prints the path of a Python from the next Debian, with its C library.
next_debian() {
    local cache=${XDG_CACHE_HOME:-$HOME/.cache}/mmdskin/python$1 root=$PWD/build/pythons/root-$1 mirror
    # shellcheck disable=SC2016
    mirror=$(apt-get indextargets --format '$(REPO_URI)' "Label: Debian" | head -1)
    [[ -n $mirror ]] || return
    if [[ ! -f $cache/ready ]]; then
        mkdir -p "$cache"
        echo "deb $mirror testing main" >"$cache/sources.list"
        local from=(-o Dir::Etc::SourceList="$cache/sources.list" -o Dir::Etc::SourceParts=/dev/null)
        apt_in "$cache" "${from[@]}" update
        apt_in "$cache" "${from[@]}" install -y --download-only --no-install-recommends \
            "python$1-minimal" "libpython$1-stdlib" >&2 || return
        touch "$cache/ready"
    fi
    rm -rf "$root"
    unpack_into "$root" "$cache"
    cat >"$root/usr/bin/python" <<PYTHON
#!/bin/bash
exec "$root"/usr/lib64/ld-linux-x86-64.so.2 --argv0 "\$0" --library-path "$root/usr/lib/x86_64-linux-gnu" \
    "$root/usr/bin/python$1" "\$@"
PYTHON
    chmod +x "$root/usr/bin/python"
    echo "$root/usr/bin/python"
}

# find_python VERSION: prints the path of such a Python.
find_python() {
    local python
    for python in "/usr/bin/python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python3; do
        [[ ! -x $python ]] || { echo "$python" && return; }
    done
    next_debian "$1"
}

# The oldest numpy once, then the newest for each Python. pip resolves dependencies for its own Python,
# so two that pytest needs before 3.11 are listed.
while read -r version numpy; do
    python=$(find_python "$version") || python=
    [[ -n $python ]] || { echo "Python $version is not available: not tested" && continue; }
    folder=build/pythons/$version
    "$python" -m venv --clear --without-pip "$folder"
    .venv/bin/pip install --quiet --target "$folder/lib/python$version/site-packages" \
        --python-version "$version" --only-binary=:all: "$numpy" "pytest>=8,<10" exceptiongroup tomli "$1"
    "$folder/bin/python" -c 'import sys, numpy; print("Python", sys.version.split()[0], "numpy", numpy.__version__)'
    "$folder/bin/python" -m pytest -q -p no:cacheprovider "${tests[@]}" -k "not gl" </dev/null
done <<'PYTHONS'
3.10 numpy==1.22.*
3.10 numpy
3.12 numpy
3.13 numpy
3.14 numpy
PYTHONS
