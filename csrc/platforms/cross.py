# SPDX-License-Identifier: MIT
"""The platforms that wheels are built for, and how setup.py builds for one on any machine.

zig compiles and links: PyPI's `ziglang` brings every system's C library in every version and a
linker for each format. For Linux on x86-64, gcc compiles, as its code is up to a tenth faster, and
zig links against the old C library. setup.py uses this when MMDSKIN_PLATFORM names one of PLATFORMS,
and on Windows, whose own compiler lacks GNU C. Otherwise it uses this machine's compiler.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ZIG = [sys.executable, "-m", "ziglang"]
# The oldest Python whose stable interface is used.
PYTHON = (3, 10)


class System(NamedTuple):
    module: str  # the file that Python imports
    gl: str  # the folder of csrc/gl that creates contexts
    compile: list
    link: list
    numpy: dict  # where numpy's headers differ from those on Linux; None: not defined


class Platform(NamedTuple):
    name: str
    system: System
    target: str  # for zig: the machine, the system and its oldest version
    tag: str  # of the wheel
    compiler: str | None = None  # instead of zig's


LINUX = System(
    module="_mmdskin.abi3.so",
    gl="egl",
    compile=["-fPIC"],
    link=["-s"],
    numpy={},
)
WINDOWS = System(
    module="_mmdskin.pyd",
    gl="wgl",
    compile=[],
    link=["-s", "-lgdi32", "-luser32"],
    numpy={
        "HAVE_ENDIAN_H": None,
        "SIZEOF_LONG": 4,
        "SIZEOF_WCHAR_T": 2,
        "SIZEOF_OFF_T": 4,
        "SIZEOF_LONGDOUBLE": 8,
        "SIZEOF_COMPLEX_LONGDOUBLE": 16,
    },
)
# What is left unresolved is Python's. Stripping would break the signature of the linker.
MACOS = System(
    module="_mmdskin.abi3.so",
    gl="none",
    compile=[],
    link=["-Wl,-undefined,dynamic_lookup", "-Wl,-install_name,@rpath/_mmdskin.abi3.so"],
    numpy={"HAVE_ENDIAN_H": None},
)
MACOS_ARM = MACOS._replace(
    numpy={**MACOS.numpy, "SIZEOF_LONGDOUBLE": 8, "SIZEOF_COMPLEX_LONGDOUBLE": 16}
)

PLATFORMS = {
    platform.name: platform
    for platform in (
        Platform(
            "linux-x64",
            LINUX,
            "x86_64-linux-gnu.2.17",
            "manylinux_2_17_x86_64",
            compiler="x86_64-linux-gnu-gcc",
        ),
        Platform("linux-arm64", LINUX, "aarch64-linux-gnu.2.17", "manylinux_2_17_aarch64"),
        Platform("musl-x64", LINUX, "x86_64-linux-musl", "musllinux_1_2_x86_64"),
        Platform("musl-arm64", LINUX, "aarch64-linux-musl", "musllinux_1_2_aarch64"),
        Platform("windows-x64", WINDOWS, "x86_64-windows-gnu", "win_amd64"),
        Platform("windows-arm64", WINDOWS, "aarch64-windows-gnu", "win_arm64"),
        Platform("macos-arm64", MACOS_ARM, "aarch64-macos.11.0", "macosx_11_0_arm64"),
        Platform("macos-x64", MACOS, "x86_64-macos.11.0", "macosx_11_0_x86_64"),
    )
}


def chosen():
    """The platform to build for, or None for this machine by its own compiler."""
    name = os.environ.get("MMDSKIN_PLATFORM") or ("windows-x64" if sys.platform == "win32" else "")
    if name and name not in PLATFORMS:
        raise SystemExit(f"MMDSKIN_PLATFORM is {name!r}, not one of {', '.join(PLATFORMS)}")
    return PLATFORMS[name] if name else None


def prepare(compiler, platform, folder):
    """Turn a compiler of setuptools into one for the platform; headers are copied to `folder`."""
    target = ["-target", platform.target]
    includes = [f"-isystem{path}" for path in headers(platform.system, folder / "include")]
    link = list(platform.system.link)
    if platform.system is WINDOWS:
        # The linker writes one for us too, which must not be beside the module.
        link += [import_library(platform, folder), f"-Wl,--out-implib,{folder}/mmdskin.lib"]
    zig = [*ZIG, "cc", *target]
    compile_command = [platform.compiler] if platform.compiler else zig
    compiler.set_executables(
        compiler_so=[*compile_command, *includes, *platform.system.compile],
        linker_so=[*zig, "-shared", *link],
    )
    compiler.set_include_dirs([])
    compiler.set_library_dirs([])
    compiler.set_libraries([])


def headers(system, folder):
    """Folders of Python's and numpy's headers, adapted to the system."""
    import numpy

    shutil.rmtree(folder, ignore_errors=True)
    python = folder / "python"
    # Debian puts its numpy there too.
    ignored = shutil.ignore_patterns("internal", "numpy")
    shutil.copytree(sysconfig.get_path("include"), python, ignore=ignored)
    # Python.h includes the one beside it.
    shutil.copy(HERE / "pyconfig.h", python / "pyconfig.h")
    shutil.copytree(numpy.get_include(), folder / "numpy")
    config = folder / "numpy/numpy/_numpyconfig.h"
    text = config.read_text("utf-8")
    for name, value in system.numpy.items():
        line = f"#define NPY_{name} {value}" if value else ""
        text, count = re.subn(rf"^#define NPY_{name} .*$", line, text, flags=re.MULTILINE)
        if count != 1:
            raise SystemExit(f"numpy's _numpyconfig.h must define NPY_{name} once")
    config.write_text(text, "utf-8")
    return [folder / name for name in ("python", "numpy")]


def import_library(platform, folder):
    """The import library of python3.dll, with the stable interface only: nothing else links."""
    names = folder / "python3.def"
    names.write_text(definition(), "ascii")
    library = folder / "libpython3.a"
    command = [
        *ZIG,
        "dlltool",
        "-m",
        "arm64" if platform.target.startswith("aarch64") else "i386:x86-64",
        "-D",
        "python3.dll",
        "-d",
        names,
        "-l",
        library,
    ]
    subprocess.run(command, check=True)
    return str(library)


def definition(forward=""):
    """The .def of python3.dll; with `forward`, of one that forwards each name to that library."""
    import abi3info

    lines = []
    for kind, table in (("", abi3info.FUNCTIONS), (" DATA", abi3info.DATAS)):
        for item in table.values():
            if (item.added.major, item.added.minor) <= PYTHON and item.ifdef is None:
                name = item.symbol.name
                lines.append(
                    f"    {name}={forward}.{name}{kind}" if forward else f"    {name}{kind}"
                )
    return "\n".join(["LIBRARY python3.dll", "EXPORTS", *sorted(lines), ""])
