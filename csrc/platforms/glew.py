# SPDX-License-Identifier: MIT
"""GLEW's source, as Debian's source package has it: downloaded once, known by its hash."""

import hashlib
import os
import re
import subprocess
import tarfile
import urllib.request
from pathlib import Path

NAME = "glew_2.2.0.orig.tar.xz"
SHA256 = "971e9bd3e3561e2c33cd1722129a1a44186790e93f4a79e843a0dc8bd1fb1db1"
FOLDER = Path("build/glew-2.2.0")
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "mmdskin"


def source():
    """The folder of GLEW's source."""
    if not FOLDER.is_dir():
        archive = CACHE / NAME
        if not archive.is_file():
            download(archive)
        if hashlib.sha256(archive.read_bytes()).hexdigest() != SHA256:
            raise SystemExit(f"{archive} is not the file whose SHA-256 is {SHA256}")
        FOLDER.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(archive) as tar:
            tar.extractall(FOLDER.parent)
    return FOLDER


def download(archive):
    """From the mirror that apt uses: the source lies beside the binary packages."""
    command = ["apt-get", "download", "--print-uris", "libglew-dev"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        binary = re.search(r"'(http.*/)[^/]*'", answer)
        archive.parent.mkdir(parents=True, exist_ok=True)
        urllib.request.urlretrieve(binary[1] + NAME, archive)
    except (OSError, subprocess.CalledProcessError, TypeError) as error:
        raise SystemExit(
            f"GLEW's source cannot be downloaded ({error}): put {NAME} of Debian's source package"
            f" glew, SHA-256 {SHA256}, into {archive.parent}"
        ) from error


if __name__ == "__main__":
    print(source())
