# SPDX-License-Identifier: MIT
"""What a platform is, and how its module is built on another one.

Compiler and linker are zig's: PyPI's `ziglang` brings every system's C library in every version, and
a linker for each of their formats. For this machine's own platform gcc compiles, whose code is up to
a tenth faster, and zig links, with the old C library. setup.py asks here when MMDSKIN_PLATFORM names
one of PLATFORMS; without that it builds for its own machine with that machine's compiler.
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
    gl: str  # the part of csrc/gl that makes contexts
    compile: list
    link: list
    numpy: dict  # what numpy's headers say otherwise than on Linux; None: nothing


class Platform(NamedTuple):
    system: System
    target: str  # for zig: the machine, the system and the oldest version of it
    tag: str  # of the wheel
    compiler: str | None = None  # in place of zig's


LINUX = System(
    module="mmdskin.abi3.so",
    gl="egl",
    compile=["-fPIC"],
    link=["-s"],
    numpy={},
)
WINDOWS = System(
    module="mmdskin.pyd",
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
    module="mmdskin.abi3.so",
    gl="none",
    compile=[],
    link=["-Wl,-undefined,dynamic_lookup", "-Wl,-install_name,@rpath/mmdskin.abi3.so"],
    numpy={"HAVE_ENDIAN_H": None},
)
MACOS_ARM = MACOS._replace(
    numpy={**MACOS.numpy, "SIZEOF_LONGDOUBLE": 8, "SIZEOF_COMPLEX_LONGDOUBLE": 16}
)

PLATFORMS = {
    "linux-x64": Platform(
        LINUX, "x86_64-linux-gnu.2.17", "manylinux_2_17_x86_64", compiler="x86_64-linux-gnu-gcc"
    ),
    "linux-arm64": Platform(LINUX, "aarch64-linux-gnu.2.17", "manylinux_2_17_aarch64"),
    "windows-x64": Platform(WINDOWS, "x86_64-windows-gnu", "win_amd64"),
    "macos-arm64": Platform(MACOS_ARM, "aarch64-macos.11.0", "macosx_11_0_arm64"),
    "macos-x64": Platform(MACOS, "x86_64-macos.11.0", "macosx_11_0_x86_64"),
}


def chosen():
    """The platform that the environment asks for, or None."""
    name = os.environ.get("MMDSKIN_PLATFORM")
    if name and name not in PLATFORMS:
        raise SystemExit(f"MMDSKIN_PLATFORM is {name!r}, not one of {', '.join(PLATFORMS)}")
    return PLATFORMS[name] if name else None


def prepare(compiler, platform, folder):
    """Turn a compiler of setuptools into one for the platform; headers are put into `folder`."""
    target = ["-target", platform.target]
    includes = [f"-isystem{path}" for path in headers(platform.system, folder / "include")]
    link = list(platform.system.link)
    if platform.system is WINDOWS:
        # The linker writes one for us too, which must not lie beside the module.
        link += [import_library(folder), f"-Wl,--out-implib,{folder}/mmdskin.lib"]
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
    """Folders of Python's and numpy's headers, made to fit the system, and of cglm's and EGL's."""
    import numpy

    shutil.rmtree(folder, ignore_errors=True)
    python = folder / "python"
    # Debian puts its numpy there too.
    ignored = shutil.ignore_patterns("internal", "numpy")
    shutil.copytree(sysconfig.get_path("include"), python, ignore=ignored)
    # Python.h takes the one beside it.
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
    # Never all of /usr/include: it is of another C library.
    (folder / "system").mkdir()
    for name in ("cglm", "EGL", "KHR"):
        (folder / "system" / name).symlink_to(f"/usr/include/{name}")
    return [folder / name for name in ("python", "numpy", "system")]


def import_library(folder):
    """python3.dll's, with the names of the stable interface: no other can be linked."""
    names = folder / "python3.def"
    names.write_text(definition(), "ascii")
    library = folder / "libpython3.a"
    command = [
        *ZIG,
        "dlltool",
        "-m",
        "i386:x86-64",
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
    """The .def of python3.dll; with `forward`, of one that passes all on to that library."""
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
