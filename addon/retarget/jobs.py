# SPDX-License-Identifier: GPL-3.0-or-later
"""What the operators do, in steps: read poses frame by frame, retarget them, and write keys at the end.

The motion of an MMD model becomes an action of any humanoid armature; that of an armature becomes keys
of a model's own controls, imported as Import Motion imports files.
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import bpy
import numpy as np
from bpy.types import Context, Object, Scene

from ..blender import actions, file_access, native, playhead
from ..blender.native import mmdskin
from ..blender.translations import tr, tr_count
from ..export_motion import samples
from ..import_motion import import_state, original_keys, solved_keys
from ..import_motion.motion_import import PHYSICS, MotionImport
from ..operator_base.editing import editing
from ..operator_base.modal_job import Steps, fitted, read_frames
from ..pose import motion_source
from ..scene import model_file, scene_model, skeletons
from . import keys, rigify

Reports = list[tuple[Any, str]]  # arguments of `report`


def to_armature(
    context: Context, model: scene_model.SceneModel, armature: Object, frames: range, options: Any
) -> Steps[Reports]:
    """Key an armature. Closing it early leaves everything unchanged."""
    scene = context.scene
    _check(armature)
    world = skeletons.world(armature.evaluated_get(context.evaluated_depsgraph_get()))
    target = skeletons.complete(armature, world)
    source, poses = yield from _model_poses(context, model, frames)
    with skeletons.explained(armature.name):
        root: Any = "in_place" if options.in_place else "scaled"
        arguments = _arguments(options, scene)
        found = mmdskin.retarget(source, poses, target, root=root, **arguments)
    with editing([armature], _check) as edit:
        edit.save([armature])
        name = _name_of(model.armature, scene)
        wanted = skeletons.in_armature(found.transforms, world)
        bones = yield from _channels(context, armature, wanted)
        times = np.array(frames) * playhead.stretch(scene)
        action = keys.NewAction(armature, name, times, options.keys == "REDUCED")
        count = action.key_bones(bones)
        for switch in rigify.switches(armature):
            action.hold(actions.property_path(switch, rigify.SWITCH), 1.0, switch)
        kept = action.assign(options.as_strip)
    scene.frame_set(scene.frame_current, subframe=scene.frame_subframe)

    messages = [({"INFO"}, native.translated(note)) for note in found.notes]
    if kept:
        messages.append(({"INFO"}, tr("The action '{name}' is kept", name=kept)))
    constrained = [
        bone.name
        for bone in armature.pose.bones
        if any(not one.mute and one.influence > 0 for one in bone.constraints)
    ]
    if constrained and not skeletons.is_rigify(armature):  # whose constraints are for that
        text = tr(
            "Constraints of these bones change the retargeted pose: mute them: {names}",
            names=", ".join(constrained),
        )
        messages.append(({"WARNING"}, text))
    keyed = tr_count("1 bone", "{count} bones", count)
    text = tr("Keyed {bones} in the action '{name}'", bones=keyed, name=action.name)
    return [*messages, ({"INFO"}, text)]


def from_armature(
    context: Context, model: scene_model.SceneModel, armature: Object, frames: range, options: Any
) -> Steps[Reports]:
    """Key a model. Closing it early leaves everything unchanged."""
    scene = context.scene
    scene_model.check_editable(model.armature)
    pmx = model_file.rig(model.armature).pmx
    evaluated = armature.evaluated_get(context.evaluated_depsgraph_get())
    source = skeletons.complete(armature, skeletons.world(evaluated))
    names, name = skeletons.bones_of(armature), _name_of(armature, scene)
    if options.rest == "REST":
        source = source.replace(reference=source.rest)
    elif options.rest == "CURRENT":
        source = source.replace(reference=skeletons.poses(evaluated, names))
    poses = yield from read_frames(
        context, [armature], frames, lambda at: skeletons.poses(armature.evaluated_get(at), names)
    )
    with skeletons.explained(armature.name):
        arguments = {"legs": options.legs.lower(), "tolerance": options.tolerance}
        arguments |= _arguments(options, scene)
        fit = mmdskin.Fit(mmdskin.Motion.from_skeleton, pmx, source, np.array(poses), **arguments)
        motion, report = yield from fitted(fit)
    messages = notes_of(report)
    start = frames[0] * playhead.stretch(scene)
    import_motion(context, model, motion, name, start, lambda *message: messages.append(message))
    return messages


def notes_of(report: "mmdskin.FitReport") -> Reports:
    notes = [(name, native.translated(note)) for name, note in report.notes]
    return [({"INFO"}, f"{name}: {text}" if name else text) for name, text in notes]


def import_motion(
    context: Context,
    model: scene_model.SceneModel,
    motion: "mmdskin.Motion",
    name: str,
    start: float,
    report: Callable[[Any, str], Any],
    mode: str = import_state.ORIGINAL,
) -> None:
    """Replace the motion of a model; the action keeps the bytes of the file, for exports."""
    scene = context.scene
    path = os.path.join(bpy.app.tempdir, f"{bpy.path.clean_name(name)}.vmd")
    with file_access.writing(path, ValueError):
        motion.save(path)
    settings = motion_source.Settings("", path, start, True, playhead.fps(scene))
    source = motion_source.load(model.armature, settings)
    options = SimpleNamespace(
        **dict.fromkeys(PHYSICS), mode=mode, step=1, extend_range=True, report=report
    )
    with editing([model], import_state.check_clearing) as edit:
        edit.save(import_state.changed_objects([model]), bpy.data.scenes)
        import_state.restore_range(forgets=True)
        write = original_keys.write if mode == import_state.ORIGINAL else solved_keys.write
        write(MotionImport(options, model, scene, edit, replace=True), source)


def _check(armature: Object) -> None:
    """UserError if an armature cannot be keyed."""
    scene_model.check_editable(armature)
    actions.check_not_tweaked(armature)


def _arguments(options: Any, scene: Scene) -> dict[str, Any]:
    """Of `mmdskin.retarget` and what uses it."""
    return {
        "feet": options.feet == "FLOOR",
        "hands": options.hands,
        "scale": options.scale or None,
        "fps": playhead.fps(scene),
    }


def _name_of(armature: Object, scene: Scene) -> str:
    """A name for the motion that an armature shows."""
    settings = motion_source.settings_of(armature, scene)
    if settings is not None:
        return bpy.path.display_name_from_filepath(settings.motion_path)
    action, _ = actions.assigned(armature)
    return action.name if action is not None else armature.name


def _model_poses(
    context: Context, model: scene_model.SceneModel, frames: range
) -> "Steps[tuple[mmdskin.Skeleton, mmdskin.Pose]]":
    """The skeleton of a model's file, and the pose of its pose source."""
    scene = context.scene
    settings = motion_source.settings_of(model.armature, scene)
    if settings is not None and settings.physics is None:  # without evaluations
        motion = motion_source.load(model.armature, settings)
        times = motion.motion_frames(np.array(frames) * playhead.stretch(scene))
        pmx, matrices = motion.rig.pmx, motion.posed(times)
    else:
        options = SimpleNamespace(model_path="", physics="")
        sampler = samples.Sampler(model, scene, True, options)
        objects = [model.armature, *model.meshes]
        rows = yield from read_frames(context, objects, frames, sampler.read)
        pmx, matrices = sampler.rig.pmx, sampler.samples(rows).pose[0]
    return pmx.skeleton, mmdskin.Pose(matrices, None)


def _channels(context: Context, armature: Object, poses: np.ndarray) -> Steps[keys.BoneValues]:
    """The channels that show poses (F, B, 4, 4); what they do not key is at rest."""
    for bone in armature.pose.bones:
        bone.matrix_basis.identity()
    if not skeletons.is_rigify(armature):
        return keys.channels(armature, poses)
    with _alone(armature):
        names = skeletons.bones_of(armature)
        return (yield from rigify.channels(context, armature, names, poses))


@contextlib.contextmanager
def _alone(armature: Object) -> Iterator[None]:
    """In the block, no action or strip moves an armature."""
    data = armature.animation_data or armature.animation_data_create()
    action, slots = actions.assigned(armature)
    uses_nla, data.use_nla, data.action = data.use_nla, False, None
    try:
        yield
    finally:
        data.use_nla = uses_nla
        actions.assign(armature, action, slots)
