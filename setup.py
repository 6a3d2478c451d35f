# SPDX-License-Identifier: MIT
"""Builds the one extension module; everything declarative is in pyproject.toml."""

import os
import subprocess
import sys
from pathlib import Path

from setuptools import Command, Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Wstrict-prototypes", "-Wsign-conversion"]
GENERATED = Path("build/generated")
# OpenGL contexts come from EGL; elsewhere a stub stands for csrc/gl.
EGL = sys.platform.startswith("linux")


def files(*patterns):
    return sorted(path.as_posix() for pattern in patterns for path in Path().glob(pattern))


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
        for path in map(Path, files("shaders/*.glsl", "shaders/*.vert")):
            name = "mmd_shader_" + path.name.replace(".", "_")
            text = c_string(path.read_text(encoding="utf-8"))
            parts.append(f"static const char {name}[] =\n{text};")
        GENERATED.mkdir(parents=True, exist_ok=True)
        (GENERATED / "shaders.h").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


class BuildModule(build_ext):
    def build_extensions(self):
        import numpy

        self.run_command("embed_shaders")
        version = self.distribution.get_version()
        for extension in self.extensions:
            extension.include_dirs.append(numpy.get_include())
            extension.define_macros.append(("MMDSKIN_VERSION", f'"{version}"'))
            if EGL:
                extension.extra_objects.append(self.glew_archive())
        super().build_extensions()

    def glew_archive(self):
        """The static archive: the shared libGLEW would pull libGL and libX11 in at import."""
        compiler = self.compiler.compiler_so[0]
        answer = subprocess.run(
            [compiler, "-print-file-name=libGLEW.a"], capture_output=True, text=True, check=True
        ).stdout.strip()
        if not os.path.isabs(answer):
            raise SystemExit("libGLEW.a is missing; Debian and Ubuntu have it in libglew-dev")
        return answer


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


mmdskin = Extension(
    "mmdskin",
    sources=files(
        "csrc/core/*/*.c", "csrc/gl/*.c" if EGL else "csrc/gl/none/*.c", "csrc/python/*.c"
    ),
    depends=files("csrc/*/*.h", "csrc/core/*/*.h", "csrc/gl/none/*.c", "shaders/*"),
    include_dirs=["csrc", GENERATED.as_posix()],
    define_macros=[
        ("Py_LIMITED_API", "0x030b0000"),
        ("NPY_TARGET_VERSION", "NPY_1_22_API_VERSION"),
        ("NPY_NO_DEPRECATED_API", "NPY_1_22_API_VERSION"),
        ("GLEW_STATIC", None),
    ],
    extra_compile_args=[
        "-std=c11",
        "-O3",
        "-g0",
        "-fvisibility=hidden",
        "-ffp-contract=off",
        "-fno-math-errno",
        *WARNINGS,
        *(["-Werror"] if os.environ.get("MMDSKIN_WERROR") == "1" else []),
    ],
    # GLEW's own functions would be exported otherwise.
    extra_link_args=["-Wl,--exclude-libs,ALL", "-Wl,--as-needed"] if EGL else [],
    libraries=["dl", "pthread", "m"] if EGL else [],
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
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
