# SPDX-License-Identifier: GPL-3.0-or-later
"""Evaluations of a scene of which only poses are read.

Modifiers take most of a frame's time: the edges of one model ten times as long as its pose. Those
that no pose can depend on are turned off in evaluated copies only, and so are shape keys for readers
of their values that look for muted keys elsewhere. `foreach_set` tags nothing: neither the user's
objects nor the file change.
"""

import contextlib
import math
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import bpy
import numpy as np
from bpy.types import ID, Context, Key, Object

from . import actions, arrays, drivers, playhead

# Modifiers through which objects act on others that do not refer to them, or that keep a cache.
_PHYSICS = set(
    "CLOTH COLLISION DYNAMIC_PAINT EXPLODE FLUID PARTICLE_SYSTEM SOFT_BODY SURFACE".split()
)
# What is turned off of objects and of shape keys: a collection, a member of its items, and its value.
_OF_OBJECTS, _OF_KEYS = ("modifiers", "show_viewport", False), ("key_blocks", "mute", True)


class PoseFrames(contextlib.ExitStack):
    """In the block, the scene may `go_to` frames of which only poses, transforms and shape key values
    of some objects are read; its frame is restored afterwards.

    `mute_keys`: evaluated copies do not say which keys are muted.
    """

    def __init__(self, context: Context, read: Iterable[Object], mute_keys: bool = False) -> None:
        super().__init__()
        self._context, self._scene = context, context.scene
        needed = _needed(list(read))
        objects = context.view_layer.objects
        unneeded = [obj for obj in objects if obj not in needed and _is_separate(obj)]
        # Functions of live meshes and attached objects, on which poses may depend.
        needs_drivers = any(map(_calls_functions, needed))
        self._skip_live_update = not needs_drivers
        self._parts: list[tuple[Any, tuple[str, str, bool]]] = []
        if mute_keys and not needs_drivers:  # these functions may look at the keys of a mesh
            self._parts += [(keys, _OF_KEYS) for keys in _unmixed(unneeded)]
        self._parts += [(obj, _OF_OBJECTS) for obj in unneeded]
        self._changed: list[tuple[Any, str, str, np.ndarray]] = []
        self._last: float | None = None
        self.enter_context(playhead.restored(context))
        self.callback(self._turn_on)

    def go_to(self, frame: float) -> None:
        self._turn_off()
        # Rigid bodies are simulated frame by frame.
        world = self._scene.rigidbody_world
        if world and world.enabled and self._last is not None:
            for between in range(math.floor(self._last) + 1, math.ceil(frame)):
                playhead.go_to(self._scene, between, self._skip_live_update)
        self._last = frame
        playhead.go_to(self._scene, frame, self._skip_live_update)

    def show(self) -> None:
        """Evaluate the last frame as a whole, before the window is drawn."""
        if self._last is not None:
            self._turn_on()
            playhead.go_to(self._scene, self._last)

    def _turn_off(self) -> None:
        """Until `_turn_on`, unneeded modifiers have no effect."""
        if self._changed:
            return
        depsgraph = self._context.evaluated_depsgraph_get()
        for block, (collection, member, off) in self._parts:
            copy = block.evaluated_get(depsgraph)
            if copy.is_evaluated:  # else these are the user's own, as of a hidden mesh
                items = getattr(copy, collection)
                before = arrays.read(items, member, dtype=bool)
                items.foreach_set(member, np.full_like(before, off))
                self._changed.append((block, collection, member, before))

    def _turn_on(self) -> None:
        """The next evaluation shows all objects with their modifiers again."""
        depsgraph = self._context.evaluated_depsgraph_get()
        changed, self._changed = self._changed, []
        for block, collection, member, before in changed:
            with contextlib.suppress(ReferenceError):  # removed in the meantime
                copy = block.evaluated_get(depsgraph)
                items = getattr(copy, collection)
                if copy.is_evaluated and len(items) == len(before):
                    items.foreach_set(member, before)
                if isinstance(block, Object):
                    block.update_tag(refresh={"DATA"})


def _unmixed(unneeded: list[Object]) -> list[Key]:
    """The shape keys of meshes that only these objects show, if nothing animates what is muted."""
    shown = {obj.data for obj in set(bpy.data.objects).difference(unneeded)}
    meshes = dict.fromkeys(obj.data for obj in unneeded if obj.type == "MESH")
    found = [mesh.shape_keys for mesh in meshes if mesh not in shown and mesh.shape_keys]
    return [keys for keys in found if not actions.animates(keys, ".mute")]


def _needed(read: list[Object]) -> set[ID]:
    """The datablocks on which poses, transforms and key values of these objects may depend."""
    uses = defaultdict(list)
    for block, users in bpy.data.user_map().items():
        for user in users:
            uses[user].append(block)
    # What a mesh refers to decides how it looks, not where it is.
    meshes = [obj.data for obj in read if obj.type == "MESH"]
    looks = {*meshes, *(slot.material for obj in read for slot in obj.material_slots)}
    keys = [mesh.shape_keys for mesh in meshes if mesh.shape_keys]
    waiting = [*(obj for obj in read if obj.type != "MESH"), *keys]
    waiting += [block for obj in read if obj.type == "MESH" for block in uses[obj]]
    needed: set[ID] = set()
    while waiting:
        block = waiting.pop()
        if block not in needed and block not in looks:
            needed.add(block)
            waiting += uses[block]
    return needed


def _is_separate(obj: Object) -> bool:
    """Whether an object has modifiers and takes no part in a simulation of Blender."""
    if not len(obj.modifiers) or obj.rigid_body or obj.soft_body:
        return False
    if obj.field and obj.field.type != "NONE":
        return False
    return not any(modifier.type in _PHYSICS for modifier in obj.modifiers)


def _calls_functions(block: Any) -> bool:
    """Whether a datablock has drivers that call Python functions."""
    return any(
        curve.driver.type == "SCRIPTED" and "(" in curve.driver.expression
        for curve in drivers.of(block)
    )
