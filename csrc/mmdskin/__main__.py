# SPDX-License-Identifier: MIT
"""python -m mmdskin: see docs/command-line.md."""

import sys

from mmdskin.command_line import main

if __name__ == "__main__":
    sys.exit(main())
