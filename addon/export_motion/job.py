# SPDX-License-Identifier: GPL-3.0-or-later
"""An export as a job: read the scene frame by frame, find keys, write files only at the end, all or
none of them, and tell what was written: one sentence, and all of it in a text of the .blend.
"""

import contextlib
import io
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import bpy
import numpy as np

from ..blender import file_access
from ..blender.native import mmdskin
from ..blender.translations import Sentence, tr, tr_count
from ..blender.user_error import UserError
from ..operator_base import modal_job
from ..physics import playback
from .timing import Timing

_Fitted = TypeVar("_Fitted")
_MOST = 15  # bytes of a name in a file
LONG_NAMES = {"STOP": "error", "OMIT": "omit", "CUT": "cut"}  # as `names` of `Motion.save`
_TEXT = "MMD Motion Export"  # the name of the text
_NAMED = "its name "  # of tracks that the export lists itself
# How the native module begins a note; what is lost comes first, what is as usual last.
_REASONS = {
    "scaled, sheared": Sentence("Their scale, shear or mirroring is lost: {names}"),
    "off its fixed axis": Sentence("Turned about their fixed axis only: {names}"),
    "left out: an earlier bone": Sentence(
        "Without keys, because an earlier bone has the same name: {names}"
    ),
    "its rotation is left out": Sentence("Without rotations, because MMD simulates them: {names}"),
    "left out: no vertex": Sentence("Without keys, because no vertex depends on them: {names}"),
    "left out: a rigid body": Sentence("Without keys, because MMD simulates them: {names}"),
}


class Result(NamedTuple):
    path: str
    motion: "mmdskin.Motion"
    worst: float | None = 0.0  # largest distance of a vertex, in the file's units; None for a scene
    notes: tuple = ()  # (bone, reason)
    lines: tuple[str, ...] = ()  # sentences

    @property
    def keys(self) -> int:
        motion = self.motion
        of_scene = motion.camera, motion.light, motion.shadow
        return sum(len(track.frames) for track in (*motion.bones, *motion.morphs, *of_scene))


class Export(ABC):
    """A file to be written."""

    path: str
    needs_frames: bool  # whether the scene has to be read frame by frame
    objects: list[bpy.types.Object]  # that `read` reads
    simulated: Sequence[playback.Baked] = ()  # what is posed with hair that physics moves

    @abstractmethod
    def read(self, depsgraph: bpy.types.Depsgraph) -> Any:
        """A row for `fit`: the scene at its current frame."""

    @abstractmethod
    def fit(self, rows: list[Any]) -> modal_job.Steps[Result]:
        """Find keys; the rows are no longer needed afterwards."""


def of(
    context: bpy.types.Context, exports: Sequence[Export], timing: Timing, names: str
) -> modal_job.Job:
    """The job of exports, with a Result for each. Closing it early writes nothing."""
    for export in exports:
        file_access.check_writable(export.path)
    reads = any(export.needs_frames for export in exports)
    return modal_job.Job(_steps(context, exports, timing, names), timing.length if reads else 1)


def _steps(
    context: bpy.types.Context, exports: Sequence[Export], timing: Timing, names: str
) -> modal_job.Steps[list[Result]]:
    sources = [source for export in exports for source in export.simulated]
    yield from playback.simulate(context, sources, timing.first, timing.last)
    reading = [export for export in exports if export.needs_frames]
    rows: dict[Export, list[Any]] = {export: [] for export in exports}

    def read(depsgraph: bpy.types.Depsgraph) -> None:
        for export in reading:
            rows[export].append(export.read(depsgraph))

    if reading:
        objects = [obj for export in reading for obj in export.objects]
        frames = timing.scene_frames.tolist()
        yield from modal_job.read_frames(context, objects, frames, read)
    results = []
    for export in exports:
        results.append((yield from export.fit(rows[export])))
    write([(one.path, saved(one.path, one.motion, names=names)) for one in results])
    return results


def made(
    function: Callable[..., _Fitted], /, *args: Any, **kwargs: Any
) -> modal_job.Steps[_Fitted]:
    """The result of a fit; UserError if the native module refuses its arguments."""
    with making():
        return (yield from modal_job.fitted(mmdskin.Fit(function, *args, **kwargs)))


@contextlib.contextmanager
def making() -> Iterator[None]:
    """UserError if the native module makes no motion of numbers, such as huge ones."""
    try:
        yield
    except (ValueError, MemoryError) as error:
        raise UserError("The motion cannot be made: {reason}", reason=error) from error


def sentence(results: Sequence[Result]) -> str:
    keys = tr_count("1 keyframe", "{count} keyframes", sum(result.keys for result in results))
    if len(results) > 1:
        return tr("Exported {count} files with {keyframes}", count=len(results), keyframes=keys)
    (result,) = results
    values = {"file": os.path.basename(result.path), "keyframes": keys}
    if result.worst is None:
        return tr("Exported '{file}' with {keyframes}", **values)
    return tr(
        "Exported '{file}' with {keyframes} of {bones}: the mesh is within {distance:.3f} units",
        bones=tr_count("1 bone", "{count} bones", len(result.motion.bones)),
        distance=result.worst,
        **values,
    )


def write_text(results: Sequence[Result]) -> None:
    """Replace the content of the text by what was written."""
    text = bpy.data.texts.get(_TEXT) or bpy.data.texts.new(_TEXT)
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
    found = [f"{listed(groups[start])}: {start}" for start in groups if start not in _REASONS]
    for start, text in _REASONS.items():
        if start in groups:
            found.append(text.filled(names=listed(groups[start])))
    return [*result.lines, *found]


def path_of(path: str, ending: str) -> str:
    """The absolute path of a file to write, with its ending."""
    return bpy.path.ensure_ext(file_access.absolute(path), ending)


def saved(path: str, motion: "mmdskin.Motion", **options: Any) -> bytes:
    """The bytes of a motion's file; UserError if it cannot be one."""
    data = io.BytesIO()
    with file_access.writing(path, ValueError, MemoryError):
        motion.save(data, **options)
    return data.getvalue()


def write(contents: Iterable[tuple[str, bytes]]) -> None:
    """Write files: first beside their paths, so that a failure leaves earlier files as they are."""
    with contextlib.ExitStack() as undo:
        written = []
        for path, data in contents:
            with file_access.writing(path):
                new = mmdskin.new_file.NewFile(path)
                undo.callback(new.close)
                new.file.write(data)
                new.finish()
            written.append(new)
        for new in written:
            with file_access.writing(new.path):
                new.replace()


def check_names(motion: "mmdskin.Motion", long_names: str) -> list[str]:
    """The names of keys that MMD will not find; UserError with all of them if it is to stop there.

    `Motion.save` leaves out keys without an effect: of bones and morphs at rest and IK that stays on.
    """
    switches = motion.properties
    acting = [
        *(track.name for track in motion.bones if _acts(track)),
        *(track.name for track in motion.morphs if np.any(track.weights)),
        *(switches.ik_names[number] for number in np.flatnonzero(~switches.ik_enabled.all(axis=0))),
    ]
    found = [name for name in dict.fromkeys(acting) if not fits(name)]
    if found and long_names == "STOP":
        raise UserError(
            "MMD cannot find bones and morphs whose names are longer than 15 bytes or not in"
            " cp932: {names}. Rename them in PMX Editor, or set Long Names to Leave Out",
            names=", ".join(f"'{name}'" for name in found),
        )
    return found


def _acts(track: "mmdskin.BoneTrack") -> bool:
    """Whether a bone moves, or its physics is switched off."""
    moves = np.any(track.translations) or np.any(track.rotations[:, :3])
    return bool(moves or not np.all(track.physics))


def fits(name: str) -> bool:
    """Whether a file can have it."""
    try:
        return len(name.encode("cp932", "surrogateescape")) <= _MOST
    except UnicodeEncodeError:
        return False


def listed(names: Iterable[str]) -> str:
    """Names for people; bytes that are not text are shown as such."""
    shown = (name.encode("utf-8", "replace").decode("utf-8") for name in names)
    return ", ".join(shown)
