# SPDX-License-Identifier: MIT
"""Errors of the command line."""

from mmdskin.printable import printable


class CommandError(Exception):
    """An error that is shown as it is, in one line, with the exit status."""

    def __init__(self, text: str, status: int = 1) -> None:
        super().__init__(text)
        self.status = status


def warn(text: str) -> None:
    """In one line on stderr, as all errors are shown, too."""
    import sys

    print("mmdskin:", printable(" ".join(text.split())), file=sys.stderr)
