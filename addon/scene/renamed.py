# SPDX-License-Identifier: GPL-3.0-or-later
"""Shape keys and UV maps that the user has renamed since the import, found by their places in the list.

Blender's own references follow a rename, but names that importers store, and those in nodes, do not.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from bpy.types import Object

from . import mmd_tools, names


def pairs(before: Sequence[str], now: Sequence[str]) -> dict[str, str]:
    """{former name: name} of what was renamed.

    Between two names that stayed, as many must be gone as there are new ones; {} if the order has
    changed.
    """
    stayed = set(before) & set(now)
    if [one for one in before if one in stayed] != [one for one in now if one in stayed]:
        return {}
    found: dict[str, str] = {}
    for gone, new in zip(_gaps(before, stayed), _gaps(now, stayed), strict=True):
        if len(gone) == len(new):
            found.update(zip(gone, new, strict=True))
    return found


def _gaps(listed: Sequence[str], stayed: set[str]) -> list[list[str]]:
    """The other names before, between and after those that stayed."""
    found: list[list[str]] = [[]]
    for name in listed:
        if name in stayed:
            found.append([])
        else:
            found[-1].append(name)
    return found


def keys(stored: Sequence[str], meshes: Iterable[Object]) -> tuple[str, ...]:
    """The shape key of each morph under its present name; `stored` are those of the import, or ""."""
    blocks = [obj.data.shape_keys for obj in meshes if obj.type == "MESH"]
    known = [block for block in dict.fromkeys(blocks) if block]
    present = set[str]().union(*(block.key_blocks.keys() for block in known))
    before = [name for name in stored if name]
    if present.issuperset(before):
        return tuple(stored)
    found: dict[str, str] = {}
    for block in known:
        now = [
            key.name
            for key in block.key_blocks
            if key != block.reference_key and key.name not in mmd_tools.NOT_MORPHS
        ]
        found.update(pairs(before, now))
    return tuple(name if name in present else found.get(name, name) for name in stored)


def follow_uv_maps(obj: Object) -> list[tuple[Any, str]]:
    """Let the UV morphs of a mesh object use its renamed UV maps.

    Returns the sockets that were changed, with their former values.
    """
    sockets, now = _sockets(obj), obj.data.uv_layers.keys()
    before = ["UVMap", *(name for i in range(1, 5) for name in (f"UV{i}", f"_UV{i}"))]
    moved = pairs(before[: len(now)], now)
    changed = [(one, one.default_value) for one in sockets if one.default_value in moved]
    for socket, name in changed:
        if not socket.id_data.library:
            socket.default_value = moved[name]
    return changed


def lacks_uv_maps(obj: Object) -> bool:
    """Whether UV maps that UV morphs of a mesh object move are gone."""
    present = {*obj.data.uv_layers.keys(), *obj.data.attributes.keys()}
    return any(socket.default_value not in present for socket in _sockets(obj))


def _sockets(obj: Object) -> list[Any]:
    """The sockets with names of UV maps and of offsets in the nodes of UV morphs."""
    group = getattr(obj.modifiers.get(names.UV_MORPHS), "node_group", None)
    return [node.inputs["Name"] for node in group.nodes if "Name" in node.inputs] if group else []
