#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs Windows' Python 3.11 under Wine: windows.sh setup | bpy | install WHEEL | run PROGRAM ARGUMENTS...
# setup and bpy download into ~/.cache/mmdskin/windows and unpack into build/windows.
set -euo pipefail

cache=${XDG_CACHE_HOME:-$HOME/.cache}/mmdskin/windows
folder=$PWD/build/windows
python=$folder/python
wine=/usr/lib/wine/wine64
pip=(.venv/bin/pip download --quiet --dest "$cache" --platform win_amd64 --python-version 3.11
    --only-binary=:all:)
export WINEPREFIX=$folder/prefix WINEARCH=win64 WINEDEBUG=-all
export PYTHONUTF8=1 PYTHONDONTWRITEBYTECODE=1

# The output must be a pipe, or Windows' Python cannot open its streams. The first call starts Wine's
# services, which must not inherit that pipe: they keep running, and its reader would wait for them.
# They are stopped for all at the end, so only one call runs at a time.
run() {
    flock --close "$folder/lock" bash "$0" run_alone "$@"
}

run_alone() {
    local status=0
    # shellcheck disable=SC2016
    timeout "${SECONDS_AT_MOST:-3600}" xvfb-run -a bash -c '
        "$0" cmd /c exit </dev/null >/dev/null 2>&1
        "$0" "$@" </dev/null 2>&1 | cat
        exit "${PIPESTATUS[0]}"' "$wine" "$@" || status=$?
    wineserver -k || true
    return "$status"
}

wineserver() { /usr/lib/wine/wineserver64 "$@"; }

setup() {
    local jar=$cache/cpython-3.11.3-1.5.9-windows-x86_64.jar wheel
    mkdir -p "$cache"
    rm -rf "$folder"
    [[ -f $jar ]] || mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy \
        -Dartifact=org.bytedeco:cpython:3.11.3-1.5.9:jar:windows-x86_64 -DoutputDirectory="$cache"
    .venv/bin/python -m zipfile -e "$jar" "$folder/jar"
    mv "$folder/jar/org/bytedeco/cpython/windows-x86_64" "$python"
    rm -r "$folder/jar"
    mv "$python"/lib/vcruntime140*.dll "$python" # the loader looks beside python.exe
    # The jar lacks python3.dll, which Blender and python.org have: it forwards everything.
    .venv/bin/python -c 'import sys; sys.path.insert(0, "csrc/platforms"); import cross
print(cross.definition("python311"))' >"$folder/python3.def"
    echo 'int DllMain(void *a, unsigned b, void *c) { (void)a, (void)b, (void)c; return 1; }' \
        >"$folder/main.c"
    x86_64-w64-mingw32-gcc -shared -nostdlib -e DllMain -s "$folder/main.c" "$folder/python3.def" \
        -o "$python/python3.dll"
    # numpy 2.2 and later need what Wine 8 lacks.
    "${pip[@]}" "numpy>=2,<2.2" pillow "pytest>=8,<10" colorama
    for wheel in "$cache"/{numpy-2,pillow,pytest,colorama,iniconfig,packaging,pluggy,pygments}*.whl; do
        .venv/bin/python -m zipfile -e "$wheel" "$python/lib/site-packages"
    done
    timeout 300 xvfb-run -a "$wine" wineboot -i </dev/null >"$folder/wine.log" 2>&1
    # Debian's Wine reports Windows 7, which Python and Blender no longer support.
    timeout 60 xvfb-run -a "$wine" winecfg -v win10 </dev/null >>"$folder/wine.log" 2>&1
    wineserver -k || true
}

bpy() {
    mkdir -p "$cache"
    [[ -f $cache/bpy-4.5/ready ]] && return
    "${pip[@]}" --no-deps "bpy==4.5.*" "numpy==1.26.*"
    rm -rf "$cache/bpy-4.5"
    for wheel in "$cache"/bpy-4.5.*.whl "$cache"/numpy-1.26.*.whl; do
        .venv/bin/python -m zipfile -e "$wheel" "$cache/bpy-4.5"
    done
    touch "$cache/bpy-4.5/ready"
}

install() {
    rm -rf "$python"/lib/site-packages/mmdskin*
    .venv/bin/python -m zipfile -e "$1" "$python/lib/site-packages"
}

"$@"
