# SPDX-License-Identifier: GPL-3.0-or-later
"""Import a motion as original keys: the file's own keyframes and curves, for editing."""

from collections.abc import Sequence
from typing import Any

import bpy

from ..blender import actions, fcurves
from ..blender.translations import tr, tr_count
from ..pose import merge, motion_source
from ..scene import scene_model
from . import import_state, kept_files, keyframes, tracks
from .motion_import import MotionImport

Curves = dict[tuple[str, int], fcurves.Points]  # by path and index


def write(job: MotionImport, newest: motion_source.Motion) -> None:
    """Key the model."""
    model, replace = job.model, job.replace
    import_state.check_not_tweaked(model)
    earlier, rekeys_all = job.earlier(newest)
    played = [*earlier, newest] if rekeys_all else [newest]
    bones = [tracks.bone_tracks(model.armature, one) for one in played]
    keys = [tracks.key_values(model, one) for one in played]
    if replace or rekeys_all:
        job.clear()
    muted = 0
    with import_state.recording(model.armature) as noted:
        noted.note_files(merge.contributing([*earlier, newest]), import_state.ORIGINAL)
        if replace:
            keyframes.drop_bones(noted, newest.rig.bones)
        for one, of_one in zip(played, bones, strict=True):
            muted += keyframes.write_tracks(noted, of_one)
            keyframes.write_switches(noted, tracks.ik_switches(one))
            keyframes.write_physics(noted, tracks.physics_switches(one))
            keyframes.write_sliders(noted, tracks.slider_values(model.armature, one))
            job.extend(noted, one)
        action, _ = actions.assigned(model.armature)
        if action is not None:
            kept_files.keep(action, noted.state.files)
        job.show_armature(noted, newest)
    for block, values in (item for of_one in keys for item in of_one.items()):
        with import_state.recording(block) as noted:
            muted += keyframes.write_original_keys(noted, values)
    job.options.report(
        {"INFO"},
        tr(
            "Keyed {bones} and {shape_keys} with {keyframes} from the file",
            bones=tr_count("1 bone", "{count} bones", len(bones[-1])),
            shape_keys=tr_count(
                "1 shape key", "{count} shape keys", sum(map(len, keys[-1].values()))
            ),
            keyframes=tr_count(
                "1 keyframe", "{count} keyframes", sum(len(track.frames) for track in bones[-1])
            ),
        ),
    )
    job.tell_muted(muted)


def curves_of(
    model: scene_model.SceneModel, motions: Sequence[motion_source.Motion]
) -> dict[actions.Block, Curves]:
    """The curves that imports of these motions, oldest first, write into an empty action."""
    armature = model.armature
    with Scratch() as holder:
        for motion in motions:
            bones = tracks.bone_tracks(armature, motion)
            keyframes.put_tracks(holder, bones)
            keyframes.put_switches(holder, armature, tracks.ik_switches(motion))
            keyframes.put_physics(holder, armature, tracks.physics_switches(motion))
            keyframes.put_sliders(holder, tracks.slider_values(armature, motion))
        found: dict[actions.Block, Curves] = {armature: read(holder)}
    values = [tracks.key_values(model, motion) for motion in motions]
    for block in import_state.shape_keys(model):
        with Scratch() as holder:
            for of_motion in values:
                keyframes.put_values(holder, of_motion.get(block, {}))
            found[block] = read(holder)
    return found


class Scratch:
    """In the block, the holder of the curves of an action that no one sees."""

    def __enter__(self) -> Any:
        self._action, _, holder = actions.new_action("mmdskin")
        return holder

    def __exit__(self, *_: object) -> None:
        bpy.data.actions.remove(self._action)


def read(holder: Any) -> Curves:
    return {(curve.data_path, curve.array_index): fcurves.points(curve) for curve in holder.fcurves}
