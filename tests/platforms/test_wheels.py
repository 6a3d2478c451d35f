# SPDX-License-Identifier: MIT
"""Every wheel of this version in dist, as a file: what it contains, needs and exports.

`make wheels` builds on Linux for all systems; for macOS, these are the only tests here.
"""

import hashlib
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import abi3info
import lief
import pytest
import tomllib

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WHEELS = sorted(ROOT.glob(f"dist/mmdskin-{PROJECT['version']}-*.whl"))
GLIBC = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-aarch64.so.1"}
STABLE = {
    item.symbol.name
    for table in (abi3info.FUNCTIONS, abi3info.DATAS)
    for item in table.values()
    if (item.added.major, item.added.minor) <= (3, 10)
}


class Module:
    """The native module of a wheel: what the formats of three systems have in common."""

    def __init__(self, name, data):
        self.name, self.data = name, data
        binary = lief.parse(data)
        if isinstance(binary, lief.ELF.Binary):
            self.libraries = set(binary.libraries)
            self.exports = {s.name for s in binary.exported_symbols}
            self.imports = {s.name for s in binary.dynamic_symbols if s.name and s.shndx == 0}
        elif isinstance(binary, lief.PE.Binary):
            self.libraries = {library.name.lower() for library in binary.imports}
            self.exports = {function.name for function in binary.exported_functions}
            self.imports = {entry.name for library in binary.imports for entry in library.entries}
        else:
            names = [library.name for library in binary.libraries]
            self.libraries = set(names) - {f"@rpath/{name}"}
            linkers = {"__mh_dylib_header", "___dso_handle"}
            self.exports = {s.name[1:] for s in binary.exported_symbols if s.name not in linkers}
            self.imports = {symbol.name[1:] for symbol in binary.imported_symbols}
        self.binary = binary

    def glibc(self):
        """The newest version of glibc that a symbol needs."""
        versions = (s.symbol_version for s in self.binary.dynamic_symbols)
        names = (v.symbol_version_auxiliary.name for v in versions if v and v.has_auxiliary_version)
        return max(tuple(map(int, n.split("_")[1].split("."))) for n in names)


@pytest.fixture(scope="module", params=WHEELS or [None], ids=lambda path: path and path.stem)
def wheel(request):
    if request.param is None:
        pytest.skip("there is no such wheel in dist: run `make wheels`")
    return request.param


@pytest.fixture(scope="module")
def module(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if "/_mmdskin." in name]
        return Module(name.rpartition("/")[2], archive.read(name))


def tag(wheel):
    return wheel.stem.rpartition("-")[2]


def of_system(*starts):
    """The wheels of `make wheels` whose tags start like this."""
    found = [path for path in WHEELS if tag(path).startswith(starts)]
    return pytest.mark.parametrize(
        "wheel", found or [None], ids=[tag(path) for path in found] or ["none"], indirect=True
    )


def read(wheel, name):
    with zipfile.ZipFile(wheel) as archive:
        (full,) = [entry for entry in archive.namelist() if entry.endswith(name)]
        return archive.read(full).decode("utf-8")


def test_it_supports_every_python_from_3_10_on(wheel):
    assert "-cp310-abi3-" in wheel.name
    assert f"Tag: cp310-abi3-{tag(wheel)}\n" in read(wheel, "dist-info/WHEEL")


def test_it_contains_the_package_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    outside = {name for name in names if ".dist-info/" not in name}
    module = "_mmdskin.pyd" if tag(wheel).startswith("win") else "_mmdskin.abi3.so"
    source = ROOT / "csrc/mmdskin"
    files = [path for path in source.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    package = {path.relative_to(source).as_posix() for path in files}
    assert outside == {f"mmdskin/{name}" for name in (module, *package)}


@pytest.mark.parametrize(
    ("name", "phrase"),
    [
        ("licenses/LICENSE", "mmdskin contributors"),
        ("GLEW.txt", "The OpenGL Extension Wrangler Library"),
        ("cglm.txt", "Recep Aslantas"),
        ("EGL.txt", "The Khronos Group Inc."),
    ],
)
def test_it_contains_the_licence_of_everything_in_it(wheel, name, phrase):
    assert phrase in read(wheel, name)


def test_numpy_is_the_only_requirement(wheel):
    lines = read(wheel, "dist-info/METADATA").splitlines()
    required = [line for line in lines if line.startswith("Requires-Dist")]
    assert [line for line in required if "; extra ==" not in line] == ["Requires-Dist: numpy>=1.22"]


def test_the_module_exports_its_init_function_only(module):
    assert module.exports == {"PyInit__mmdskin"}


def test_the_module_imports_no_name_of_a_graphics_library(module):
    assert not {name for name in module.imports if name.startswith(("gl", "egl", "wgl", "X"))}


def test_the_module_uses_the_stable_interface_of_python_only(module):
    python = {name for name in module.imports if name.startswith(("Py", "_Py"))}
    assert python and python <= STABLE


def test_the_module_does_not_know_where_it_was_built(module):
    for folder in (ROOT, Path.home()):
        assert str(folder).encode() not in module.data


@of_system("linux", "manylinux")
def test_on_linux_the_module_needs_the_c_library_only(module):
    assert module.libraries <= GLIBC


@of_system("linux", "manylinux", "musllinux")
def test_on_linux_a_broken_stack_ends_the_process_and_addresses_are_read_only(module):
    assert "__stack_chk_fail" in module.imports
    assert any(
        segment.type == lief.ELF.Segment.TYPE.GNU_RELRO for segment in module.binary.segments
    )
    now = lief.ELF.DynamicEntryFlags.FLAG.BIND_NOW
    flags = [e for e in module.binary.dynamic_entries if e.tag == lief.ELF.DynamicEntry.TAG.FLAGS]
    assert any(entry.has(now) for entry in flags)


@of_system("manylinux_2_17")
def test_on_linux_glibc_2_17_is_enough(module):
    assert module.glibc() <= (2, 17)


@of_system("manylinux_2_17_x86_64")
def test_auditwheel_agrees_with_the_tag(wheel):
    command = [sys.executable, "-m", "auditwheel", "show", wheel]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert f'platform tag: "{tag(wheel)}"' in " ".join(said.split())


@of_system("musllinux")
def test_with_musl_the_module_needs_the_c_library_only(module):
    assert module.libraries == {"libc.so"}


@of_system("musllinux_1_2_x86_64")
def test_the_loader_of_musl_1_2_finds_every_name_that_the_module_needs(wheel, module, tmp_path):
    """A program with Python's names loads it; those of the C library have to be in Debian's musl."""
    zig = ROOT / "build/cross/venv/bin/python"
    if not zig.exists() or not Path("/lib/ld-musl-x86_64.so.1").exists():
        pytest.skip("zig or the package musl is missing: run `make wheels` and `make check-musl`")
    python = sorted(name for name in module.imports if name.startswith(("Py", "_Py")))
    source = tmp_path / "loader.c"
    source.write_text(
        "#include <dlfcn.h>\n#include <stdio.h>\n"
        + "".join(f"char {name}[64];\n" for name in python)
        + "int main(int count, char **arguments)\n{\n"
        "    void *module = dlopen(arguments[count - 1], RTLD_NOW);\n"
        '    puts(module ? "loaded" : dlerror());\n'
        '    return !module || !dlsym(module, "PyInit__mmdskin");\n}\n',
        "utf-8",
    )
    program = tmp_path / "loader"
    command = [zig, "-m", "ziglang", "cc", "-target", "x86_64-linux-musl", "-dynamic", "-rdynamic"]
    command += ["-O1", "-w", "-fno-sanitize=all", source, "-o", program]
    subprocess.run(command, check=True)
    file = tmp_path / module.name
    file.write_bytes(module.data)
    done = subprocess.run([program, file], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "loaded\n"), done.stdout


@of_system("win")
def test_on_windows_the_module_needs_what_every_windows_10_has(module):
    system = {"python3.dll", "kernel32.dll", "user32.dll", "gdi32.dll"}
    assert {name for name in module.libraries if not name.startswith("api-ms-win-crt-")} <= system


@of_system("win")
def test_on_windows_the_module_is_for_the_machine_of_its_tag(wheel, module):
    machine = {"win_amd64": "AMD64", "win_arm64": "ARM64"}[tag(wheel)]
    assert module.binary.header.machine.name == machine


@of_system("macosx")
def test_on_a_mac_the_module_needs_the_system_library_only(module):
    assert module.libraries == {"/usr/lib/libSystem.B.dylib"}


@of_system("macosx")
def test_on_a_mac_python_s_names_are_looked_up_in_the_process(module):
    anywhere = -2
    for symbol in module.binary.imported_symbols:
        if symbol.has_binding_info:
            python = symbol.name.startswith(("_Py", "__Py"))
            assert (symbol.binding_info.library_ordinal == anywhere) == python, symbol.name


@of_system("macosx")
def test_on_a_mac_the_tag_names_the_oldest_system(wheel, module):
    major, minor, *_ = module.binary.build_version.minos
    assert tag(wheel).startswith(f"macosx_{major}_{minor}_")


@of_system("macosx_11_0_arm64")
def test_on_an_arm_mac_every_page_is_as_it_was_signed(module):
    """Otherwise the system kills the process. The linker signs, ad hoc."""
    data, start = module.data, module.binary.code_signature.data_offset
    magic, _, count = struct.unpack_from(">3I", data, start)
    assert magic == 0xFADE0CC0
    blobs = dict(struct.iter_unpack(">2I", data[start + 12 : start + 12 + 8 * count]))
    directory = start + blobs[0]
    _, _, _, flags, hashes, _, _, slots, limit = struct.unpack_from(">9I", data, directory)
    size, kind, _, page = struct.unpack_from(">4B", data, directory + 36)
    assert flags & 2 and kind == 2 and limit == start  # ad hoc, SHA-256, all before the signature
    for slot in range(slots):
        content = data[slot << page : min((slot + 1) << page, limit)]
        place = directory + hashes + slot * size
        assert data[place : place + size] == hashlib.sha256(content).digest(), f"page {slot}"
