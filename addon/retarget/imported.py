# SPDX-License-Identifier: GPL-3.0-or-later
"""Import a motion that was made here, as Import Motion imports files."""

import os
from types import SimpleNamespace
from typing import TYPE_CHECKING

import bpy

from ..blender import reader_texts
from ..blender.user_error import UserError
from ..import_motion import import_state, original_keys, solved_keys
from ..import_motion.motion_import import PHYSICS, MotionImport
from ..operator_base.editing import editing
from ..pose import motion_source
from ..scene import scene_model
from . import model_poses

if TYPE_CHECKING:
    import mmdskin


def key(
    operator: bpy.types.Operator,
    context: bpy.types.Context,
    model: scene_model.SceneModel,
    motion: "mmdskin.Motion",
    name: str,
    start: float,
    mode: str = import_state.ORIGINAL,
) -> None:
    """Replace the motion of a model; the action keeps the bytes of the file, for exports."""
    scene, armature = context.scene, model.armature
    path = os.path.join(bpy.app.tempdir, f"{bpy.path.clean_name(name)}.vmd")
    try:
        motion.save(path)
    except (OSError, ValueError) as error:
        raise UserError(
            "'{file}' cannot be written: {reason}", file=os.path.basename(path), reason=error
        ) from error
    fps = model_poses.fps_of(scene)

    def opened(model: scene_model.SceneModel) -> motion_source.Motion:
        scene_model.check_editable(armature)
        return motion_source.load(armature, motion_source.Settings("", path, start, True, fps))

    options = SimpleNamespace(
        **dict.fromkeys(PHYSICS), mode=mode, step=1, extend_range=True, report=operator.report
    )
    with editing([model], opened) as edit:
        edit.save(import_state.changed_objects([model]), bpy.data.scenes)
        import_state.forget_old_range()
        write = original_keys.write if mode == import_state.ORIGINAL else solved_keys.write
        for one, source in edit.checked:
            write(MotionImport(options, one, scene, edit, replace=True), source)


def tell(operator: bpy.types.Operator, report: "mmdskin.FitReport") -> None:
    for name, note in report.notes:
        text = reader_texts.translated(note)
        operator.report({"INFO"}, f"{name}: {text}" if name else text)
