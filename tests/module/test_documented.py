# SPDX-License-Identifier: MIT
"""Every public name has a docstring and a signature, and the stub has the same parameters."""

import ast
import inspect
import operator
import re

import mmdskin
import pytest
from conftest import ROOT


def public_names():
    return [name for name in dir(mmdskin) if not name.startswith("_")]


@pytest.mark.parametrize("name", public_names())
def test_every_public_name_has_a_docstring(name):
    assert getattr(mmdskin, name).__doc__


@pytest.mark.parametrize("name", ["Model", "Motion", "Simulation", "Skeleton", "World"])
def test_every_attribute_of_our_classes_has_a_docstring(name):
    members = {k: v for k, v in vars(getattr(mmdskin, name)).items() if not k.startswith("_")}
    assert members
    assert [member for member, value in members.items() if not value.__doc__] == []


def test_the_docstring_of_format_error_describes_its_attributes():
    """They are plain ones, which have no docstrings."""
    error = mmdskin.FormatError
    attributes = [name for name in vars(error) if not name.startswith("_")]
    assert set(attributes) >= {"offset", "section"}
    assert [name for name in attributes if f"{name}:" not in error.__doc__] == []


def test_the_documented_names_exist():
    names = (
        "load_model skin Mesh Model Skinned Pose Backend backends shutdown FormatError BackendError"
    )
    assert set(names.split()) <= set(public_names())


def test_the_module_s_help_begins_with_a_page_that_runs(tmp_path, monkeypatch, gl):
    """On one screen: what it is, the calls that everybody needs, and where more is."""
    lines = mmdskin.__doc__.splitlines()
    assert len(lines) <= 30 and max(map(len, lines)) <= 92
    sample = mmdskin.sample()
    sample.model.save(tmp_path / "dancer.pmx")
    sample.motion.save(tmp_path / "dancer.vmd")
    monkeypatch.chdir(tmp_path)
    code = "\n".join(line[4:] for line in lines if line.startswith("    ") or not line)
    exec(code, {})
    assert (tmp_path / "frame.png").stat().st_size > 1000
    more = re.search(r"^More: (.*?)\n\n", mmdskin.__doc__, re.DOTALL | re.MULTILINE)[1]
    names = re.findall(r"[A-Za-z_.]+[A-Za-z_]", re.sub(r"\([^)]*\)|\band\b", "", more))
    assert "framing" in names and "Motion.from_poses" in names
    for name in names:
        assert operator.attrgetter(name)(mmdskin), name


def test_every_overload_in_the_stub_has_the_parameters_of_its_function():
    stubs = ast.parse((ROOT / "csrc/mmdskin/__init__.pyi").read_text(encoding="utf-8"))
    model = next(node for node in stubs.body if getattr(node, "name", "") == "Model")
    overloads = [
        node
        for node in model.body
        if getattr(node, "decorator_list", ()) and ast.unparse(node.decorator_list[0]) == "overload"
    ]
    assert overloads
    for node in overloads:
        parameters = inspect.signature(getattr(mmdskin.Model, node.name)).parameters
        assert [arg.arg for arg in node.args.args + node.args.kwonlyargs] == list(parameters)


def documented(body, owner):
    """(object, docstring) of what has one in the stub."""
    for node in body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and hasattr(owner, node.name):
            text, found = ast.get_docstring(node), getattr(owner, node.name)
            if text:
                yield found, text
            if isinstance(node, ast.ClassDef):
                yield from documented(node.body, found)


def test_docstrings_of_the_stub_are_those_of_the_module():
    """The build embeds them in C: one that no table of members names would be seen by editors only."""
    stubs = ast.parse((ROOT / "csrc/mmdskin/__init__.pyi").read_text(encoding="utf-8"))
    found = list(documented(stubs.body, mmdskin))
    assert len(found) > 100
    assert [text for one, text in found if inspect.getdoc(one) != text] == []


def test_every_function_and_class_has_a_signature():
    """For help() and editors; a default that Python cannot parse would hide the signature."""
    classes = [mmdskin.Model, mmdskin.Motion, mmdskin.Mesh, mmdskin.World, mmdskin.Simulation]
    classes.append(mmdskin.Skeleton)
    functions = [mmdskin.skin, mmdskin.render, mmdskin.load_model, mmdskin.backends]
    functions += [mmdskin.retarget, mmdskin.load_bvh, mmdskin.load_gltf]
    methods = [
        method
        for cls in classes
        for name, method in inspect.getmembers(cls, callable)
        if not name.startswith("_")
    ]
    assert mmdskin.Simulation.step in methods
    for one in (*classes, *functions, *methods):
        inspect.signature(one)
