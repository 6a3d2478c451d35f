"""The sources: names that tell their file, and modules that use only modules below them."""

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2] / "csrc"
FILES = sorted(
    path
    for path in ROOT.rglob("*.[ch]")
    if "platforms" not in path.parts and path.name not in {"mmdskin.h", "glew.c"}
)

# Modules of the core and the modules that each may include (docs/architecture.md).
MODULES = {
    "base": set(),
    "math": {"base"},
    "model": {"base", "math"},
    "formats": {"base", "math", "model"},
    "pose": {"base", "math", "model"},
    "skin": {"base", "math", "model"},
    "render": {"base", "math", "model"},
    "physics": {"base", "math", "model", "pose"},
    "fit": {"base", "math", "model", "formats", "pose", "skin"},
}
CORE = set(MODULES)
MODULES["gl"] = CORE
MODULES["python"] = CORE | {"gl"}

# Names that do not begin with the first word of their file.
OTHER_NAMES = {
    "error": {"fail", "numbers"},  # verbs: return mmd_fail(err, ...); what checks them
    "threads": {"mutex", "condition"},  # as C11's threads.h
    "scalar": {"clamp", "unwrap", "portable"},
    "vec3": {"double2", "simd"},  # vectors in registers
    "quat": {"slerp"},
    # What the types use of each other, each in a file of its own.
    "types": {"fit", "model", "mesh", "motion", "simulation", "object", "module", "poser"},
    "state": {"record", "type"},  # the state lists the classes
    "render": {"look", "ground"},  # what a job chooses
    "constraint_solver": {"delta"},  # the velocities that rows change
    "mesh": {"skin", "vertex"},  # which formula skins a vertex, and vertices in blocks
    "simulation_parts": {"bone", "pose", "notes"},  # what a model of a simulation has
    "body": {"shape"},  # of a body
    "collide": {"convex"},  # of a pair that has no closed form
    "sampling": {"binding"},  # by which tracks are sampled
    "pose": {"bone"},  # in the spaces of other programs
    "joint_constraint": {"islands"},  # that joints and contacts make of bodies
    "fit": {"curve", "key", "mesh", "inverse", "camera", "motion"},  # each in its file
    "cpu": {"stream"},  # stores past its caches
    "pose_state": {"ik"},  # solves on this state
    "formats": {"pmx", "pmd", "vmd", "vpd", "motion"},
    "pose_io": {"bone", "skin", "model"},  # what else has poses as arguments
    "simulation_type": {"physics"},  # its settings
}
# Functions that are defined apart from the others of their type or format.
OTHER_FILES = {
    "error": {"version"},  # of the library
    "load": {"model", "motion"},  # by the format of a file
    "camera": {"light", "shadow"},  # the part of a motion that files of cameras have
    "module": {"state"},  # of all types, by what only the module knows
}
EXCEPTIONS = [*OTHER_NAMES.items(), *OTHER_FILES.items()]


def module_of(path):
    parts = path.relative_to(ROOT).parts
    return parts[1] if parts[0] == "core" else parts[0]


def top_level(text):
    """The text outside of braces, comments and preprocessor lines."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"^\s*#(?:.*\\\n)*.*$", "", text, flags=re.M)
    text = re.sub(r"'[^'\n]'", "0", re.sub(r'"(?:\\.|[^"\\])*"', '""', text))
    depth, kept = 0, []
    for part in re.split(r"([{}])", text):
        depth -= part == "}"
        if depth == 0:
            kept.append(part)
        depth += part == "{"
    return "".join(kept)


def defined_names(path):
    """Types and functions that a file declares for others: `mmd_` and what follows."""
    text = top_level(path.read_text("utf-8"))
    names = set(
        re.findall(r"\b(mmd_\w+)\s*(?:\[\w*\])?;", "".join(re.findall(r"typedef[^;]*;", text)))
    )
    text = re.sub(r"typedef[^;]*;", "", text)
    text = re.sub(r"^(?:static (?!inline)|enum|struct\b[^(]*;).*$", "", text, flags=re.M)
    return names | set(re.findall(r"\b(mmd_\w+)\((?!\*)", text))


def word(name, prefix):
    return name.removeprefix(prefix).split("_")[0]


def same(a, b):
    """Whether two words are one, apart from plural and from what a person makes of it: poser."""
    return a == b or a.removesuffix("s") == b.removesuffix("s") or a == b + "r"


def test_names_begin_with_the_first_word_of_their_file():
    wrong, unused = [], {(stem, other) for stem, others in EXCEPTIONS for other in others}
    for path in FILES:
        prefix = {"python": "mmd_py_", "gl": "mmd_gl_"}.get(module_of(path), "mmd_")
        first = word(path.stem.removeprefix("gl_"), "")
        own = OTHER_NAMES.get(path.stem, set()) | OTHER_FILES.get(path.stem, set())
        for name in defined_names(path):
            if module_of(path) == "gl" and name.startswith(prefix):
                continue
            found = word(name, prefix)
            unused.discard((path.stem, found))
            if not (name.startswith(prefix) and (same(found, first) or found in own)):
                wrong.append(f"{path.relative_to(ROOT)}: {name}")
    assert not wrong, "\n".join(sorted(wrong))
    assert not unused


def test_no_two_files_share_a_name():
    stems = [(path.stem, path.suffix) for path in FILES]
    assert len(stems) == len(set(stems))


def test_modules_include_only_modules_below_them():
    wrong = []
    for path in FILES:
        for included in re.findall(r'#include "(core/\w+|gl|python)/', path.read_text("utf-8")):
            other = included.removeprefix("core/")
            if other != module_of(path) and other not in MODULES[module_of(path)]:
                wrong.append(f"{path.relative_to(ROOT)} includes {included}")
    assert not wrong, "\n".join(sorted(wrong))


def imported(path):
    """The modules that a Python file imports."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


def test_the_package_needs_the_standard_library_and_numpy_only():
    allowed = {"mmdskin", "numpy", *sys.stdlib_module_names}
    files = sorted((ROOT / "mmdskin").rglob("*.py"))
    # The extras: Pillow reads textures; without it, load_textures() fails, and the command line draws
    # none. PyAV writes videos.
    optional = {("texture_files.py", "PIL"), ("video_file.py", "av")}
    used = {(path.name, name.split(".")[0]) for path in files for name in imported(path)}
    assert used and {name for _, name in used - optional} <= allowed
