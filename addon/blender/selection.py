# SPDX-License-Identifier: GPL-3.0-or-later
"""Which objects are selected, which is active, and their modes: changed for a while."""

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import bpy
from bpy.types import Object, ViewLayer


@contextlib.contextmanager
def cleared(layer: ViewLayer) -> Iterator[None]:
    """In the block, no object of a view layer is selected, and all are in Object Mode."""
    objects = [obj for obj in layer.objects if obj]
    active, selected = layer.objects.active, [obj for obj in objects if obj.select_get()]
    modes = [(obj, obj.mode) for obj in objects if obj.mode != "OBJECT"]
    try:
        for obj, _ in modes:
            _set_mode(layer, obj, "OBJECT")
        _select(objects, [])
        yield
    finally:
        for obj, mode in modes:
            if obj.mode != mode:  # which all selected objects enter
                _select(objects, [other for other in objects if (other, mode) in modes])
                _set_mode(layer, obj, mode)
        _select(objects, selected)
        layer.objects.active = active


def _set_mode(layer: ViewLayer, obj: Object, mode: Any) -> None:
    if obj.mode != mode:
        layer.objects.active = obj
        bpy.ops.object.mode_set(mode=mode)


def _select(objects: Iterable[Object], selected: list[Object]) -> None:
    for obj in objects:
        if obj.select_get() != (obj in selected):
            obj.select_set(obj in selected)
