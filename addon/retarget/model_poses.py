# SPDX-License-Identifier: GPL-3.0-or-later
"""The poses of an MMD model over frames, from its pose source, and of any armature."""

from collections.abc import Generator
from types import SimpleNamespace
from typing import TYPE_CHECKING, NamedTuple

import bpy
import numpy as np

from ..blender import playhead
from ..blender.pose_evaluation import PoseFrames
from ..export_motion import samples
from ..operator_base.modal_job import Progress, frames_done
from ..pose import motion_source
from ..scene import scene_model, skeletons

if TYPE_CHECKING:
    import mmdskin


class Poses(NamedTuple):
    """Of a model's file."""

    skeleton: "mmdskin.Skeleton"
    matrices: np.ndarray  # (F, B, 4, 4) float64 in world space


def frames_of(scene: bpy.types.Scene) -> list[int]:
    first, last = playhead.frame_range(scene)
    return list(range(first, last + 1))


def fps_of(scene: bpy.types.Scene) -> float:
    """Frames of the scene per second of the animation."""
    return scene.render.fps / scene.render.fps_base


def of_model(
    context: bpy.types.Context, model: scene_model.SceneModel, frames: list[int]
) -> Generator[Progress, None, Poses]:
    scene = context.scene
    settings = motion_source.settings_of(model.armature, scene)
    if settings is not None and settings.physics is None:  # without evaluations
        motion = motion_source.load(model.armature, settings)
        times = motion.motion_frames(np.array(frames) * playhead.stretch(scene))
        return _in_world(motion.rig.pmx, motion.posed(times))
    options = SimpleNamespace(model_path="", physics="")
    sampler = samples.Sampler(model, scene, True, options)
    read = [model.armature, *model.meshes]
    with PoseFrames(context, read) as visited:
        for done, frame in enumerate(frames, 1):
            visited.go_to(frame)
            sampler.read(context.evaluated_depsgraph_get())
            yield frames_done(done, len(frames))
    found = sampler.result().matrices
    assert found is not None
    return _in_world(sampler.rig.pmx, found)


def of_armature(
    context: bpy.types.Context, armature: bpy.types.Object, frames: list[int]
) -> Generator[Progress, None, np.ndarray]:
    """(F, B, 4, 4) float64 of the bones that count."""
    names, found = skeletons.bones_of(armature), []
    with PoseFrames(context, [armature]) as visited:
        for done, frame in enumerate(frames, 1):
            visited.go_to(frame)
            depsgraph = context.evaluated_depsgraph_get()
            found.append(skeletons.poses(armature.evaluated_get(depsgraph), names))
            yield frames_done(done, len(frames))
    return np.array(found)


def _in_world(pmx: "mmdskin.Model", matrices: np.ndarray) -> Poses:
    world = matrices.astype(np.float64)
    places = np.array([bone.position for bone in pmx.bones], np.float64)
    world[..., :3, 3] += (world[..., :3, :3] @ places[:, :, None])[..., 0]
    return Poses(pmx.skeleton, world)
