# SPDX-License-Identifier: MIT
"""The docstrings of the type stub as a C header, with the signatures that help() shows: the macro
MMD_DOC_Model_pose is that of Model.pose()."""

import ast
import json
from pathlib import Path

STUB = Path("csrc/mmdskin/__init__.pyi")
FIRST = {"self": "$self", "cls": "$type"}


def header():
    body = ast.parse(STUB.read_text("utf-8")).body
    return "/* Generated from the type stub by setup.py. */\n" + "".join(macros(body, ""))


def macros(body, owner):
    """One for each docstring; of overloads the last is the general one."""
    for name, nodes in by_name(body).items():
        text = ast.get_docstring(next((node for node in nodes if is_property(node)), nodes[-1]))
        if text:
            lines = (heading(name, nodes, "" if owner else "$module") + text).splitlines(
                keepends=True
            )
            literals = (json.dumps(line, ensure_ascii=False) for line in lines)
            yield f"\n#define MMD_DOC_{owner}{name} " + " \\\n    ".join(literals) + "\n"
        if isinstance(nodes[0], ast.ClassDef):
            yield from macros(nodes[0].body, f"{name}_")


def by_name(body):
    found = {}
    for node in body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            found.setdefault(node.name, []).append(node)
    return found


def is_property(node):
    return any(ast.unparse(one) == "property" for one in node.decorator_list)


def heading(name, nodes, module):
    """What Python takes for the signature of a function or class."""
    if isinstance(nodes[0], ast.ClassDef):
        new = by_name(nodes[0].body).get("__new__")
        return f"{name}({', '.join(parameters(new, '')) if new else ''})\n--\n\n"
    if is_property(nodes[0]):
        return ""
    first = module or FIRST[all_positional(nodes[0])[0].arg]
    return f"{name}({', '.join(parameters(nodes, first))})\n--\n\n"


def all_positional(node):
    return [*node.args.posonlyargs, *node.args.args]


def parameters(nodes, first):
    """Those of the last overload, with the defaults that they have in any."""
    defaults = {}
    for node in nodes:
        given = [*zip(reversed(all_positional(node)), reversed(node.args.defaults), strict=False)]
        given += zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        defaults |= {one.arg: f"={ast.unparse(value)}" for one, value in given if value}

    def named(arguments):
        return [one.arg + defaults.get(one.arg, "") for one in arguments if one.arg not in FIRST]

    last = nodes[-1].args
    before = [first] * bool(first) + named(last.posonlyargs)
    keywords = named(last.kwonlyargs)
    others = [f"**{last.kwarg.arg}"] if last.kwarg else []
    return [
        *before,
        *["/"] * bool(before),
        *named(last.args),
        *["*"] * bool(keywords),
        *keywords,
        *others,
    ]
