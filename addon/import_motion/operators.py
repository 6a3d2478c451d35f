# SPDX-License-Identifier: GPL-3.0-or-later
"""File > Import > MMD Motion: keyframes solved by mmdskin, the file's own keyframes, or the motion
file as pose source. Also imports the camera and the light of a file.
"""

import os
from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import BoolProperty, EnumProperty, IntProperty, StringProperty

from ..blender import actions, input_files, registration
from ..blender.translations import tr, tr_count
from ..blender.user_error import UserError, cancelled
from ..operators import properties
from ..operators.editing import Edit, editing
from ..operators.importing import Importer, scale_property
from ..pose import motion_source
from ..preview import switch
from ..scene import light as scene_light
from ..scene import model_file, scene_model
from . import (
    animated_model,
    camera,
    kept_files,
    light,
    original_keys,
    poses,
    record,
    solved_keys,
)
from .motion_import import PHYSICS, MotionImport, last_frame

if TYPE_CHECKING:
    import mmdskin

# Options that do not apply to a file without frames.
_OF_MOTIONS = {"frame_start", "step", "real_time", "replace", "extend_range", "scale"}


_declared, _physics = properties.motion_properties(), properties.physics_properties()
_Motion = properties.declaring(
    "_Motion",
    {
        "model_path": properties.motion_properties(options={"SKIP_SAVE"})["model_path"],
        "frame_start": _declared["motion_start"],
        "real_time": _declared["motion_real_time"],
        **{name: _physics[name] for name in PHYSICS},
    },
)


class MMDSKIN_OT_import_motion(_Motion, Importer, bpy.types.Operator):
    """Animate the active MMD model with a motion or pose file as in MMD, or import a camera motion"""

    bl_idname = "mmdskin.import_motion"
    bl_label = "Import MMD Motion"
    bl_options = {"REGISTER", "UNDO", "PRESET"}

    preferred = ("types", "mode", "step", "real_time", "replace", "extend_range", "scale")
    shown = (
        *("types", "mode", "frame_start", "step", "real_time", "replace", "extend_range", "scale"),
        *("model_path", *PHYSICS),
    )

    filename_ext = ".vmd"
    filter_glob: StringProperty(default="*.vmd;*.vpd", options={"HIDDEN"})
    types: EnumProperty(
        name="Import",
        description="Parts of the file to import",
        options={"ENUM_FLAG"},
        items=[
            ("MODEL", "Model Motion", "Bones and morphs of the active model"),
            ("CAMERA", "Camera", "Camera with MMD's keyframes, set as the scene's active camera"),
            ("LIGHT", "Light", "Keyframes of MMD's light and self-shadow, for the MMD Look"),
        ],
        default={"MODEL", "CAMERA", "LIGHT"},
    )
    mode: EnumProperty(
        name="Import As",
        description="How to apply the motion: as keyframes, or directly from the file",
        items=[
            (
                record.SOLVED,
                "Solved Keys",
                "Key all moving bones on every frame; matches MMD exactly, constraints are muted",
            ),
            (
                record.ORIGINAL,
                "Original Keys",
                (
                    "Import only the file's keyframes and curves, for editing; constraints"
                    " solve IK and append"
                ),
            ),
            ("FILE", "Motion File", "Read the motion file directly for MMD Skinning and bakes"),
        ],
        default=record.SOLVED,
    )
    step: IntProperty(
        name="Step",
        description="Scene frames from one keyframe to the next",
        default=1,
        min=1,
    )
    replace: BoolProperty(
        name="Replace",
        description="Remove imported motions and all bone keyframes first; if off, merge from the"
        " motion's first keyframe on, as MMD does",
        default=False,
    )
    extend_range: BoolProperty(
        name="Extend Range",
        description="Extend the scene's End to the end of the motion",
        default=True,
    )
    scale: scale_property(
        name="Camera Scale",
        description="Size of one MMD unit for the camera, the same as for the scene's models",
    )

    def is_used(self, option: str) -> bool:
        if option in _OF_MOTIONS and self.filepath.lower().endswith(".vpd"):
            return False
        moves = "MODEL" in self.types
        return {
            **dict.fromkeys(PHYSICS, moves and self.physics),
            "physics": moves,
            "mode": moves,
            "model_path": moves,
            "step": moves and self.mode == record.SOLVED,
            "replace": moves and self.mode != "FILE",
            "scale": "CAMERA" in self.types,
        }.get(option, True)

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if context.mode not in {"OBJECT", "POSE"}:
            cls.poll_message_set(tr("Switch to Object or Pose Mode first"))
            return False
        return True

    def execute(self, context: bpy.types.Context) -> set[Any]:
        try:
            if not self.types:
                raise UserError("Nothing to import: choose Model Motion, Camera or Light")
            camera_keys, lit = self._camera_keys(), self._has_light()
            models = []
            if (camera_keys is None and not lit) or self._has_model_motion():
                models.append(self._model(context))
            with editing(models, lambda model: self._open(model.armature, context.scene)) as edit:
                edit.on_failure(scene_light.disconnect_lost, context.scene)
                sun = scene_light.of_scene(context.scene)
                lights = [sun] if lit and sun is not None else []
                edit.save([*record.changed_objects(models), *lights], bpy.data.scenes)
                record.forget_old_range()
                for model, source in edit.checked:
                    self._move(MotionImport(self, model, context.scene, edit), source)
                if camera_keys is not None:
                    self._add_camera(context, camera_keys, edit)
                if lit:
                    self._key_light(context)
            return {"FINISHED"}
        except UserError as error:
            return cancelled(self, error)

    def _camera_keys(self) -> "mmdskin.CameraTrack | None":
        """The camera's track, None if it is not to be imported."""
        if "CAMERA" not in self.types or not self.filepath:
            return None
        track = self._file().camera
        return track if len(track.frames) else None

    def _has_light(self) -> bool:
        """Whether to import keyframes of the light or the self-shadow."""
        if "LIGHT" not in self.types or not self.filepath:
            return False
        motion = self._file()
        return len(motion.light.frames) > 0 or len(motion.shadow.frames) > 0

    def _has_model_motion(self) -> bool:
        motion = self._file()
        return "MODEL" in self.types and bool(motion.bones or motion.morphs)

    def _file(self) -> "mmdskin.Motion":
        input_files.choose(self.filepath)
        return model_file.load_motion(bpy.path.abspath(self.filepath))

    def _add_camera(
        self, context: bpy.types.Context, track: "mmdskin.CameraTrack", edit: Edit
    ) -> None:
        scene = context.scene
        speed = motion_source.speed(self._settings(scene))
        frames = self.frame_start + track.frames / speed
        for name in camera.clear(edit, scene, camera.imported(scene)):
            self.report({"WARNING"}, tr("The camera '{name}' was edited and is kept", name=name))
        path = os.path.abspath(bpy.path.abspath(self.filepath))
        added = camera.add(context, path, track, frames, self.scale)
        action, _ = actions.assigned(added.parent)
        kept_files.keep(action, [(path, self.frame_start, speed)])
        if self.extend_range:
            record.extend_range(scene, last_frame(scene, frames[-1]))
        self.report(
            {"INFO"},
            tr(
                "Added a camera with {keyframes}",
                keyframes=tr_count("1 keyframe", "{count} keyframes", len(frames)),
            ),
        )

    def _key_light(self, context: bpy.types.Context) -> None:
        scene, motion = context.scene, self._file()
        speed = motion_source.speed(self._settings(scene))
        frames, shadow_frames = (
            self.frame_start + track.frames / speed for track in (motion.light, motion.shadow)
        )
        path = os.path.abspath(bpy.path.abspath(self.filepath))
        file = (path, self.frame_start, speed)
        light.add(scene, motion.light, motion.shadow, frames, shadow_frames, file)
        if self.extend_range:
            last = max(0.0, *frames[-1:], *shadow_frames[-1:])
            record.extend_range(scene, last_frame(scene, last))
        self.report(
            {"INFO"},
            tr(
                "Keyed the MMD Light with {keyframes}",
                keyframes=tr_count("1 keyframe", "{count} keyframes", len(frames)),
            ),
        )

    def _model(self, context: bpy.types.Context) -> scene_model.SceneModel:
        if "MODEL" not in self.types:
            raise UserError(
                "'{file}' has no camera keyframes", file=os.path.basename(self.filepath)
            )
        return animated_model.active_model(context)

    def _move(self, job: MotionImport, source: motion_source.Motion) -> None:
        if self.mode != "FILE" and source.motion.morphs:
            job.tell_linked()
        if self.mode == "FILE":
            self._set_source(job, source)
        elif source.is_pose:
            poses.write(job, source)
        elif self.mode == record.ORIGINAL:
            original_keys.write(job, source)
        else:
            solved_keys.write(job, source)

    def _set_source(self, job: MotionImport, source: motion_source.Motion) -> None:
        model = job.model
        with record.recording(model.armature) as noted:
            noted.set_settings(
                model_path=source.rig.path,
                motion_path=source.path,
                motion_start=self.frame_start,
                motion_real_time=self.real_time,
                **{name: getattr(self, name) for name in PHYSICS},
                source="MOTION",
            )
            job.extend(noted, source)
        names = {"file": os.path.basename(source.path), "name": model.name}
        if switch.is_on(model.armature):
            self.report({"INFO"}, tr("'{file}' now animates '{name}'", **names))
        else:
            self.report(
                {"INFO"},
                tr(
                    "'{file}' will animate '{name}' once MMD Skinning is on or the model is baked",
                    **names,
                ),
            )

    def _settings(self, scene: bpy.types.Scene) -> motion_source.Settings:
        input_files.choose(self.model_path)
        return motion_source.Settings(
            self.model_path,
            self.filepath,
            self.frame_start,
            self.real_time,
            scene.render.fps / scene.render.fps_base,
        )

    def _open(self, armature: bpy.types.Object, scene: bpy.types.Scene) -> motion_source.Motion:
        scene_model.check_editable(armature)
        source = motion_source.load(armature, self._settings(scene))
        if source.unmatched.bones:
            self.report(
                {"WARNING"},
                tr_count(
                    "1 bone of the motion is missing in the model",
                    "{count} bones of the motion are missing in the model",
                    count=len(source.unmatched.bones),
                ),
            )
        return source


def _menu(self: bpy.types.Menu, context: bpy.types.Context) -> None:
    self.layout.operator(
        MMDSKIN_OT_import_motion.bl_idname, text="MMD Motion or Camera (.vmd, .vpd)"
    )


register, unregister = registration.functions(
    MMDSKIN_OT_import_motion, menus={"TOPBAR_MT_file_import": _menu}
)
