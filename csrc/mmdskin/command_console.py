# SPDX-License-Identifier: MIT
"""Errors, warnings and progress of the command line, on stderr."""

from __future__ import annotations

import sys
import time

from mmdskin.errors import printable

_SECONDS = {True: 0.1, False: 5.0}  # between two, in a terminal or not


class CommandError(Exception):
    """An error that is shown as it is, in one line, with the exit status."""

    def __init__(self, text: str, status: int = 1) -> None:
        super().__init__(text)
        self.status = status


def warn(text: str) -> None:
    """In one line on stderr, as all errors are shown, too."""
    print("mmdskin:", printable(" ".join(text.split())), file=sys.stderr)


class Progress:
    """Counts up to `total`: a line that is rewritten in a terminal, or a line every few seconds. As a context
    it ends the line. shown: None: only in a terminal."""

    def __init__(self, what: str, total: int, shown: bool | None) -> None:
        self._what, self._total, self._done = what, total, 0
        self._terminal = sys.stderr.isatty()
        self._shown = self._terminal if shown is None else shown
        self._next, self._open = 0.0, False

    def __enter__(self) -> Progress:
        self._show()
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is None and self._done:
            self._next = 0.0
            self._show()
        if self._open:
            print(file=sys.stderr)

    def add(self, count: int) -> None:
        self._done += count
        self._show()

    def _show(self) -> None:
        now = time.monotonic()
        if not self._shown or now < self._next:
            return
        self._next, self._open = now + _SECONDS[self._terminal], self._terminal
        share = 100 * self._done // max(1, self._total)
        text = f"{self._what}: {self._done:,} of {self._total:,}, {share}%"
        end = "" if self._terminal else "\n"
        print("\r" + text if self._terminal else text, end=end, file=sys.stderr, flush=True)
