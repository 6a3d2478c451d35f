# SPDX-License-Identifier: GPL-3.0-or-later
"""Import a motion as original keys: the file's own keyframes and curves, for editing.

The action keeps the files, so that an export writes unchanged keys as they were: the files themselves
may move or change, and the action may be used in another .blend.
"""

import contextlib
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import bpy

from ..blender import actions, details, fcurves
from ..blender.native import mmdskin
from ..blender.translations import tr_count
from ..pose import motion_source, scene_motion
from ..scene import scene_model
from . import import_state, keyframes, tracks
from .motion_import import MotionImport

Curves = dict[tuple[str, int], fcurves.Points]  # by path and index

_logger = details.logger(__name__)
_PROPERTY = "mmdskin_motion_files"  # a list of groups, oldest first
_MOST = 1 << 28  # bytes of a file: more than a VMD of eight hours


def write(job: MotionImport, newest: motion_source.Motion) -> None:
    """Key the model."""
    model, replace = job.model, job.replace
    earlier, rekeys_all = job.earlier(newest)
    played = [*earlier, newest] if rekeys_all else [newest]
    found = [tracks.armature_keys(model.armature, one) for one in played]
    keys = [tracks.key_values(model, one) for one in played]
    if replace or rekeys_all:
        job.clear()
    with job.recording(model.armature) as noted:
        noted.note_files(scene_motion.contributing([*earlier, newest]), import_state.ORIGINAL)
        if replace:
            keyframes.drop_bones(noted, newest.rig.bones)
        for one, of_one in zip(played, found, strict=True):
            keyframes.write_armature(noted, of_one)
            job.extend(noted, one)
        keep(model.armature, noted.state.files)
        job.show_armature(noted, newest)
    for block, values in (item for of_one in keys for item in of_one.items()):
        with job.recording(block) as noted:
            keyframes.write_weights(noted, values)
    bones = found[-1].bones
    job.inform(
        "Keyed {bones} and {shape_keys} with {keyframes} from the file",
        bones=tr_count("1 bone", "{count} bones", len(bones)),
        shape_keys=tr_count("1 shape key", "{count} shape keys", sum(map(len, keys[-1].values()))),
        keyframes=tr_count(
            "1 keyframe", "{count} keyframes", sum(len(track.frames) for track in bones)
        ),
    )
    job.tell_muted()


def curves_of(
    model: scene_model.SceneModel, motions: Sequence[motion_source.Motion]
) -> dict[actions.Block, Curves]:
    """The curves that imports of these motions, oldest first, write into an empty action."""
    armature = model.armature
    with scratch() as curves:
        for motion in motions:
            keyframes.put_armature(curves, armature, tracks.armature_keys(armature, motion))
        found: dict[actions.Block, Curves] = {armature: read(curves)}
    values = [tracks.key_values(model, motion) for motion in motions]
    for block in import_state.shape_keys(model):
        with scratch() as curves:
            for of_motion in values:
                keyframes.put_weights(curves, block, of_motion.get(block, {}))
            found[block] = read(curves)
    return found


@contextlib.contextmanager
def scratch() -> Iterator[actions.Curves]:
    """In the block, the curves of an action that no one sees."""
    action, _, holder = actions.new_action("mmdskin")
    try:
        yield actions.Curves(holder)
    finally:
        bpy.data.actions.remove(action)


def read(curves: actions.Curves) -> Curves:
    found = curves.holder.fcurves
    return {(curve.data_path, curve.array_index): fcurves.points(curve) for curve in found}


class Kept(NamedTuple):
    motion: "mmdskin.Motion"
    start: float  # as of `motion_source.Motion`
    speed: float


def keep(block: actions.Block, files: Iterable[Sequence[Any]]) -> None:
    """Keep files that still exist, each with its start and speed, with the action of a datablock, if it has
    one; replaces earlier ones."""
    action, _ = actions.assigned(block)
    if action is None:
        return
    found = []
    for path, start, speed in files:
        try:
            with open(path, "rb") as file:
                data = file.read(_MOST)
        except OSError as error:
            _logger.debug("skipped '%s': %s", path, error)
            continue
        times = {"start": float(start), "speed": float(speed)}
        found.append({"name": os.path.basename(path), **times, "data": zlib.compress(data)})
    action[_PROPERTY] = found


def kept(block: actions.Block, pmx: "mmdskin.Model | None" = None) -> list[Kept]:
    """The files kept with the action of a datablock, oldest first, for a model; [] if any is damaged."""
    action, _ = actions.assigned(block)
    found = []
    try:
        for entry in action.get(_PROPERTY, ()) if action is not None else ():
            data = zlib.decompressobj().decompress(bytes(entry["data"]), _MOST)
            motion = mmdskin.load_motion(data, model=pmx)
            found.append(Kept(motion, float(entry["start"]), float(entry["speed"])))
    except (KeyError, TypeError, ValueError, MemoryError, zlib.error) as error:
        _logger.debug("skipped the damaged files of '%s': %r", block.name, error)  # edited by hand
        return []
    return found if all(one.speed > 0 for one in found) else []
