# SPDX-License-Identifier: GPL-3.0-or-later
"""File > Import > MMD motion: keyframes of the pose that mmdskin computes, or its motion source."""

import math
import os

import bpy
import numpy as np
from bpy.props import BoolProperty, EnumProperty, IntProperty, StringProperty
from bpy_extras.io_utils import ImportHelper

from .. import motion_source, properties, scene_model
from ..translations import tr
from ..user_error import UserError, cancelled
from . import channels, keyframes

_MOST = 100_000  # frames, near an hour; a stray key far out would take all memory


class MMDSKIN_OT_import_motion(bpy.types.Operator, ImportHelper):
    """Move the active MMD model by a motion or pose file, as MMD plays it"""

    bl_idname = "mmdskin.import_motion"
    bl_label = "Import MMD Motion"
    bl_options = {"REGISTER", "UNDO", "PRESET"}

    filename_ext = ".vmd"
    filter_glob: StringProperty(default="*.vmd;*.vpd", options={"HIDDEN"})
    model_path: StringProperty(
        name="Model File",
        description="PMX or PMD file of the model; empty: the file that it was imported from",
        subtype="FILE_PATH",
        options={"SKIP_SAVE"},
    )
    mode: EnumProperty(
        name="As",
        items=[
            ("BAKED", "Keyframes", "Key bones and shape keys as MMD plays the motion, IK solved"),
            ("SOURCE", "Motion Source", "Let the preview and the bake read the motion file"),
        ],
        default="BAKED",
    )
    frame_start: IntProperty(
        name="Start",
        description="Frame of the scene at which frame 0 of the motion plays",
        default=1,
        **properties.FRAMES,
    )
    real_time: BoolProperty(
        name="Real Time",
        description="Play 30 frames of the motion per second, whatever frame rate the scene has;"
        " else one frame of the motion per frame of the scene",
        default=True,
    )
    step: IntProperty(
        name="Step",
        description="Frames of the scene from one keyframe to the next",
        default=1,
        min=1,
    )
    extend_range: BoolProperty(
        name="Extend Frame Range",
        description="Let the scene end no earlier than the motion",
        default=True,
    )

    @classmethod
    def poll(cls, context):
        if context.mode not in {"OBJECT", "POSE"}:
            cls.poll_message_set(tr("Switch to object or pose mode first"))
            return False
        return True

    def execute(self, context):
        try:
            model = _model(context)
            source = self._open(model.armature, context.scene)
            if self.mode == "SOURCE":
                return self._import_source(model, source, context.scene)
            if source.is_pose:
                return self._import_pose(model, source)
            return self._import_keyframes(model, source, context.scene)
        except UserError as error:
            return cancelled(self, error)

    def _open(self, armature, scene):
        _check_editable(armature)
        source = motion_source.open(
            armature,
            self.model_path,
            self.filepath,
            self.frame_start,
            self.real_time,
            scene.render.fps / scene.render.fps_base,
        )
        if source.unmatched.bones:
            self.report(
                {"WARNING"},
                tr(
                    "The model lacks {count} bones of the motion",
                    count=len(source.unmatched.bones),
                ),
            )
        return source

    def _import_pose(self, model, source):
        bones = [
            bone
            for bone in channels.of_bones(model.armature, source, [0.0])
            if bone.moves or source.has_bone_track(bone.name)
        ]
        keys = channels.of_keys(model, source, [0.0])
        keyframes.write_pose(model, bones, keys)
        self.report({"INFO"}, tr("Posed {count} bones", count=len(bones)))
        return {"FINISHED"}

    def _import_source(self, model, source, scene):
        settings = model.armature.mmdskin
        settings.model_path, settings.motion_path = source.rig.path, source.path
        settings.motion_start, settings.motion_real_time = self.frame_start, self.real_time
        settings.source = "MOTION"
        self._extend(source, scene)
        file = os.path.basename(source.path)
        self.report({"INFO"}, tr("'{file}' moves '{name}'", file=file, name=model.name))
        return {"FINISHED"}

    def _import_keyframes(self, model, source, scene):
        first, last = source.scene_range
        first, last = math.ceil(first), max(math.floor(last), math.ceil(first))
        count = len(range(first, last, self.step)) + 1
        if count > _MOST:
            raise UserError(
                "'{file}' would be keyed on {count} frames, more than {most}: choose a larger step",
                file=os.path.basename(source.path),
                count=count,
                most=_MOST,
            )
        frames = np.array([*range(first, last, self.step), last], np.float64)
        bones = channels.of_bones(model.armature, source, frames) if source.moves_bones else []
        keys = channels.of_keys(model, source, frames)
        keyframes.write_animation(model, bones, keys, frames)
        self._extend(source, scene)
        count = sum(len(values) for values in keys.values())
        self.report(
            {"INFO"},
            tr(
                "Keyed {bones} bones and {keys} shape keys on {frames} frames",
                bones=len(bones),
                keys=count,
                frames=len(frames),
            ),
        )
        return {"FINISHED"}

    def _extend(self, source, scene):
        if self.extend_range:
            last = min(math.floor(source.scene_range[1]), properties.FRAMES["max"])
            scene.frame_end = max(scene.frame_end, last)


def _model(context):
    """The model of the active object; an armature need not have a mesh."""
    try:
        return scene_model.of_object(context.active_object, context.view_layer)
    except UserError:
        obj = context.active_object
        if obj is None or obj.type != "ARMATURE":
            raise
        return scene_model.SceneModel(obj.name, obj, ())


def _check_editable(armature):
    if armature.library or (armature.override_library and armature.override_library.is_system):
        raise UserError(
            "'{name}' is linked from another file: make a library override first",
            name=armature.name,
        )


def _menu(self, context):
    self.layout.operator(MMDSKIN_OT_import_motion.bl_idname, text="MMD motion (.vmd, .vpd)")


def register():
    if not MMDSKIN_OT_import_motion.is_registered:
        bpy.utils.register_class(MMDSKIN_OT_import_motion)
        bpy.types.TOPBAR_MT_file_import.append(_menu)


def unregister():
    if MMDSKIN_OT_import_motion.is_registered:
        bpy.types.TOPBAR_MT_file_import.remove(_menu)
        bpy.utils.unregister_class(MMDSKIN_OT_import_motion)
