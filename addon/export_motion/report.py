# SPDX-License-Identifier: GPL-3.0-or-later
"""What an export has written: one sentence, and all of it in a text of the file."""

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import bpy

from ..blender.translations import tr, tr_count
from .files import listed

if TYPE_CHECKING:
    import mmdskin

_TEXT = "MMD Motion Export"  # the name of the text


_NAMED = "its name "  # of tracks that the export lists itself
# How the native module begins a note; what is lost comes first, what is as usual last.
_REASONS: dict[str, Callable[[str], str]] = {
    "scaled, sheared": lambda names: tr(
        "Their scale, shear or mirroring is lost: {names}", names=names
    ),
    "off its fixed axis": lambda names: tr(
        "Turned about their fixed axis only: {names}", names=names
    ),
    "left out: an earlier bone": lambda names: tr(
        "Without keys, because an earlier bone has the same name: {names}", names=names
    ),
    "its rotation is left out": lambda names: tr(
        "Without rotations, because MMD simulates them: {names}", names=names
    ),
    "left out: no vertex": lambda names: tr(
        "Without keys, because no vertex depends on them: {names}", names=names
    ),
    "left out: a rigid body": lambda names: tr(
        "Without keys, because MMD simulates them: {names}", names=names
    ),
}


class Result(NamedTuple):
    path: str
    motion: "mmdskin.Motion"
    worst: float = 0.0  # largest distance of a vertex, in the file's units
    notes: tuple = ()  # (bone, reason)
    lines: tuple[str, ...] = ()  # sentences
    finish: Callable[[bytes], bytes] | None = None  # of the saved file

    @property
    def keys(self) -> int:
        tracks = [*self.motion.bones, *self.motion.morphs, *self._of_scene]
        return sum(len(track.frames) for track in tracks)

    @property
    def moves_scene(self) -> bool:
        """Whether the file has keys of the camera, the light or the self-shadow."""
        return any(len(track.frames) for track in self._of_scene)

    @property
    def _of_scene(self) -> tuple[Any, ...]:
        return self.motion.camera, self.motion.light, self.motion.shadow


def sentence(results: Sequence[Result]) -> str:
    keys = tr_count("1 keyframe", "{count} keyframes", sum(result.keys for result in results))
    if len(results) > 1:
        return tr("Exported {count} files with {keyframes}", count=len(results), keyframes=keys)
    (result,) = results
    values = {"file": os.path.basename(result.path), "keyframes": keys}
    if result.moves_scene:
        return tr("Exported '{file}' with {keyframes}", **values)
    return tr(
        "Exported '{file}' with {keyframes} of {bones}: the mesh is within {distance:.3f} units",
        bones=tr_count("1 bone", "{count} bones", len(result.motion.bones)),
        distance=result.worst,
        **values,
    )


def write_text(results: Sequence[Result]) -> None:
    """Replace the content of the text by what was written."""
    text: bpy.types.Text | None = bpy.data.texts.get(_TEXT)
    if text is None:
        text = bpy.data.texts.new(_TEXT)
    text.clear()
    for result in results:
        text.write(
            "\n".join([sentence([result]), *(f"  {line}" for line in _lines(result)), "", ""])
        )


def _lines(result: Result) -> list[str]:
    groups: dict[str, list[str]] = {}
    for bone, reason in result.notes:
        if reason.startswith(_NAMED):
            continue
        start = next((start for start in _REASONS if reason.startswith(start)), reason)
        groups.setdefault(start, []).append(bone)
    others = [
        f"{listed(names)}: {start}" for start, names in groups.items() if start not in _REASONS
    ]
    known = [text(listed(groups[start])) for start, text in _REASONS.items() if start in groups]
    return [*result.lines, *others, *known]
