# SPDX-License-Identifier: MIT
"""The reference of the API: signatures from the type stub and the records, texts from docstrings."""

import ast
import inspect
import re
from pathlib import Path

import mmdskin

PACKAGE = Path(__file__).resolve().parents[2] / "csrc/mmdskin"
STUB = PACKAGE / "__init__.pyi"
_LONGEST = 90  # of a private type that is shown by what it means
_ARGUMENT = re.compile(r"^(\w+(?:, \w+)*): (.*)")


def pages():
    """All public functions and types as MyST, with reStructuredText in blocks."""
    functions, types, records, errors = [], [], [], []
    for name, nodes in definitions().items():
        if isinstance(nodes[0], ast.FunctionDef):
            functions += function("function", name, nodes, getattr(mmdskin, name))
        elif issubclass(getattr(mmdskin, name), Exception):
            errors += type_of("exception", name, nodes[0])
        elif is_record(nodes[0]):
            records += type_of("class", name, nodes[0])
        else:
            types += type_of("class", name, nodes[0])
    sections = {"Functions": functions, "Types": types, "Records": records, "Errors": errors}
    return "\n".join(
        f"## {title}\n\n```{{eval-rst}}\n" + "\n".join(lines) + "\n```\n"
        for title, lines in sections.items()
    )


def definitions():
    """{public name: its definitions}, of the stub and of the modules that it imports names from."""
    stub = ast.parse(STUB.read_text("utf-8"))
    public, found = Public(), {}
    own = by_name(public.visit(stub).body)
    for node in stub.body:
        if isinstance(node, ast.ImportFrom) and node.module.startswith("mmdskin."):
            path = PACKAGE.parent / f"{node.module.replace('.', '/')}.py"
            names = by_name(public.visit(ast.parse(path.read_text("utf-8"))).body)
            found |= {alias.name: names[alias.name] for alias in node.names}
    return own | {name: nodes for name, nodes in found.items() if name not in own}


class Public(ast.NodeTransformer):
    """Replaces the stub's private types by what they mean, or by their name if that is long."""

    def __init__(self):
        self.meanings = {}

    def visit_Assign(self, node):
        self.generic_visit(node)
        name, value = node.targets[0], node.value
        is_type = isinstance(name, ast.Name) and not isinstance(value, ast.Call)  # of TypeVar
        if is_type and len(ast.unparse(value)) < _LONGEST:
            self.meanings[name.id] = value
        return node

    def visit_Attribute(self, node):
        self.generic_visit(node)
        is_ours = isinstance(node.value, ast.Name) and node.value.id == "mmdskin"
        return ast.Name(node.attr, node.ctx) if is_ours else node

    def visit_Name(self, node):
        if not node.id.startswith("_"):
            return node
        return self.meanings.get(node.id, ast.Name(node.id.lstrip("_"), node.ctx))


def by_name(body):
    """{public name: its definitions}, more than one if it is overloaded."""
    found = {}
    for node in body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_"):
            found.setdefault(node.name, []).append(node)
    return found


def is_record(node):
    return any("NamedTuple" in ast.unparse(base) for base in node.bases)


def type_of(kind, name, node):
    value, members = getattr(mmdskin, name), by_name(node.body)
    new = [one for one in node.body if getattr(one, "name", "") in ("__new__", "__init__")]
    lines = function(kind, name, new, value) if new else [f".. py:{kind}:: {name}", ""]
    if not new:
        lines += indented(text_of(value))
    for field in node.body:
        if isinstance(field, ast.AnnAssign):
            lines += indented(attribute(field.target.id, field.annotation, value))
    for member, nodes in members.items():
        described = getattr(value, member)
        decorators = {ast.unparse(one) for one in nodes[0].decorator_list}
        if "property" in decorators:
            lines += indented(attribute(member, nodes[0].returns, value))
        else:
            static = decorators & {"staticmethod", "classmethod"}
            directive = "staticmethod" if static else "method"
            lines += indented(function(directive, member, nodes, described))
    return lines


def attribute(name, annotation, owner):
    text = text_of(getattr(owner, name, None))
    if text[:1] and text[0].startswith("Alias for field"):
        text = []
    return [
        f".. py:attribute:: {name}",
        f"   :type: {ast.unparse(annotation)}",
        "",
        *indented(text),
    ]


def function(kind, name, nodes, value):
    # The last overload is the general one.
    return [f".. py:{kind}:: {signature(name, nodes[-1], kind)}", "", *indented(text_of(value))]


def signature(name, node, kind):
    arguments = node.args
    for some in (arguments.posonlyargs, arguments.args):
        if some and some[0].arg in ("self", "cls"):
            some.pop(0)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns and kind != "class" else ""
    return f"{name}({ast.unparse(arguments)}){returns}"


def text_of(value):
    """A docstring as reStructuredText: what is told of an argument becomes a list of definitions."""
    lines, is_code = [], False
    for raw in (inspect.getdoc(value) or "").splitlines():
        line = re.sub(r"([*`|]|(?<=\w)_(?!\w))", r"\\\1", raw)
        found = _ARGUMENT.match(line)
        if found:
            if lines and lines[-1] and not lines[-1].startswith(" "):
                lines.append("")
            lines += [", ".join(f"``{one}``" for one in found[1].split(", ")), "   " + found[2]]
        elif line.startswith("    "):
            if lines and not lines[-1]:
                lines += [".. code-block:: python", ""]
                is_code = True
            lines.append("   " + (raw if is_code else line)[4:])
        else:
            if line and lines and lines[-1].startswith(" "):
                lines.append("")
            lines.append(line)
            is_code = is_code and not line
    return [*lines, ""] if lines else []


def indented(lines):
    return ["   " + line if line else "" for line in lines]
