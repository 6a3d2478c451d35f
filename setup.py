# SPDX-License-Identifier: MIT
"""Builds the one extension module; everything declarative is in pyproject.toml."""

import os
import sys
from pathlib import Path

from setuptools import Command, Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

sys.path.insert(0, "csrc/platforms")
import cross
import glew

PLATFORM = cross.chosen()
if PLATFORM:  # the times in the wheel; the same bytes whenever it is made
    os.environ.setdefault("SOURCE_DATE_EPOCH", "1577836800")
# Where contexts of OpenGL come from.
GL = PLATFORM.system.gl if PLATFORM else "egl" if sys.platform == "linux" else "none"
GL_SOURCES = [f"csrc/gl/{GL}/*.c", *([] if GL == "none" else ["csrc/gl/*.c"])]
WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Wstrict-prototypes", "-Wsign-conversion"]
GENERATED = Path("build/generated")


def files(*patterns):
    return sorted(path.as_posix() for pattern in patterns for path in Path().glob(pattern))


def generate(name, text):
    """Write a header unless it is there: others may be compiling with it."""
    path = GENERATED / name
    if not path.is_file() or path.read_text("utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def c_string(text):
    """The text as C string literals, one per line of it."""
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in text.splitlines())
    return "\n".join(f'    "{line}\\n"' for line in escaped)


class EmbedShaders(Command):
    """Writes shaders/skin.vert and the like as `static const char mmd_shader_skin_vert[]`."""

    description = "write the shaders as a C header"
    user_options = []

    def initialize_options(self):
        pass

    def finalize_options(self):
        pass

    def run(self):
        parts = ["/* Made from shaders/ by setup.py. */"]
        for path in map(Path, files("shaders/*.glsl", "shaders/*.vert", "shaders/*.frag")):
            name = "mmd_shader_" + path.name.replace(".", "_")
            text = c_string(path.read_text(encoding="utf-8"))
            parts.append(f"static const char {name}[] =\n{text};")
        generate("shaders.h", "\n\n".join(parts) + "\n")


class BuildModule(build_ext):
    def get_ext_filename(self, fullname):
        return PLATFORM.system.module if PLATFORM else super().get_ext_filename(fullname)

    def build_extensions(self):
        import numpy

        self.run_command("embed_shaders")
        for extension in self.extensions:
            if GL != "none":
                folder = glew.source()
                extension.extra_compile_args += [f"-isystem{folder}", f"-isystem{folder}/include"]
            if PLATFORM:
                cross.prepare(self.compiler, PLATFORM, Path(self.build_temp))
            else:
                extension.include_dirs.append(numpy.get_include())
        super().build_extensions()


class BuildStubs(build_py):
    """A flat module has no place for its .pyi; type checkers look for a package mmdskin-stubs."""

    def stub(self):
        return os.path.join(self.build_lib, "mmdskin-stubs", "__init__.pyi")

    def run(self):
        self.mkpath(os.path.dirname(self.stub()))
        self.copy_file("csrc/mmdskin.pyi", self.stub())

    def get_outputs(self, include_bytecode=True):
        return [self.stub()]

    def get_source_files(self):
        return ["csrc/mmdskin.pyi"]


def options():
    """One wheel for every Python; one for another platform is built apart from our own."""
    wheel = {"py_limited_api": f"cp{cross.PYTHON[0]}{cross.PYTHON[1]}"}
    if not PLATFORM:
        return {"bdist_wheel": wheel}
    folder = Path("build/cross", os.environ["MMDSKIN_PLATFORM"])
    folder.mkdir(parents=True, exist_ok=True)
    return {
        "build": {"build_base": str(folder)},
        "bdist_wheel": wheel | {"plat_name": PLATFORM.tag, "bdist_dir": str(folder / "wheel")},
        "egg_info": {"egg_base": str(folder)},
    }


mmdskin = Extension(
    "mmdskin",
    sources=files("csrc/core/*/*.c", "csrc/python/*.c", *GL_SOURCES),
    depends=files("csrc/*.h", "csrc/*/*.h", "csrc/core/*/*.h", "csrc/platforms/*.py", "shaders/*"),
    include_dirs=["csrc", GENERATED.as_posix()],
    define_macros=[
        ("Py_LIMITED_API", "0x030a0000"),
        ("NPY_TARGET_VERSION", "NPY_1_22_API_VERSION"),
        ("NPY_NO_DEPRECATED_API", "NPY_1_22_API_VERSION"),
    ],
    extra_compile_args=[
        "-std=c11",
        "-O3",
        # Numbers that are written one by one and read as a vector stall: a tenth of a pose.
        "-fno-tree-slp-vectorize",
        "-g0",
        "-fvisibility=hidden",
        "-ffp-contract=off",
        "-fno-math-errno",
        *WARNINGS,
        *(["-Werror"] if os.environ.get("MMDSKIN_WERROR") == "1" else []),
    ],
    libraries=["dl", "pthread", "m"] if GL == "egl" else [],
    py_limited_api=True,
)

setup(
    ext_modules=[mmdskin],
    packages=["mmdskin-stubs"],
    package_dir={"mmdskin-stubs": "csrc"},
    cmdclass={
        "build_ext": BuildModule,
        "build_py": BuildStubs,
        "embed_shaders": EmbedShaders,
    },
    options=options(),
)
