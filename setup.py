# SPDX-License-Identifier: MIT
"""Builds the package and its one extension module; everything declarative is in pyproject.toml.

MMDSKIN_PLATFORM names another platform to build for (csrc/platforms/cross.py); MMDSKIN_WERROR=1
makes warnings errors; WEBSITE is the address of the repository, for links from a package index.
"""

import gzip
import os
import re
import shutil
import sys
import sysconfig
import tarfile
from pathlib import Path

from setuptools import Command, Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

sys.path.insert(0, "csrc/platforms")
import cross
import docstrings
import third_party

PLATFORM = cross.chosen()
if PLATFORM:  # the times in the wheel: the same bytes whenever it is built
    os.environ.setdefault("SOURCE_DATE_EPOCH", "1577836800")
# Such a Python has no stable interface: its module is for this version alone.
FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
# Where OpenGL contexts come from.
GL = PLATFORM.system.gl if PLATFORM else "egl" if sys.platform == "linux" else "none"
GL_SOURCES = [f"csrc/gl/{GL}/*.c", *([] if GL == "none" else ["csrc/gl/*.c"])]
GENERATED = Path("build/generated")
WEBSITE = os.environ.get("WEBSITE", "").rstrip("/")


def files(*patterns):
    return sorted(path.as_posix() for pattern in patterns for path in Path().glob(pattern))


def flags(*names):
    """Flags of csrc/platforms/flags.mk."""
    text = Path("csrc/platforms/flags.mk").read_text("utf-8")
    lines = dict(re.findall(r"^(\w+) := (.*)$", text, re.MULTILINE))
    return [flag for name in names for flag in lines[name].split()]


def generate(name, text):
    """Write a header unless it is there: other compilers may be reading it."""
    path = GENERATED / name
    if not path.is_file() or path.read_text("utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def c_string(text):
    """The text as C string literals, one per line of it."""
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in text.splitlines())
    return "\n".join(f'    "{line}\\n"' for line in escaped)


def readme():
    """README.md; with WEBSITE, its links and pictures are absolute, as package indexes need them."""
    text = Path("README.md").read_text("utf-8")
    if not WEBSITE:
        return text
    version = re.search(r'^version = "(.+)"$', Path("pyproject.toml").read_text("utf-8"), re.M)[1]

    def absolute(link):
        kind = "raw" if link[1].startswith("!") else "blob"
        return f"{link[1]}({WEBSITE}/{kind}/v{version}/{link[2]})"

    text = text.replace("](../../", f"]({WEBSITE}/")
    return re.sub(r"(!?\[[^\[\]]*\])\((?!https?:|#)([^)]+)\)", absolute, text)


class EmbedTexts(Command):
    """Writes shaders/skin.comp and the like as `static const char mmd_shader_skin_comp[]`, and the
    docstrings of the stub as macros."""

    description = "write the shaders and the docstrings as C headers"
    user_options = []

    def initialize_options(self):
        pass

    def finalize_options(self):
        pass

    def run(self):
        parts = ["/* Generated from shaders/ by setup.py. */"]
        for path in map(Path, files("shaders/*.*")):
            name = "mmd_shader_" + path.name.replace(".", "_")
            text = c_string(path.read_text(encoding="utf-8"))
            parts.append(f"static const char {name}[] =\n{text};")
        generate("shaders.h", "\n\n".join(parts) + "\n")
        generate("docstrings.h", docstrings.header())


class BuildModule(build_ext):
    def get_ext_filename(self, fullname):
        if not PLATFORM:
            return super().get_ext_filename(fullname)
        name = PLATFORM.system.module
        return os.path.join(
            *fullname.split(".")[:-1], name.replace(".abi3", "") if FREE_THREADED else name
        )

    def get_libraries(self, ext):
        """On Windows setuptools adds the library of this very Python, which no wheel may need."""
        return ext.libraries if PLATFORM else super().get_libraries(ext)

    def build_extensions(self):
        import numpy

        self.run_command("embed_texts")
        third_party.gather()
        for extension in self.extensions:
            if PLATFORM:
                cross.prepare(self.compiler, PLATFORM, Path(self.build_temp))
            else:
                extension.include_dirs.append(numpy.get_include())
        super().build_extensions()


class Complete(sdist):
    """A source distribution builds without a network, as it carries GLEW's source, cglm and EGL; its
    tests and documentation come along, but the add-on, under its own license, does not.
    """

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        third_party.gather()
        shutil.copytree(third_party.FOLDER, Path(base_dir) / third_party.CARRIED)
        unneeded = shutil.ignore_patterns("__pycache__", "blender", "bench")
        for folder in ("docs", "tests"):
            shutil.copytree(folder, Path(base_dir) / folder, ignore=unneeded, dirs_exist_ok=True)
        shutil.copy("CITATION.cff", base_dir)

    def make_archive(self, base_name, format, root_dir=None, base_dir=None, **owner):
        """The same files give the same bytes, so that their hash is known before the upload."""

        def plain(info):
            info.mtime, info.uid, info.gid, info.uname, info.gname = 1577836800, 0, 0, "", ""
            info.mode = 0o755 if info.isdir() or info.mode & 0o100 else 0o644
            return info

        path = Path(f"{base_name}.tar.gz")
        path.parent.mkdir(parents=True, exist_ok=True)
        with (
            path.open("wb") as file,
            gzip.GzipFile("", "wb", 9, file, mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            for item in [Path(base_dir), *sorted(Path(base_dir).rglob("*"))]:
                archive.add(item, recursive=False, filter=plain)
        return str(path)


def options():
    """One wheel for every Python; a wheel for another platform is built apart from our own."""
    stable = {"py_limited_api": f"cp{cross.PYTHON[0]}{cross.PYTHON[1]}"}
    wheel = {} if FREE_THREADED else stable
    if not PLATFORM:
        return {"bdist_wheel": wheel}
    folder = Path("build/cross", PLATFORM.name)
    folder.mkdir(parents=True, exist_ok=True)
    return {
        "build": {"build_base": str(folder)},
        "build_ext": {"compiler": "unix"},
        "bdist_wheel": wheel | {"plat_name": PLATFORM.tag, "bdist_dir": str(folder / "wheel")},
        "egg_info": {"egg_base": str(folder)},
    }


def python_flags():
    if not FREE_THREADED:
        return flags("PYTHON_FLAGS")
    others = [flag for flag in flags("PYTHON_FLAGS") if not flag.startswith("-DPy_LIMITED_API")]
    return [*others, "-DPy_GIL_DISABLED=1"]


WERROR = ["-Werror"] if os.environ.get("MMDSKIN_WERROR") == "1" else []
mmdskin = Extension(
    "mmdskin._mmdskin",
    sources=files("csrc/core/*/*.c", "csrc/python/*.c", *GL_SOURCES),
    depends=files(
        *("csrc/*.h", "csrc/*/*.h", "csrc/core/*/*.h"),
        *("csrc/platforms/*.*", "csrc/mmdskin/*.pyi", "shaders/*"),
    ),
    extra_compile_args=[
        *flags("LANGUAGE_FLAGS", "RELEASE_FLAGS", "HARDENING_FLAGS", "WARNING_FLAGS"),
        *flags("INCLUDE_FLAGS"),
        *python_flags(),
        "-g0",
        *WERROR,
    ],
    # Addresses of functions are read-only once the module is loaded; zig's linker does so by itself.
    extra_link_args=["-Wl,-z,relro,-z,now"] if sys.platform == "linux" and not PLATFORM else [],
    libraries=["dl", "pthread", "m"] if GL == "egl" else [],
    py_limited_api=not FREE_THREADED,
)

setup(
    long_description=readme(),
    long_description_content_type="text/markdown",
    project_urls={
        name: WEBSITE + path
        for name, path in {
            "Homepage": "",
            "Documentation": "/tree/main/docs",
            "Changelog": "/blob/main/docs/CHANGELOG.md",
            "Issues": "/issues",
        }.items()
        if WEBSITE
    },
    ext_modules=[mmdskin],
    packages=["mmdskin", "mmdskin.retargeting"],
    package_dir={"mmdskin": "csrc/mmdskin"},
    package_data={"mmdskin": ["*.pyi", "py.typed", "dancer.npz"], "mmdskin.retargeting": ["*.txt"]},
    cmdclass={
        "build_ext": BuildModule,
        "embed_texts": EmbedTexts,
        "sdist": Complete,
    },
    options=options(),
)
