# SPDX-License-Identifier: GPL-3.0-or-later
"""Rooms of the add-on: what others call is annotated. Read from the sources, without Blender."""

import ast
import pathlib

ADDON = pathlib.Path(__file__).resolve().parents[2] / "addon"
FILES = [path for path in sorted(ADDON.rglob("*.py")) if path.name not in {"package.py"}]


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


def test_what_other_rooms_call_is_annotated():
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
