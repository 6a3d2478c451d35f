# SPDX-License-Identifier: GPL-3.0-or-later
"""The keys of a model that an export writes as they are: the scene's, and those of imported files.

What has not changed since the import is written from the file, key for key.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import bpy
import numpy as np

from ..blender import actions, fcurves, native
from ..import_motion import import_state, kept_files, original_keys
from ..pose import merge, motion_source
from ..scene import mmd_tools, scene_model
from ..scene.names import PHYSICS
from . import original_tracks
from .original_tracks import OriginalKeys
from .timing import Timing

if TYPE_CHECKING:
    import mmdskin

_ROTATIONS = {"QUATERNION": ("rotation_quaternion", 4), "AXIS_ANGLE": ("rotation_axis_angle", 4)}
_Key = tuple[str, int]  # path and index of a curve


class Bone(NamedTuple):
    """The keys of a bone of the scene."""

    keys: OriginalKeys
    track: "mmdskin.BoneTrack | None"  # of the file
    physics: np.ndarray  # (K,) bool
    physics_kept: bool  # as in the file


class Originals(NamedTuple):
    bones: dict[int, Bone]  # by index in the file
    sampled: bool  # whether the scene has to be read frame by frame for other bones
    motion: motion_source.Motion | None  # of the imported files
    files: list[kept_files.Kept]
    curves: dict[_Key, bpy.types.FCurve]  # of the armature
    expected: dict[actions.Block, original_keys.Curves]

    @property
    def off_frames(self) -> int:
        return sum(bone.keys.off_frames for bone in self.bones.values())


def find(
    model: scene_model.SceneModel, opened: motion_source.Motion, timing: Timing
) -> Originals | None:
    """None if anything besides an action and constraints moves the bones, like NLA strips.

    `opened` is any motion of the model, for its bones and axes.
    """
    armature = model.armature
    curves = curves_of(armature)
    if curves is None:
        return None
    files = _files(armature, opened.rig.pmx)
    motions = [opened.with_motion(file.motion, "", file.start, file.speed) for file in files]
    expected = original_keys.curves_of(model, motions) if motions else {}
    whole = merge.merged(motions) if motions else None
    bones, sampled = _bones(armature, opened, whole, curves, expected.get(armature, {}), timing)
    return Originals(bones, sampled, whole, files, curves, expected)


def _files(armature: bpy.types.Object, pmx: "mmdskin.Model") -> list[kept_files.Kept]:
    """The files that the armature's action was imported from."""
    action, _ = actions.assigned(armature)
    return kept_files.read(action, pmx) if action is not None else []


def curves_of(block: actions.Block) -> dict[_Key, bpy.types.FCurve] | None:
    """The curves that alone animate a datablock, by path and index; None if NLA strips do, too."""
    data = block.animation_data
    if data is None:
        return {}
    strips = any(
        not strip.mute for track in data.nla_tracks if not track.mute for strip in track.strips
    )
    if data.use_tweak_mode or (data.use_nla and strips):
        return None
    found = [curve for curves in actions.played(data) for curve in curves]
    return {(curve.data_path, curve.array_index): curve for curve in found}


def is_plain(curve: bpy.types.FCurve) -> bool:
    """Whether only the keyframes determine the curve's values."""
    return not (curve.mute or len(curve.modifiers) or curve.extrapolation != "CONSTANT")


def driven_paths(block: actions.Block) -> set[str]:
    data = block.animation_data
    return {curve.data_path for curve in data.drivers if not curve.mute} if data else set()


def points_of(
    curves: dict[Any, bpy.types.FCurve], channels: Sequence[Any]
) -> list[fcurves.Points | None]:
    """The keyframes of channels, None for those without any."""
    found = [curves.get(channel) for channel in channels]
    return [
        fcurves.points(curve) if curve is not None and len(curve.keyframe_points) else None
        for curve in found
    ]


def _bones(
    armature: bpy.types.Object,
    opened: motion_source.Motion,
    whole: motion_source.Motion | None,
    curves: dict[_Key, bpy.types.FCurve],
    expected: original_keys.Curves,
    timing: Timing,
) -> tuple[dict[int, Bone], bool]:
    """The keys of each bone, and whether there are bones with other animation or a pose of their own."""
    tracks = {track.name: track for track in whole.motion.bones} if whole else {}
    driven = driven_paths(armature)
    found: dict[int, Bone] = {}
    sampled = False
    for name, number in opened.rig.bones.items():
        pose_bone = armature.pose.bones[name]
        channels = _channels(pose_bone)
        own = [curves[channel] for channel in channels if channel in curves]
        if driven.intersection(path for path, _ in channels) or not all(map(is_plain, own)):
            sampled = True
            continue
        track = tracks.get(opened.rig.pmx.bones[number].name)
        if not own and (track is None or not any(channel in expected for channel in channels)):
            sampled |= not _is_at_rest(pose_bone)
            continue
        times = np.empty(0, np.float32)
        if whole is not None and track is not None:
            times = whole.scene_frames(track.frames).astype(np.float32)
        keys = original_tracks.match(
            points_of(curves, channels), [expected.get(channel) for channel in channels],
            times, timing,
        )  # fmt: skip
        if len(keys.numbers):
            found[number] = Bone(keys, track, *_physics(pose_bone, track, keys, curves, expected))
    return found, sampled


def _channels(bone: bpy.types.PoseBone) -> list[_Key]:
    paths = actions.bone_paths(bone.name)
    rotation, count = _ROTATIONS.get(bone.rotation_mode, ("rotation_euler", 3))
    return [
        *((paths["location"], index) for index in range(3)),
        *((paths[rotation], index) for index in range(count)),
    ]


def _is_at_rest(bone: bpy.types.PoseBone) -> bool:
    return bool((np.array(bone.matrix_basis) == np.eye(4)).all())


def _physics(
    bone: bpy.types.PoseBone,
    track: "mmdskin.BoneTrack | None",
    keys: OriginalKeys,
    curves: dict[_Key, bpy.types.FCurve],
    expected: original_keys.Curves,
) -> tuple[np.ndarray, bool]:
    """(K,) bool whether rigid bodies move the bone at each key, and whether that is the file's."""
    channel = actions.property_path(bone.name, PHYSICS), 0
    (actual,) = points_of(curves, [channel])
    is_on = bool(bone.get(PHYSICS, True))
    kept = _equal(actual, expected.get(channel)) and (actual is not None or is_on)
    if actual is not None:
        values = np.array([curves[channel].evaluate(time) for time in keys.times.tolist()])
    else:
        values = np.full(len(keys.times), is_on)
    switched = values > 0.5
    if kept and track is not None and track.physics is not None:
        switched = np.where(keys.of_file >= 0, track.physics[keys.of_file], switched)
    return switched, kept


def _equal(one: fcurves.Points | None, other: fcurves.Points | None) -> bool:
    if one is None or other is None:
        return one is other
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def switches_kept(originals: Originals, armature: bpy.types.Object) -> bool:
    """Whether the IK switches are still those of the files."""
    constraints_by_ik_bone = mmd_tools.by_ik_bone(armature)
    channels = [
        (actions.influence_path(bone.name, constraint.name), 0)
        for found in constraints_by_ik_bone.values()
        for bone, constraint in found
    ]
    expected = originals.expected.get(armature, {})
    toggled = any(path.endswith(mmd_tools.TOGGLE) for path, _ in originals.curves)
    muted = any(
        one.mute
        for found in constraints_by_ik_bone.values()
        for _, one in found
        if one.type == "IK"
    )
    driven = driven_paths(armature).intersection(path for path, _ in channels)
    return not (toggled or muted or driven) and all(
        _equal(actual, expected.get(channel))
        for channel, actual in zip(channels, points_of(originals.curves, channels), strict=True)
    )


def values_kept(originals: Originals, model: scene_model.SceneModel) -> bool:
    """Whether the keys of all shape keys and sliders are still those of the files."""
    for block in import_state.blocks(model):
        curves = curves_of(block)
        if curves is None or any(
            path.startswith(("key_blocks[", '["')) for path in driven_paths(block)
        ):
            return False
        expected = originals.expected.get(block, {})
        channels = [
            channel
            for channel in {**curves, **expected}
            if channel[0].startswith(("key_blocks[", '["'))
        ]
        for channel, actual in zip(channels, points_of(curves, channels), strict=True):
            if not _equal(actual, expected.get(channel)):
                return False
    return True


def opened(solver: Any, armature: bpy.types.Object) -> motion_source.Motion:
    """A motion without tracks for the model of a Solver."""
    empty = native.load().Motion.from_tracks()
    return motion_source.Motion(solver.rig, empty, "", armature, 0, 1)
