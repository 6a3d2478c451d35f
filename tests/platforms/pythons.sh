#!/bin/bash
# SPDX-License-Identifier: MIT
# One wheel, every Python there is here, the newest numpy for it: pythons.sh WHEEL
set -euo pipefail

tests=(tests/skin/test_skin.py tests/pose/test_pose.py tests/module/test_import.py
    tests/module/test_pickle.py tests/module/test_contract.py)

for version in 3.10 3.12 3.13 3.14; do
    for python in "/usr/bin/python$version" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$version".*/bin/python3; do
        [[ -x $python ]] || continue
        folder=build/pythons/$version
        "$python" -m venv --clear "$folder"
        "$folder/bin/pip" install --quiet numpy "pytest>=8,<10" "$1"
        "$folder/bin/python" -c 'import sys, numpy; print("Python", sys.version.split()[0], "numpy", numpy.__version__)'
        "$folder/bin/python" -m pytest -q -p no:cacheprovider "${tests[@]}" -k "not gl"
        continue 2
    done
    echo "There is no Python $version here: not tested"
done
