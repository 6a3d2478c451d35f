# SPDX-License-Identifier: MIT
"""Prints compile_commands.json: compile_commands.py "COMPILER FLAGS" FILE..."""

import json
import sys
from pathlib import Path


def main(command, *files):
    entries = [
        {"directory": str(Path.cwd()), "file": file, "command": f"{command} -c {file}"}
        for file in files
    ]
    print(json.dumps(entries, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
