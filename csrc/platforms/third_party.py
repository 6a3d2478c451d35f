# SPDX-License-Identifier: MIT
"""Gathers what the module is compiled with into build/third_party: cglm, EGL's headers and GLEW.

A source distribution carries all of it (third_party/). Otherwise cglm and EGL are those of this
machine, found by pkg-config, Homebrew, vcpkg or in the usual folders. What is not installed, and
GLEW, whose source becomes part of the module, is downloaded once and checked by its hash.

    python csrc/platforms/third_party.py [URL OF A DEBIAN MIRROR...]
"""

import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import urllib.request
from pathlib import Path
from typing import NamedTuple

FOLDER = Path("build/third_party")
# In a source distribution.
CARRIED = Path("third_party")
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "mmdskin"
# Debian mirrors to download from, separated by spaces, on systems that have no apt to ask.
MIRRORS = os.environ.get("MMDSKIN_MIRRORS", "").split()


class Archive(NamedTuple):
    path: str  # on a mirror
    sha256: str

    def members(self, mirrors):
        """(path, bytes) of each file in it."""
        data = self.read(mirrors)
        if self.path.endswith(".deb"):
            data = member_of_ar(data, "data.tar.xz")
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            for item in tar:
                if item.isfile():
                    yield item.name, tar.extractfile(item).read()

    def read(self, mirrors):
        file = CACHE / Path(self.path).name
        if not file.is_file():
            file.parent.mkdir(parents=True, exist_ok=True)
            # Another build may be downloading it, too.
            part = file.with_suffix(f".part{os.getpid()}")
            part.write_bytes(self.download(mirrors))
            part.replace(file)
        data = file.read_bytes()
        if hashlib.sha256(data).hexdigest() != self.sha256:
            raise SystemExit(f"{file} does not have the SHA-256 {self.sha256}: remove it")
        return data

    def download(self, mirrors):
        errors = []
        for mirror in mirrors:
            print(f"Downloading {self.path} from {mirror}", file=sys.stderr)
            try:
                with urllib.request.urlopen(
                    f"{mirror.rstrip('/')}/{self.path}", timeout=60
                ) as page:
                    return page.read()
            except OSError as error:
                errors.append(f"{mirror}: {error}")
        raise SystemExit(
            f"{self.path} cannot be downloaded ({'; '.join(errors) or 'no mirror is known'}): name"
            f" a Debian mirror in MMDSKIN_MIRRORS, or put the file into {CACHE}"
        )


class Headers(NamedTuple):
    """Headers that this machine may have."""

    header: str  # one of them; they fill its folder
    package: str  # for pkg-config and Homebrew
    archive: Archive


GLEW = Archive(
    "pool/main/g/glew/glew_2.2.0.orig.tar.xz",
    "971e9bd3e3561e2c33cd1722129a1a44186790e93f4a79e843a0dc8bd1fb1db1",
)
GLEW_FILES = r"glew-2\.2\.0/(?:include/(GL/e?glew\.h)|(src/glew\.c|LICENSE\.txt))"
HEADERS = [
    Headers(
        "cglm/cglm.h",
        "cglm",
        Archive(
            "pool/main/c/cglm/libcglm-dev_0.8.8-1_amd64.deb",
            "2222d752679a757bb461cf353115be83c5b19c7ed2894aa7df919ca4d5b80b0a",
        ),
    ),
    Headers(
        "EGL/eglext.h",
        "egl",
        Archive(
            "pool/main/libg/libglvnd/libegl-dev_1.6.0-1_amd64.deb",
            "0ec9bffb024527dfb61eaeae44966e2b5b3114b3dc315b4117b0df95b1c96ef8",
        ),
    ),
    Headers(
        "KHR/khrplatform.h",
        "gl",
        Archive(
            "pool/main/libg/libglvnd/libgl-dev_1.6.0-1_amd64.deb",
            "ebc12df48ae53924e114d9358ef3da4306d7ef8f7179300af52f1faef8b5db3e",
        ),
    ),
]


def gather(mirrors=()):
    """Fill build/third_party, unless an earlier call has."""
    done = FOLDER / "complete"
    if done.is_file():
        return
    shutil.rmtree(FOLDER, ignore_errors=True)
    if CARRIED.is_dir():
        shutil.copytree(CARRIED, FOLDER)
    else:
        for headers in HEADERS:
            gather_headers(headers, [*mirrors, *MIRRORS])
        for path, data in GLEW.members([*mirrors, *MIRRORS]):
            found = re.fullmatch(GLEW_FILES, path)
            if found:
                write("include" if found[1] else "glew", found[1] or found[2], data)
    done.touch()


def gather_headers(headers, mirrors):
    name = headers.header.partition("/")[0]
    place = installed(headers)
    if place:
        shutil.copytree(place / name, FOLDER / "include" / name)
        return
    for path, data in headers.archive.members(mirrors):
        _, _, inside = path.partition(f"usr/include/{name}/")
        if inside:
            write(f"include/{name}", inside, data)


def write(folder, name, data):
    path = FOLDER / folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def installed(headers):
    """The include folder of this machine that has the headers, or None."""
    for folder in include_folders(headers.package):
        if (folder / headers.header).is_file():
            return folder
    return None


def include_folders(package):
    answer = said("pkg-config", "--variable=includedir", package)
    if answer:
        yield Path(answer)
    answer = said("brew", "--prefix", package)
    if answer:
        yield Path(answer, "include")
    if os.environ.get("VCPKG_ROOT"):
        yield from sorted(Path(os.environ["VCPKG_ROOT"]).glob("installed/*/include"))
    yield from (Path(path) for path in ("/usr/include", "/usr/local/include"))


def said(*command):
    """The first line that a program prints; nothing if it is missing or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.partition("\n")[0].strip()


def member_of_ar(data, name):
    """One file of an ar archive, which a Debian package is."""
    offset = len(b"!<arch>\n")
    while offset < len(data):
        header = data[offset : offset + 60]
        size = int(header[48:58])
        if header[:16].rstrip(b" /") == name.encode():
            return data[offset + 60 : offset + 60 + size]
        offset += 60 + size + size % 2
    raise SystemExit(f"there is no {name} in the archive")


if __name__ == "__main__":
    gather(sys.argv[1:])
