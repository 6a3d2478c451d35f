# SPDX-License-Identifier: GPL-3.0-or-later
"""Change models in one transaction: check all, then write all, or restore everything."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from bpy.types import Object, Scene

from ..blender import cache_files, details, snapshots

_logger = details.logger(__name__)
_Thing = TypeVar("_Thing")
_Checked = TypeVar("_Checked")


class Edit(Generic[_Thing, _Checked]):
    """What the block of `editing` gets.

    `checked` has each thing with the result of its check. If the block raises, snapshots are restored
    and the calls of `on_failure` are made, in reverse order. Those of `on_success`, for what cannot be
    undone, are made in reverse order when nothing can fail any more.
    """

    def __init__(self, checked: list[tuple[_Thing, _Checked]]) -> None:
        self.checked = checked
        self.undo, self.success, self.cleanup = (contextlib.ExitStack() for _ in range(3))
        self.on_failure, self.on_success = self.undo.callback, self.success.callback
        self.on_failure(_logger.debug, "restored the state before the edit")

    def set(self, owner: Any, member: str, value: object) -> None:
        """Set a member, also back if the edit fails."""
        self.on_failure(setattr, owner, member, getattr(owner, member))
        setattr(owner, member, value)

    def save(self, objects: Iterable[Object], scenes: Iterable[Scene] = ()) -> None:
        """Take a snapshot of the file with mesh, armature and light objects and scenes, once for all of them."""
        self.restore_on_failure(snapshots.Snapshot(objects, scenes))

    def restore_on_failure(self, snapshot: snapshots.Snapshot | cache_files.FileSnapshot) -> None:
        """Restore another snapshot, too, if the edit fails."""
        self.on_failure(snapshot.restore)
        self.cleanup.callback(snapshot.discard)


# "Edit[...]" is quoted: else `typing` keeps the class and all that this module refers to, and bpy 4.5
# hangs at exit while anything refers to it.
@contextlib.contextmanager
def editing(
    things: Iterable[_Thing], check: Callable[[_Thing], _Checked]
) -> Iterator["Edit[_Thing, _Checked]"]:
    """Check all things (models, meshes), then let the block write.

    `check` raises a UserError if a thing cannot be changed, and changes nothing.
    """
    edit = Edit([(thing, check(thing)) for thing in things])
    with edit.cleanup:
        with edit.undo:
            yield edit
            edit.undo.pop_all()
        edit.success.close()
