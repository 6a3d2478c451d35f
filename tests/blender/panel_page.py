# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/panel.md, made from what Blender registers: the panels with their settings and operators.

Operators are those that the code of a panel names, settings those that it draws for a model in any state.
"""

import inspect
import itertools
import re
import sys
from unittest import mock

import bpy
import cases_panel

HEAD = """<!-- SPDX-License-Identifier: MIT -->
<!-- Made by tests/blender/panel_page.py from the add-on: see the case cases_panel_page. -->
# The panel

All settings and operators of the **MMD** tab in the sidebar (N), by panel. Operators act on the models of the active
and the selected objects; they are in *Object › MMD Skin*, too, and in Blender's search (F3). Some appear only where
they can act, such as **Keep** after a playback.
"""
STATES = [
    {"physics": True, "deformation": "BULGE_COMPENSATED"},
    *({"source": source} for source in ("ARMATURE", "IK", "MOTION", "RIG")),
    {"target": "CORRECTIVE", "range": "CUSTOM"},
    {"target": "MESH_CACHE"},
    {"target": "SHAPE_KEYS"},
]
_OPERATOR = re.compile(r'MMDSKIN_OT_(\w+)|"mmdskin\.(\w+)"')
_HELPER = re.compile(r"\b(_[a-z]\w*)\(")


def text(settings):
    """The page; `settings` are those of the active model, and change."""
    ui = sys.modules["addon_package"].ui
    drawn, described = {}, set()
    for state in STATES:
        for name, value in state.items():
            setattr(settings, name, value)
        for kind in panels_of(ui):
            found = drawn.setdefault(kind, {})
            with mock.patch.object(ui.panels.look, "is_on", return_value=True):
                shown = cases_panel.drawn_by([kind])
            found |= {one[1:]: None for one in shown if isinstance(one, str) and one[:1] == "."}
    lines = [HEAD]
    for kind in panels_of(ui):
        lines += ["#" * (2 + depth(kind)) + f" {kind.bl_label}", ""]
        if hasattr(kind, "draw_header"):
            lines += [line("physics", settings), ""]
        names = [name for name in drawn[kind] if name in settings.bl_rna.properties]
        lines += itertools.chain.from_iterable(setting(name, settings) for name in names)
        for name in operators_of(kind):
            found = operator(name)
            lines += found[:1] if name in described else found
            described.add(name)
        lines.append("")
    return "\n".join(lines).replace("\n\n\n", "\n\n").rstrip() + "\n"


def panels_of(ui):
    """The panels in Blender's order: each before its children."""
    registration = sys.modules["addon_package"].blender.registration
    names = (ui.panels.__name__, ui.motion_panels.__name__)
    classes = itertools.chain(*map(registration.classes, names))
    kinds = [kind for kind in classes if issubclass(kind, bpy.types.Panel)]
    kinds = [kind for kind in kinds if not issubclass(kind, ui.panels._Sliders)]

    def below(parent):
        for kind in kinds:
            if getattr(kind, "bl_parent_id", None) == parent:
                yield kind
                yield from below(kind.__name__)

    return list(below(None))


def depth(kind):
    parent = getattr(kind, "bl_parent_id", None)
    return 1 + depth(getattr(bpy.types, parent)) if parent else 0


def operators_of(kind):
    """Names of the operators that a panel's code mentions, and that of the functions it calls."""
    names, seen, module = {}, set(), sys.modules[kind.__module__]

    def read(source):
        names.update(dict.fromkeys(one or other for one, other in _OPERATOR.findall(source)))
        for helper in _HELPER.findall(source):
            value = getattr(module, helper, None)
            if inspect.isfunction(value) and helper not in seen:
                seen.add(helper)
                read(inspect.getsource(value))

    read(inspect.getsource(kind))
    return [name for name in names if hasattr(bpy.types, f"MMDSKIN_OT_{name}")]


def setting(name, settings):
    prop = settings.bl_rna.properties[name]
    return [f"- {line(name, settings)}", *choices(prop, "  ")]


def line(name, owner):
    prop = owner.bl_rna.properties[name]
    return f"**{prop.name}**: {prop.description}"


def choices(prop, indent):
    items = getattr(prop, "enum_items", ())
    return [f"{indent}- *{one.name}*: {one.description}" for one in items if one.description]


def operator(name):
    kind, rna = (
        getattr(bpy.types, f"MMDSKIN_OT_{name}"),
        getattr(bpy.ops.mmdskin, name).get_rna_type(),
    )
    found = [f"- **{rna.name}** (button): {rna.description}"]
    for name in getattr(kind, "shown", ()):
        prop = rna.properties[name]
        found += [f"  - **{prop.name}**: {prop.description}", *choices(prop, "    ")]
    return found
