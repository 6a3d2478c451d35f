# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages of the add-on: each knows only those below it, and what others call is annotated.

Read from the sources, without Blender.
"""

import ast
import graphlib
import pathlib

ADDON = pathlib.Path(__file__).resolve().parents[2] / "addon"
FILES = [path for path in sorted(ADDON.rglob("*.py")) if path.name not in {"package.py"}]
TOP = ADDON / "__init__.py"
LAYERS = ("languages", "blender", "scene", "pose", "operator_base")  # each knows those before it
# Features know all layers, and of each other what a line says.
FEATURES = {
    "mmd_look": set(),
    "mirror": set(),
    "import_model": {"mmd_look", "preview"},
    "rename": set(),
    "physics": set(),
    "preview": {"physics"},
    "attach": {"physics", "preview"},
    "restore": {"preview"},
    "import_motion": {"physics", "preview"},
    "bake": {"physics", "preview"},
    "export": {"bake", "preview"},
    "export_motion": {"import_motion", "physics"},
    "retarget": {"export_motion", "import_motion"},
}
KNOWS = {layer: set(LAYERS[:number]) for number, layer in enumerate(LAYERS)}
KNOWS |= {feature: {*LAYERS, *others} for feature, others in FEATURES.items()}
KNOWS["ui"] = set(KNOWS)


def package(path):
    """A folder, or a module beside the folders."""
    return path.relative_to(ADDON).parts[0].removesuffix(".py")


def imported(path):
    """The files of the add-on that a file imports, and how it names them."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
            for alias in node.names:
                files = (
                    base / f"{alias.name}.py",
                    base / alias.name / "__init__.py",
                    base.with_suffix(".py"),
                    base / "__init__.py",
                )
                yield next(file for file in files if file.exists())


def functions(path):
    """{name: node} of the functions at the top of a file."""
    tree = ast.parse(path.read_text("utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def called(path):
    """(file, function) of what a file takes from modules of other folders, or of the top."""
    tree = ast.parse(path.read_text("utf-8"))
    modules = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
            for alias in node.names:
                for file in (base / f"{alias.name}.py", base / alias.name / "__init__.py"):
                    if file.exists():
                        modules[alias.asname or alias.name] = file
                if base.with_suffix(".py").exists():
                    yield base.with_suffix(".py"), alias.name
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            file = modules.get(node.value.id)
            if file:
                yield file, node.attr


def is_annotated(node):
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    arguments += [one for one in (node.args.vararg, node.args.kwarg) if one]
    return node.returns is not None and all(one.annotation for one in arguments)


def test_functions_called_by_other_packages_are_annotated():
    checked, bare = 0, set()
    for path in FILES:
        for file, name in called(path):
            node = functions(file).get(name)
            if node is None or (file.parent == path.parent and file.parent != ADDON):
                continue
            if name not in {"register", "unregister"}:
                checked += 1
                if not is_annotated(node):
                    bare.add(f"{file.relative_to(ADDON)}: {name}")
    assert checked > 100
    assert not bare, sorted(bare)


def test_every_module_is_in_a_package():
    assert {package(path) for path in FILES if path != TOP} == KNOWS.keys()


def test_packages_know_only_those_below_them():
    met = {feature: set() for feature in FEATURES}
    up = []
    for path in FILES:
        for file in imported(path) if path != TOP else ():
            if file == TOP or package(file) not in {package(path), *KNOWS[package(path)]}:
                up.append(f"{path.relative_to(ADDON)} imports {file.relative_to(ADDON)}")
            if package(path) in FEATURES:
                met[package(path)] |= {package(file)} & (FEATURES.keys() - {package(path)})
    assert not up, up
    assert met == FEATURES


def test_no_circle():
    # CycleError names it.
    graphlib.TopologicalSorter(KNOWS).prepare()
    graphlib.TopologicalSorter({path: {*imported(path)} - {path} for path in FILES}).prepare()
