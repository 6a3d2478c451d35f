# SPDX-License-Identifier: GPL-3.0-or-later
"""Positions in a PC2 file that a Mesh Cache modifier plays, in place of the Armature modifier.

Frames are streamed to a temporary file that gets its name when it is complete. Clear Bake keeps the
file, since another .blend may use it.
"""

import struct
from typing import Any

import bpy
import numpy as np
from bpy.app.handlers import persistent
from bpy.types import Modifier, Object

from ..blender import blender_versions, cache_files, registration
from ..blender.native import mmdskin
from ..blender.user_error import UserError
from ..operator_base.properties import FRAMES
from ..preview import nodes
from ..scene import saved_state, scene_model
from . import bake_state
from .target import Block, Target

NAME = "MMD Skin Cache"  # of the modifier
NORMALS = ("MMD Normals Cache", "MMD Normals Reader", "MMD Normals")  # of those for normals
_HEADER = struct.Struct("<12siiffi")


class MeshCache(Target):
    """The cache of one mesh, and a second one for its normals if these are baked."""

    stores_normals = True

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        # Of the positions, and of the normals if they are baked.
        self._new: list[mmdskin.new_file.NewFile] = []
        self._paths: list[str] = []  # of complete files
        self._before = cache_files.played()

    def start(self) -> None:
        options, normals = self.options, self.skinner.normals
        if abs(options.frames[0] / options.spacing) > FRAMES["max"]:
            raise UserError(
                "A mesh cache with {samples} samples per frame cannot start at frame {frame}:"
                " Blender's limit is {limit}",
                samples=options.samples,
                frame=options.frames[0],
                limit=FRAMES["max"] // options.samples,
            )
        endings = [".pc2"]
        if normals is not None and normals.domain == "POINT":
            endings.append(".normals.pc2")
        elif normals is not None:
            self.caution(
                "'{name}' has vertices with several normals (for example at sharp"
                " edges), which a mesh cache cannot store: Blender's normals are shown",
                name=self.obj.name,
            )
        count, samples = self.skinner.vertex_count, len(options.frames)
        header = _HEADER.pack(
            b"POINTCACHE2\0", 1, count, options.frames[0], options.spacing, samples
        )
        for ending in endings:
            path = cache_files.path(self.obj, ending, options.folder)
            with cache_files.writing(path):
                self._new.append(mmdskin.new_file.NewFile(path))
                self._new[-1].file.write(header)

    def add(self, block: Block) -> None:
        for new, vectors in zip(self._new, self.skinned(block), strict=False):
            with cache_files.writing(new.path):
                new.file.write(np.ascontiguousarray(vectors, "<f4").data)

    def finish(self) -> tuple[()]:
        for new in self._new:
            with cache_files.writing(new.path):
                new.finish()
                self._paths.append(cache_files.place(new))
        return ()

    def write(self, state: bake_state.BakeState) -> None:
        obj = self.obj
        bake_state.switch_armature_off(obj, self.armature, state)
        modifier = self._play(self._paths[0], NAME)
        state.added = modifier.name
        added = [modifier]
        with_normals = len(self._paths) > 1
        if with_normals:
            # The nodes for normals read the positions that the first cache sets.
            shown = self._play(self._paths[1], NORMALS[0])
            reader, giver = (obj.modifiers.new(name, "NODES") for name in NORMALS[1:])
            added = [shown, reader, modifier, giver]
            state.normals = [shown.name, reader.name, giver.name]
        first = scene_model.armature_modifiers(obj, self.armature)[0]
        place = obj.modifiers.find(first.name) + 1
        for number, one in enumerate(added):
            blender_versions.move_modifier(obj, one, place + number)
        if with_normals:
            nodes.set_kind(reader, nodes.READING)
            nodes.set_kind(giver, nodes.kind_with_normals(obj, giver))

    def close(self, done: bool) -> None:
        """Remove temporary files; without `done`, the new ones, else older ones."""
        for new in self._new:
            new.close()
            if done:
                cache_files.remove_unneeded(new.path, self._before)
        for path in () if done else self._paths:
            cache_files.remove_placed(path)

    def _play(self, path: str, name: str) -> Modifier:
        """A new modifier that sets the vertices to the positions in the file."""
        options = self.options
        modifier = self.obj.modifiers.new(name, "MESH_CACHE")
        modifier.cache_format = "PC2"
        modifier.filepath = cache_files.shown(path)
        modifier.deform_mode, modifier.interpolation = "OVERWRITE", "LINEAR"
        modifier.play_mode, modifier.time_mode = "SCENE", "FRAME"
        modifier.forward_axis, modifier.up_axis = "POS_Y", "POS_Z"
        # Blender shows sample `frame_scale * time - frame_start` of the file.
        modifier.frame_scale = 1 / (options.spacing * options.stretch)
        modifier.frame_start = options.frames[0] / options.spacing
        return modifier


@persistent
def recover(*_: object) -> None:
    """Write the record of a library override's bake again where Blender has dropped it.

    It drops the record, not the modifiers, when a file is opened and saved while the add-on, which
    declares its property, is disabled.
    """
    for obj in bpy.data.objects:
        if obj.type == "MESH" and obj.override_library and not saved_state.is_baked(obj):
            cache: Any = obj.modifiers.get(NAME)
            reference = obj.override_library.reference
            is_ours = cache is not None and not cache.is_override_data
            # Not where the library is missing.
            if is_ours and isinstance(reference, Object) and reference.type == "MESH":
                _state(obj, reference, cache).write(obj)


def _state(obj: Object, reference: Object, cache: Modifier) -> bake_state.BakeState:
    """The state of a bake that plays `cache`, with the library's settings of what it hides."""
    state = bake_state.begin(obj, obj.find_armature())
    state.target, state.added = "MESH_CACHE", cache.name
    state.normals = [name for name in NORMALS if name in obj.modifiers]
    state.active_modifier = reference.modifiers.active.name if reference.modifiers.active else ""
    for modifier in bake_state.deforming(reference):
        state.modifiers[modifier.name] = [modifier.show_viewport, modifier.show_render]
    state.frames, state.samples = _range_of(cache)
    return state


def _range_of(modifier: Modifier) -> tuple[list[int] | None, int]:
    """The first and last frame, and the samples per frame; None and 1 for one pose or without a file."""
    path = bpy.path.abspath(modifier.filepath)
    try:
        with open(path, "rb") as file:
            _, _, _, first, spacing, count = _HEADER.unpack(file.read(_HEADER.size))
    except (OSError, struct.error):
        return None, 1
    if count < 2:
        return None, 1
    samples = max(1, round(1 / spacing)) if spacing > 0 else 1
    return [round(first), round(first + (count - 1) * spacing)], samples


register, unregister = registration.handlers([], of_file=[recover])
