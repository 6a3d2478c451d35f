# SPDX-License-Identifier: MIT
"""The Python that setup.sh installed for docs/examples, with this Python's module."""

import os
import secrets
from pathlib import Path

import mmdskin

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "docs" / "examples"
CACHE = Path(os.environ.get("MMDSKIN_CACHE", Path.home() / ".cache/mmdskin")) / "examples"


def command():
    """The interpreter, or None if it is not installed."""
    return CACHE / "bin/python" if (CACHE / "ready").exists() else None


def environment(folder):
    """Environment variables for mmdskin, and for engines to write below `folder`."""
    modules = Path(folder, "modules")
    modules.mkdir()
    package = Path(mmdskin.__file__).parent
    (modules / package.name).symlink_to(package)
    return {
        **os.environ,
        "PYTHONPATH": str(modules),
        "DASK_TEMPORARY_DIRECTORY": f"{folder}/dask",
        "RAY_TMPDIR": f"{folder}/ray",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),  # otherwise it writes one to the home folder
        "RAY_USAGE_STATS_ENABLED": "0",
    }
