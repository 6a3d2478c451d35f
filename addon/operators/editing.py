# SPDX-License-Identifier: GPL-3.0-or-later
"""Change models in one transaction: check all, then write all, or put everything back."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, Protocol, TypeVar

import bpy

from ..blender import before
from ..blender.animation_before import ActionsBefore

_Thing = TypeVar("_Thing")
_Checked = TypeVar("_Checked")


class _Before(Protocol):
    def put_back(self) -> None: ...

    def forget(self) -> None: ...


class Edit(Generic[_Thing, _Checked]):
    """What the block of `editing` gets.

    `checked` has each thing with the result of its check. If the block raises, what was saved and the
    calls of `on_failure` are put back in reverse order.
    """

    def __init__(self, checked: list[tuple[_Thing, _Checked]]) -> None:
        self.checked = checked
        self._undo = contextlib.ExitStack()
        self._saved: list[_Before] = []
        self._last: list[Callable[[], object]] = []

    def on_failure(self, undo: Callable, *arguments: object) -> None:
        self._undo.callback(undo, *arguments)

    def save(
        self, objects: Iterable[bpy.types.Object], scenes: Iterable[bpy.types.Scene] = ()
    ) -> None:
        """Keep mesh and armature objects and scenes as they are, once for all; see `blender.before`."""
        used = ActionsBefore()
        saved: list[_Before] = [before.SceneBefore(scene, used) for scene in scenes]
        for obj in dict.fromkeys(objects):
            saved.append(before.ObjectBefore(obj, used))
        # Last of all, new datablocks are removed, but not the copies that are made for saving.
        for one in (before.DatablocksBefore(), *saved, used):
            self.keep(one)

    def keep(self, saved: _Before) -> None:
        """Put something else back too."""
        self._saved.append(saved)
        self._undo.callback(saved.put_back)

    def at_last(self, call: Callable[[], object]) -> None:
        """Register a call for the end, when nothing can fail any more: what cannot be put back."""
        self._last.append(call)

    def _end(self, done: bool) -> None:
        if done:
            self._undo.pop_all()
        try:
            self._undo.close()
            for call in self._last if done else ():
                call()
        finally:
            for saved in self._saved:
                saved.forget()


@contextlib.contextmanager
def editing(
    things: Iterable[_Thing], check: Callable[[_Thing], _Checked]
) -> Iterator[Edit[_Thing, _Checked]]:
    """Check all things (models, meshes), then let the block write.

    `check` raises a UserError if a thing cannot be changed, and changes nothing.
    """
    edit = Edit([(thing, check(thing)) for thing in things])
    done = False
    try:
        yield edit
        done = True
    finally:
        edit._end(done)
