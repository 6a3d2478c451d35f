# SPDX-License-Identifier: MIT
"""Use the installed C library as docs/c-library.md says, and compare its results with the module's.

python tests/check/c_library.py PREFIX PROGRAM...

Builds docs/examples/c against PREFIX by CMake and by pkg-config, with the shared and the static
library, from C and from C++; PROGRAMs are the same examples, built otherwise.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import mmdskin
import numpy as np
from sample import model as sample
from sample import motion as sample_motion

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs" / "examples" / "c"
FRAME = 40.5
FRAMES = range(3, 6)
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]


def run(*command, **options):
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=300, **options
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def check_files(prefix):
    version = mmdskin.__version__
    expected = {
        "include/mmdskin.h",
        "lib/libmmdskin.a",
        "lib/libmmdskin.so",
        f"lib/libmmdskin.so.{version.rpartition('.')[0]}",
        f"lib/libmmdskin.so.{version}",
        "lib/pkgconfig/mmdskin.pc",
        "lib/cmake/mmdskin/mmdskinConfig.cmake",
        "lib/cmake/mmdskin/mmdskinConfigVersion.cmake",
        "share/licenses/mmdskin/LICENSE",
        "share/licenses/mmdskin/cglm.txt",
    }
    found = {str(path.relative_to(prefix)) for path in prefix.rglob("*") if not path.is_dir()}
    found.discard("ready")
    if found != expected:
        raise SystemExit(f"{prefix}: {sorted(found ^ expected)} are missing or too many")


def check_symbols(prefix):
    """The shared library exports exactly the functions of its header."""
    header = (prefix / "include" / "mmdskin.h").read_text()
    header = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    declared = set(re.findall(r"\b(mmd_\w+)\((?=[^;{]*\);)", header))
    lines = run("nm", "--dynamic", "--defined-only", prefix / "lib" / "libmmdskin.so").splitlines()
    exported = {line.split()[-1] for line in lines}
    if declared != exported or len(declared) < 50:
        raise SystemExit(f"exported or declared, not both: {sorted(declared ^ exported)}")
    print(f"libmmdskin.so exports the {len(declared)} functions of its header")


def check_needs():
    """It is built without Python packages and without what is downloaded for the module."""
    steps = run("make", "--dry-run", "--always-make", "library", cwd=ROOT)
    wanted = re.findall("pip |setup.sh|setup.py|third_party.py", steps)
    if wanted or "constraint_solver.o" not in steps:
        raise SystemExit(f"make library would run {wanted}")


def by_pkg_config(prefix, folder):
    env = os.environ | {"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
    flags = shlex.split(run("pkg-config", "--cflags", "--libs", "mmdskin", env=env))
    for name in ("pose", "simulate"):
        source = EXAMPLES / f"{name}.c"
        rpath = f"-Wl,-rpath,{prefix / 'lib'}"
        c, static = folder / f"{name}-shared", folder / f"{name}-static-c++"
        run("gcc", "-std=c11", *STRICT, source, *flags, rpath, "-o", c, cwd=folder)
        archive = [prefix / "lib" / "libmmdskin.a", "-lm", "-pthread"]
        include = f"-I{prefix / 'include'}"
        cxx = ["g++", "-std=c++11", *STRICT, "-Wno-missing-field-initializers", include]
        run(*cxx, "-xc++", source, "-xnone", *archive, "-o", static)
        yield from (c, static)


def by_cmake(prefix, folder):
    """A project that finds the package; one that asks for another minor version does not."""
    run("cmake", "-S", EXAMPLES, "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", folder)
    other = folder / "other"
    other.mkdir()
    (other / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(other C)\n"
        "find_package(mmdskin 0.1)\n"
        "if(mmdskin_FOUND)\n  message(FATAL_ERROR found)\nendif()\n"
        "find_package(mmdskin REQUIRED)\n"
        "file(WRITE ${CMAKE_BINARY_DIR}/main.c\n"
        "  [[#include <mmdskin.h>\nint main(void)\n"
        "  { return mmd_version_number() != MMDSKIN_VERSION_NUMBER; }]])\n"
        "add_executable(other ${CMAKE_BINARY_DIR}/main.c)\n"
        "target_link_libraries(other mmdskin::static)\n"
    )
    run("cmake", "-S", other, "-B", other / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", other / "build")
    run(other / "build" / "other")
    return folder / "pose", folder / "simulate"


def expected_bones(model, motion):
    pose = model.pose(motion, list(FRAMES), physics=mmdskin.Physics(hz=120))
    rest = np.array([[*bone.position, 1] for bone in model.bones], np.float32)
    return np.einsum("fbij,bj->fbi", pose.bone_matrices[:, :, :3], rest)


def check(program, files, model, motion):
    if "pose" in program.name:
        lines = run(program, *files, FRAME).splitlines()
        found = [line.split()[1:] for line in lines if line.startswith("v ")]
        expected = mmdskin.skin(model, model.pose(motion, FRAME), backend="cpu").positions
        same = np.array_equal(np.array(found, np.float32), expected)
    else:
        lines = run(program, *files, FRAMES[0], FRAMES[-1]).splitlines()
        found = np.array([line.split("\t")[2:] for line in lines], float)
        expected = expected_bones(model, motion).reshape(-1, 3)
        same = found.shape == expected.shape and np.abs(found - expected).max() < 1e-5
    if not same:
        raise SystemExit(f"{program}: its results differ from the module's")
    print(f"{program.name}: {len(found)} positions, the same as the module's")


def main(prefix, programs):
    check_files(prefix)
    check_symbols(prefix)
    check_needs()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        files = [folder / "sample.pmx", folder / "sample.vmd"]
        files[0].write_bytes(sample.build_sample())
        files[1].write_bytes(sample_motion.build_motion())
        model, motion = mmdskin.load_model(files[0]), mmdskin.load_motion(files[1])
        if not model.rigid_bodies:
            raise SystemExit("the sample model has no physics")
        (folder / "cmake").mkdir()
        spaced = folder / "a prefix"
        run("make", "install", f"PREFIX={spaced}", cwd=ROOT)
        check_files(spaced)
        programs += [*by_pkg_config(spaced, folder), *by_cmake(prefix, folder / "cmake")]
        for program in programs:
            check(program, files, model, motion)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), list(map(Path, sys.argv[2:])))
