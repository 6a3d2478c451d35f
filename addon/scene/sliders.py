# SPDX-License-Identifier: GPL-3.0-or-later
"""The sliders of the morphs of an imported model.

A morph that moves vertices has a shape key, which motions key and exporters support. Every other
supported morph (bone, UV, material, impulse, and groups of only these) has a custom property of the
armature object with its name in the file. Drivers use both in the same way; see
`import_model/morphs`.
"""

import difflib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import bpy

from ..blender.native import mmdskin
from . import mmd_tools, scene_model, stored
from .names import MORPHS, UV_MORPHS, Named, chosen, language_of

SLIDER = "slider"  # in an entry of the root's list of morphs: the name of its custom property
_MOST = 10.0  # as of Blender's shape keys
PANELS = {1: "EYEBROW", 2: "EYE", 3: "MOUTH", 4: "OTHER"}


class Slider(NamedTuple):
    owner: Any  # a shape key or the armature object
    path: str  # of the property, from the owner
    label: str
    name: str  # of the morph in its file, if known

    @property
    def value(self) -> float:
        return self.owner.path_resolve(self.path)

    def set(self, value: float) -> None:
        if self.path.startswith("["):
            self.owner[bpy.utils.unescape_identifier(self.path[2:-2])] = value
            self.owner.update_tag()
        else:
            setattr(self.owner, self.path, value)


def by_panel(model: scene_model.SceneModel) -> dict[str, list[Slider]]:
    """The sliders of each of MMD's panels, in the file's order."""
    found: dict[str, list[Slider]] = {panel: [] for panel in PANELS.values()}
    english = language_of(model.armature) == "ENGLISH"
    blocks = [block.key_blocks for block in scene_model.shape_keys(model.meshes)]
    morphs = _morphs(model.armature)
    for morph, key in zip(morphs, _present_keys(morphs, model.meshes), strict=True):
        name = stored.text(morph, SLIDER)
        record = Named(stored.text(morph, "name"), stored.text(morph, "name_english"))
        # A model that was split into several meshes has the key in each.
        sliders = [
            Slider(block[key], "value", key, record.name)
            for block in blocks
            if key and key in block
        ]
        if name and name in model.armature:
            label = chosen(record, english, MORPHS)
            sliders.append(Slider(model.armature, path(name), label, record.name))
        found[PANELS.get(stored.number(morph, "panel"), "OTHER")] += sliders
    return found


def of_model(model: scene_model.SceneModel) -> list[Slider]:
    """All sliders of a model: of its file's morphs, and of other shape keys."""
    found = [slider for panel in by_panel(model).values() for slider in panel]
    known = {slider.owner.as_pointer() for slider in found}
    for block in scene_model.shape_keys(model.meshes):
        for key in block.key_blocks:
            if key.name not in mmd_tools.NOT_MORPHS and key.as_pointer() not in known:
                found.append(Slider(key, "value", key.name, key.name))
    return found


def path(name: str) -> str:
    """The data path of a custom property."""
    return f'["{bpy.utils.escape_identifier(name)}"]'


def widen(armature: bpy.types.Object, name: str) -> None:
    """Let motions move a custom property as far as they do; dragged, it stays from 0 to 1."""
    shown = armature.id_properties_ui(name)
    shown.update(min=-_MOST, max=_MOST, soft_min=0.0, soft_max=1.0)


class OfMorph(NamedTuple):
    morph: "mmdskin.Morph"
    key: str  # its shape key, "" for none
    name: str  # its custom property of the armature, "" for none


def of_morphs(armature: bpy.types.Object, pmx: "mmdskin.Model") -> list[OfMorph]:
    """What shows each morph of the file; [] if it was not stored, or for another file."""
    stored_morphs = _morphs(armature)
    if len(stored_morphs) != len(pmx.morphs):
        return []
    keys = _present_keys(stored_morphs, armature.original.children)
    names = (stored.text(one, SLIDER) for one in stored_morphs)
    return [*map(OfMorph, pmx.morphs, keys, names)]


def _morphs(armature: bpy.types.Object) -> list[Any]:
    """What importers have stored of each morph of the file; evaluated copies lack it."""
    root = scene_model.ancestor_with(armature.original, mmd_tools.MORPHS)
    return list(stored.groups(root, mmd_tools.MORPHS))


# What the user has renamed since the import: Blender's own references follow, but names that importers store,
# and those in nodes, do not.


def renamed(before: Sequence[str], now: Sequence[str]) -> dict[str, str]:
    """{former name: name} of what was renamed, found by its place in the list.

    Between two names that stayed, as many must be gone as there are new ones; {} if the order has
    changed.
    """
    if [one for one in before if one in now] != [one for one in now if one in before]:
        return {}
    found: dict[str, str] = {}
    matcher = difflib.SequenceMatcher(None, before, now, autojunk=False)
    for kind, start, end, new_start, new_end in matcher.get_opcodes():
        if kind == "replace" and end - start == new_end - new_start:
            found.update(zip(before[start:end], now[new_start:new_end], strict=True))
    return found


def _present_keys(morphs: list[Any], objects: Iterable[bpy.types.Object]) -> tuple[str, ...]:
    """The shape key of each morph under its present name, or ""."""
    at_import = tuple(stored.text(morph, "key") for morph in morphs)
    known = scene_model.shape_keys(obj for obj in objects if obj.type == "MESH")
    present = set[str]().union(*(block.key_blocks.keys() for block in known))
    before = [name for name in at_import if name]
    if present.issuperset(before):
        return at_import
    found: dict[str, str] = {}
    for block in known:
        now = [
            key.name
            for key in block.key_blocks
            if key != block.reference_key and key.name not in mmd_tools.NOT_MORPHS
        ]
        found.update(renamed(before, now))
    return tuple(name if name in present else found.get(name, name) for name in at_import)


def follow_uv_maps(obj: bpy.types.Object) -> list[tuple[Any, str]]:
    """Let the UV morphs of a mesh object use its renamed UV maps.

    Returns the sockets that were changed, with their former values.
    """
    sockets, now = _sockets(obj), obj.data.uv_layers.keys()
    before = ["UVMap", *(name for i in range(1, 5) for name in (f"UV{i}", f"_UV{i}"))]
    moved = renamed(before[: len(now)], now)
    changed = [(one, one.default_value) for one in sockets if one.default_value in moved]
    for socket, name in changed:
        if not socket.id_data.library:
            socket.default_value = moved[name]
    return changed


def lacks_uv_maps(obj: bpy.types.Object) -> bool:
    """Whether UV maps that UV morphs of a mesh object move are gone."""
    present = {*obj.data.uv_layers.keys(), *obj.data.attributes.keys()}
    return any(socket.default_value not in present for socket in _sockets(obj))


def _sockets(obj: bpy.types.Object) -> list[Any]:
    """The sockets with names of UV maps and of offsets in the nodes of UV morphs."""
    group = getattr(obj.modifiers.get(UV_MORPHS), "node_group", None)
    return [node.inputs["Name"] for node in group.nodes if "Name" in node.inputs] if group else []
