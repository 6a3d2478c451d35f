# SPDX-License-Identifier: GPL-3.0-or-later
"""A bake as a job: check everything, compute frame by frame, and change the scene only at the end.

So an error or a cancel leaves the scene unchanged.
"""

import contextlib

from bpy.types import Context, Depsgraph, Object

from ..blender.pose_evaluation import PoseFrames
from ..blender.translations import tr
from ..blender.user_error import UserError
from ..operator_base import modal_job
from ..operator_base.editing import editing
from ..physics import playback
from ..physics.group import Member
from ..pose import ik_source, pose_source, skinner
from ..pose.deformation import Deformation
from ..preview import switch
from ..scene import mesh_source, scene_model
from . import bake_state, joint_keys, mesh_cache, shape_keys, sliders, sources
from .frames import Options
from .target import Target

_TARGETS: dict[str, type[Target]] = {
    "SHAPE_KEYS": shape_keys.ShapeKeys,
    "MESH_CACHE": mesh_cache.MeshCache,
    "CORRECTIVE": shape_keys.Corrective,
}
_BLOCK = 1 << 21  # vertices times frames that are posed together
# A model, its pose source settings (None for Blender's pose) and its deformation.
Wanted = tuple[scene_model.SceneModel, pose_source.Settings | None, Deformation]


def bake(context: Context, wanted: list[Wanted], options: Options) -> modal_job.Steps[list[Target]]:
    """Returns the targets; closing it early leaves everything unchanged."""
    depsgraph = context.evaluated_depsgraph_get()
    for model, *_ in wanted:
        _check(model, depsgraph, options.target)
    models = [_poses(*one, options) for one in wanted]
    targets = [target for model in models for target in model.targets]
    done = False
    try:
        for target in targets:
            target.start()
        with sliders.temporarily_restored(
            [(target.obj, target.state.sliders) for target in targets if target.state]
        ):
            yield from _simulate(context, models, options)
            yield from _read(context, models, options)
        for target in targets:
            target.check_unchanged()
            for fraction in target.finish():
                name = target.obj.name
                text = tr("MMD Skin: choosing keys of '{name}'   Esc: cancel", name=name)
                yield modal_job.Progress(fraction, text)
        _write(targets)
        done = True
        return targets
    finally:
        for target in targets:
            target.close(done)


def _simulate(
    context: Context, models: list[sources.Poses], options: Options
) -> modal_job.Steps[None]:
    """The physics that no file has."""
    simulated = [model.source for model in models if model.source is not None]
    if options.moves:
        frames = options.visited
        yield from playback.simulate(context, simulated, frames[0], frames[-1])
        return
    for source in simulated:
        source.load(scene=context.scene)


def _read(context: Context, models: list[sources.Poses], options: Options) -> modal_job.Steps[None]:
    """Pass the poses to the targets, in blocks of frames.

    If they are read from the scene, its frame changes for each, and is restored.
    """
    frames = options.visited
    targets = [target for model in models for target in model.targets]
    vertices = sum(target.skinner.vertex_count for target in targets)
    size = max(1, min(32, _BLOCK // max(vertices, 1)))
    with contextlib.ExitStack() as stack:
        scene_frames: PoseFrames | None = None
        if options.moves and any(model.moves_scene for model in models):
            read = [*(model.armature for model in models), *(one.obj for one in targets)]
            scene_frames = stack.enter_context(PoseFrames(context, read, mute_keys=True))
            size = 1
        for first in range(0, len(frames), size):
            block = frames[first : first + size]
            if scene_frames is not None:
                scene_frames.go_to(block[0])
            depsgraph = context.evaluated_depsgraph_get()
            for model in models:
                model.give(block, depsgraph)
            yield modal_job.frames_done(first + len(block), len(frames), scene_frames)


def _poses(
    model: scene_model.SceneModel,
    settings: pose_source.Settings | None,
    deformation: Deformation,
    options: Options,
) -> sources.Poses:
    """The poses of a model, with a target for each mesh."""
    meshes = [
        obj
        for obj in model.meshes
        if len(obj.data.vertices) and mesh_source.deforming_bones(obj, model.armature)[0]
    ]
    if not meshes:
        raise skinner.nothing_to_skin(model)
    kind = joint_keys.Driven if options.drives else _TARGETS[options.target]
    targets = [kind(obj, model.armature, deformation, options) for obj in meshes]
    if settings is None:
        return sources.Poses(model.armature, targets)
    source = playback.Baked(Member(model, pose_source.load(model.armature, settings)))
    by_ik = isinstance(source.opened, ik_source.Solver)
    kind_of_poses = sources.IkPoses if by_ik else sources.MotionPoses
    return kind_of_poses(model.armature, targets, source)


def _check(model: scene_model.SceneModel, depsgraph: Depsgraph, target: str) -> None:
    _check_evaluated(model.armature, depsgraph)
    skinner.check_mode(model.armature)
    for obj in model.meshes:
        bake_state.check_writable(obj, target)
        _check_evaluated(obj, depsgraph)
        skinner.check_modifiers(obj, model.armature)
        pose_source.mesh_from_armature(  # raises an error if one has no inverse
            model.armature.evaluated_get(depsgraph), obj.evaluated_get(depsgraph)
        )
        keys = obj.data.shape_keys
        if keys and keys.animation_data and keys.animation_data.use_tweak_mode:
            raise UserError(
                "The shape keys of '{name}' are in NLA Tweak Mode: leave it first", name=obj.name
            )


def _check_evaluated(obj: Object, depsgraph: Depsgraph) -> None:
    # Pose, transform and key values of an object that Blender does not evaluate are stale.
    if not obj.evaluated_get(depsgraph).is_evaluated:
        raise UserError("'{name}' is disabled in viewports: enable it first", name=obj.name)


def _write_mesh(target: Target) -> None:
    obj, options, state = target.obj, target.options, target.state
    live = False
    if state is not None and not target.adds_to_earlier:
        live, state = bake_state.clear_mesh(obj, state), None
    if state is None:
        state = bake_state.begin(obj, target.armature, live)
    state.target, state.deformation = options.target, list(target.deformation)
    if options.moves:
        state.frames = [int(options.frames[0]), int(options.frames[-1])]
        state.samples = options.samples
    target.write(state)
    state.write(obj)
    obj.data.update_tag()


def _write(targets: list[Target]) -> None:
    with editing(targets, Target.check_unchanged) as edit:
        armatures = dict.fromkeys(target.armature for target in targets)
        live = [obj for armature in armatures for obj in switch.objects_of(armature)]
        edit.save([*(target.obj for target in targets), *live])
        for target in targets:
            _write_mesh(target)
