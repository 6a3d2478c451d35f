# SPDX-License-Identifier: GPL-3.0-or-later
"""What all panels of the MMD tab share: their base classes, settings, buttons and wrapped texts."""

import unicodedata
from itertools import pairwise
from typing import Any

import bpy
from bpy.types import Context, PropertyGroup, UILayout

from ..blender import translations
from ..blender.translations import name_of
from ..scene import scene_model
from . import shown_model

_NOT_FIRST, _NOT_LAST = " 。、，：；）」”ー", "（「“"  # of a line


class Tab:
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "MMD"
    bl_translation_context = translations.CONTEXT


class Below(Tab):
    """A child panel that needs a model."""

    bl_parent_id = "MMDSKIN_PT_skin"

    @classmethod
    def poll(cls, context: Context) -> bool:
        return shown_model.shown(context) is not None


def settings(layout: UILayout, owner: PropertyGroup, names: list[str]) -> None:
    column = layout.column()
    column.use_property_decorate = False
    for name in names:
        # A check box beside an empty half leaves no room for its name.
        column.use_property_split = owner.bl_rna.properties[name].type != "BOOLEAN"
        column.prop(owner, name, text=name_of(owner, name), translate=False)


def button(
    layout: UILayout, operator: Any, model: scene_model.SceneModel, icon: Any, **options: Any
) -> None:
    """Draw an operator's button, grayed out if it cannot act; its tooltip gives the reason."""
    row = layout.row(align=True)
    row.enabled = not operator.unavailable(model)
    row.operator(operator.bl_idname, icon=icon, **options)


def wrapped(layout: UILayout, text: str, alert: bool = False) -> None:
    """Draw a text in as many lines as the region that is drawn needs for it."""
    column = layout.column(align=True)
    column.alert = alert
    room = bpy.context.region.width / (8 * bpy.context.preferences.system.ui_scale)
    for line in lines(text, room):
        column.label(text=line, translate=False)


def lines(text: str, room: float) -> list[str]:
    """The text wrapped to lines of `room` letters; wide letters count twice."""
    wrapped, line = [], ""
    for piece in _pieces(text):
        if line and _breadth(line) + _breadth(piece.rstrip()) > room:
            wrapped.append(line.rstrip())
            line = ""
        line += piece
    return [*wrapped, line.rstrip()]


def _pieces(text: str) -> list[str]:
    """The unbreakable parts: words with their space, and wide letters with punctuation."""
    pieces = [text[:1]]
    for before, letter in pairwise(text):
        broken = before == " " or _is_wide(before) or _is_wide(letter)
        if broken and letter not in _NOT_FIRST and before not in _NOT_LAST:
            pieces.append("")
        pieces[-1] += letter
    return pieces


def _breadth(text: str) -> int:
    return sum(2 if _is_wide(letter) else 1 for letter in text)


def _is_wide(letter: str) -> bool:
    return unicodedata.east_asian_width(letter) in "WFA"
