# SPDX-License-Identifier: GPL-3.0-or-later
"""Import a pose file: bones and sliders as in the file, or solved.

The source starts at the scene frame of the pose.
"""

from dataclasses import replace

from bpy.types import Key

from ..blender import playhead
from ..pose import ik_source, scene_motion
from ..pose.motion_source import Motion
from ..scene import mmd_tools
from . import import_state, keyframes, original_keys, solved_keys
from .motion_import import MotionImport


def write(job: MotionImport, source: Motion) -> None:
    """Set the pose. Animated datablocks are keyed at the current frame, else keyframes would override it."""
    model, options = job.model, job.options
    armature = model.armature
    keyed = [block for block in import_state.blocks(model) if keyframes.is_keyed(block)]
    options.mode = _form(job, armature in keyed)
    at = keyframes.At(playhead.time(job.scene), options.mode == import_state.SOLVED)
    source = replace(source, start=at.frame)
    if options.mode == import_state.ORIGINAL:
        keys = original_keys.key_values(model, source)
        sliders = original_keys.slider_values(armature, source)
        bones: list = original_keys.bone_tracks(armature, source)
    else:
        below = job.imported(source) if armature in keyed else []
        bones, keys, sliders = _solved(job, source, below)
    with job.recording(armature) as noted:
        where = at if armature in keyed else None
        if options.mode == import_state.ORIGINAL:
            keyframes.free(noted, bones)
        else:
            keyframes.take(noted, bones, options.physics)
        keyframes.pose(noted, bones, where)
        keyframes.set_weights(noted, sliders, where)
        job.show_armature(noted, source)
    for block, values in keys.items():
        with job.recording(block) as noted:
            keyframes.set_weights(noted, values, at if block in keyed else None)
    count = len(bones)
    if armature in keyed:
        job.inform(
            "Keyed a pose of 1 bone at frame {frame}",
            "Keyed a pose of {count} bones at frame {frame}",
            count=count,
            frame=job.scene.frame_current,
        )
    else:
        job.inform("Posed 1 bone", "Posed {count} bones", count=count)
    job.tell_muted()


def _form(job: MotionImport, keyed: bool) -> str:
    """The form of the pose: that of the existing keys, or the one that the pose source shows."""
    armature = job.model.armature
    state = import_state.Record(armature).state
    if state.files and state.form != import_state.FILE:
        return state.form
    by_constraints = keyed and any(mmd_tools.solving(armature))
    solves = armature.mmdskin.source == ik_source.SOURCE
    return import_state.ORIGINAL if by_constraints or solves else job.options.mode


def _solved(
    job: MotionImport, source: Motion, earlier: list[Motion]
) -> tuple[list, dict[Key, keyframes.Values], keyframes.Values]:
    """The pose solved together with earlier motions, only what it changes: bones, shape keys, sliders."""
    armature = job.model.armature
    whole = scene_motion.merged([*earlier, source])
    frame = round(float(whole.motion_frames(source.start)[0]))
    frames = whole.scene_frames([frame])
    moving = job.simulated(whole, source, frame)
    bones, moved, keys = solved_keys.changed(job, source, moving, earlier, frames)
    sliders, named = (solved_keys.slider_values(armature, one, frames) for one in (whole, source))
    before = (
        solved_keys.slider_values(armature, scene_motion.merged(earlier), frames) if earlier else {}
    )
    sliders = {
        name: (at, values)
        for name, (at, values) in sliders.items()
        if name in named or name not in before or values != before[name][1]
    }
    return [bone for bone in bones if bone.name in moved], keys, sliders
