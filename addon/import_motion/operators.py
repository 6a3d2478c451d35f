# SPDX-License-Identifier: GPL-3.0-or-later
"""File > Import > MMD Motion: keyframes solved by mmdskin, the file's own keyframes, or the motion
file as pose source. Also imports the camera and the light of a file. Clear Motion undoes these imports.
"""

import os
from typing import Any, NamedTuple

import bpy
from bpy.props import BoolProperty, EnumProperty, IntProperty, StringProperty
from bpy.types import Context, Object, Operator, Scene

from ..blender import file_access, playhead, registration
from ..blender.native import mmdskin
from ..blender.translations import tr, tr_count
from ..blender.user_error import UserError, cancels
from ..operator_base import properties
from ..operator_base.editing import Edit, editing
from ..operator_base.importing import Importer, camera_scale
from ..operator_base.model_operator import ModelOperator, PosingOperator
from ..pose import motion_source, scene_motion
from ..preview import switch
from ..scene import light as scene_light
from ..scene import model_file, saved_state, scene_model
from . import camera, import_state, light, original_keys, poses, solved_keys
from .motion_import import PHYSICS, MotionImport


class _File(NamedTuple):
    path: str
    motion: "mmdskin.Motion"
    parts: set[str]  # that are imported, of the operator's `types`


# Options that do not apply to a file without frames.
_OF_MOTIONS = ("frame_start", "step", "real_time", "replace", "extend_range", "scale")
_once = properties.declared(properties.MotionProperties, options={"SKIP_SAVE"})
_declared = properties.declared(properties.MotionProperties, properties.PhysicsProperties)
_Motion = properties.declaring(
    "_Motion",
    {
        "model_path": _once["model_path"],
        "frame_start": _declared["motion_start"],
        "real_time": _declared["motion_real_time"],
        **{name: _declared[name] for name in PHYSICS},
    },
)


class MMDSKIN_OT_import_motion(_Motion, PosingOperator, Importer, Operator):
    """Animate the selected MMD models with a motion or pose file as in MMD, or import a camera motion"""

    bl_idname = "mmdskin.import_motion"
    bl_label = "Import MMD Motion"
    bl_options = {"REGISTER", "UNDO", "PRESET"}

    preferred = ("types", "mode", "step", "real_time", "replace", "extend_range", "scale")
    shown = ("types", "mode", *_OF_MOTIONS, "model_path", *PHYSICS)

    filename_ext = ".vmd"
    filter_glob: StringProperty(default="*.vmd;*.vpd", options={"HIDDEN"})
    types: EnumProperty(
        name="Import",
        description="Parts of the file to import",
        options={"ENUM_FLAG"},
        items=[
            ("MODEL", "Model Motion", "Bones and morphs of the selected models"),
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
                import_state.SOLVED,
                "Solved Keys",
                "Key all moving bones on every frame; matches MMD exactly, constraints are muted",
            ),
            (
                import_state.ORIGINAL,
                "Original Keys",
                "Import only the file's keyframes and curves, for editing; constraints solve IK and append",
            ),
            (
                import_state.FILE,
                "Motion File",
                "Read the motion file directly for MMD Skinning and bakes",
            ),
        ],
        default=import_state.SOLVED,
    )
    step: IntProperty(
        name="Step", description="Scene frames from one keyframe to the next", default=1, min=1
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
    scale: camera_scale()

    def is_used(self, option: str) -> bool:
        if option in _OF_MOTIONS and self.filepath.lower().endswith(".vpd"):
            return False
        moves = "MODEL" in self.types
        return {
            **dict.fromkeys(PHYSICS, moves and self.physics),
            **dict.fromkeys(("physics", "mode", "model_path", "replace"), moves),
            "step": moves and self.mode == import_state.SOLVED,
            "scale": "CAMERA" in self.types,
        }.get(option, True)

    @cancels
    def execute(self, context: Context) -> set[Any]:
        if not self.types:
            raise UserError("Nothing to import: choose Model Motion, Camera or Light")
        files = [self._file(path) for path in self._paths()]
        file_access.choose(self.model_path)
        parts = set[str]().union(*(file.parts for file in files))
        moving = [file.path for file in files if "MODEL" in file.parts]
        models = []
        if moving:
            models = scene_model.selected_models(context, scene_model.active_model(context))
        scene = context.scene

        def opened(model: scene_model.SceneModel) -> list[motion_source.Motion]:
            path = self.model_path if model == models[0] else ""  # which is the active one's
            return self._open(model, scene, moving, path)

        with editing(models, opened) as edit:
            edit.on_failure(scene_light.disconnect_lost, scene)
            sun = scene_light.of_scene(scene)
            lights = [sun] if sun is not None and "LIGHT" in parts else []
            targets = camera.imported(scene) if "CAMERA" in parts else []
            changed = *import_state.changed_objects(models), *lights, *targets
            edit.save(changed, bpy.data.scenes)
            import_state.restore_range(forgets=True)
            for model, sources in edit.checked:
                for number, source in enumerate(sources):
                    replace = self.replace and number == 0
                    self._move(MotionImport(self, model, scene, edit, replace), source)
            for file in files:
                if "CAMERA" in file.parts:
                    self._add_camera(context, file, edit)
                if "LIGHT" in file.parts:
                    self._key_light(context, file)
        return {"FINISHED"}

    def _file(self, path: str) -> _File:
        """What to import of a file; UserError if that is nothing."""
        motion = model_file.load_motion(path)
        keys = {
            "MODEL": len(motion.bones) + len(motion.morphs),
            "CAMERA": len(motion.camera.frames),
            "LIGHT": len(motion.light.frames) + len(motion.shadow.frames),
        }
        parts = {part for part in self.types if keys[part]}
        if not parts and "MODEL" not in self.types:
            raise UserError("'{file}' has no camera keyframes", file=os.path.basename(path))
        return _File(path, motion, parts or {"MODEL"})  # opening it tells why it cannot

    def _add_camera(self, context: Context, file: _File, edit: Edit) -> None:
        scene, track = context.scene, file.motion.camera
        speed = motion_source.speed(self._settings(file.path, scene))
        frames = self.frame_start + track.frames / speed
        for name in camera.clear(edit, scene, camera.imported(scene)):
            self.caution("The camera '{name}' was edited and is kept", name=name)
        added = camera.add(context, file.path, track, frames, self.scale)
        least, most = camera.ANGLES
        beyond = int(((track.view_angles < least) | (track.view_angles > most)).sum())
        if beyond:
            self.caution(
                "1 camera keyframe has an angle of view that Blender cannot show: it shows"
                " {least} to {most} degrees",
                "{count} camera keyframes have an angle of view that Blender cannot show: it"
                " shows {least} to {most} degrees",
                count=beyond,
                least=least,
                most=most,
            )
        original_keys.keep(added.parent, [(file.path, self.frame_start, speed)])
        if self.extend_range:
            import_state.extend_range(scene, frames[-1])
        keyframes = tr_count("1 keyframe", "{count} keyframes", len(frames))
        self.inform("Added a camera with {keyframes}", keyframes=keyframes)

    def _key_light(self, context: Context, file: _File) -> None:
        scene, motion = context.scene, file.motion
        speed = motion_source.speed(self._settings(file.path, scene))
        frames = light.add(scene, motion, (file.path, self.frame_start, speed))
        if self.extend_range:
            import_state.extend_range(scene, frames.max(initial=0))
        keyframes = tr_count("1 keyframe", "{count} keyframes", len(motion.light.frames))
        self.inform("Keyed the MMD Light with {keyframes}", keyframes=keyframes)

    def _move(self, job: MotionImport, source: motion_source.Motion) -> None:
        job.follow_renames(source)
        if self.mode == import_state.FILE:
            self._set_source(job, source)
        elif source.is_pose:
            poses.write(job, source)
        elif self.mode == import_state.ORIGINAL:
            original_keys.write(job, source)
        else:
            solved_keys.write(job, source)

    def _set_source(self, job: MotionImport, newest: motion_source.Motion) -> None:
        """Animate the model by the file; a pose alone, a motion merged into earlier ones."""
        model, source = job.model, newest
        motions = [newest]
        if not newest.is_pose:
            earlier, converts = job.earlier(newest)
            motions = scene_motion.contributing([*earlier, newest])
            source = scene_motion.merged(motions)
            if job.replace or converts:
                job.clear()
        with job.recording(model.armature) as noted:
            if not newest.is_pose:
                noted.note_files(motions, import_state.FILE)
            below = [motion_source.Earlier(one.path, one.start) for one in motions[:-1]]
            noted.set_settings(
                model_path=newest.rig.path,
                motion_path=newest.path,
                motion_start=self.frame_start,
                motion_real_time=self.real_time,
                **{name: getattr(self, name) for name in PHYSICS},
                source=motion_source.SOURCE,
                motion_earlier=motion_source.written_earlier(below, newest.path),
            )
            job.extend(noted, source)
        names = {"file": os.path.basename(newest.path), "name": model.name}
        if switch.is_on(model.armature):
            self.inform("'{file}' now animates '{name}'", **names)
        else:
            self.inform(
                "'{file}' will animate '{name}' once MMD Skinning is on or the model is baked",
                **names,
            )

    def _settings(self, path: str, scene: Scene, model_path: str = "") -> motion_source.Settings:
        fps = playhead.fps(scene)
        return motion_source.Settings(model_path, path, self.frame_start, self.real_time, fps)

    def _open(
        self, model: scene_model.SceneModel, scene: Scene, paths: list[str], model_path: str
    ) -> list[motion_source.Motion]:
        scene_model.check_editable(model.armature)
        if self.mode != import_state.FILE:
            import_state.check_not_tweaked(model)
        settings = [self._settings(path, scene, model_path) for path in paths]
        found = [motion_source.load(model.armature, one) for one in settings]
        for encoding in sorted({source.motion.encoding for source in found} - {"cp932"}):
            self.inform("Names of the motion are read as {encoding}", encoding=encoding)
        named = {track.name for source in found for track in source.motion.bones}
        missing = {name for source in found for name in source.unmatched.bones}
        if missing:
            self.inform(
                "The model lacks 1 bone of the motion, which is ignored as in MMD; it has the other"
                " {found}",
                "The model lacks {count} bones of the motion, which are ignored as in MMD; it has"
                " the other {found}",
                count=len(missing),
                found=len(named) - len(missing),
            )
        return found


class MMDSKIN_OT_clear_motion(ModelOperator, Operator):
    """Remove the keyframes and settings of imported motions and restore what they replaced"""

    bl_idname = "mmdskin.clear_motion"
    bl_label = "Clear Motion"

    @classmethod
    def unavailable(cls, model: scene_model.SceneModel) -> str:
        blocks = import_state.blocks(model)
        has_motion = any(saved_state.is_own(block, saved_state.MOTION) for block in blocks)
        return "" if has_motion else tr("This model has no imported motion to clear")

    def models(self, context: Context) -> list[scene_model.SceneModel]:
        if self.all_models:
            return super().models(context)
        if _active(context):
            return []
        return scene_model.selected_models(context, scene_model.active_model(context))

    @cancels
    def execute(self, context: Context) -> set[Any]:
        scene = context.scene
        with editing(self.models(context), import_state.check_clearing) as edit:
            models = [model for model, _ in edit.checked]
            cameras, lights = self._cameras_and_lights(context, models)
            changed = *import_state.changed_objects(models), *lights, *cameras
            edit.save(changed, bpy.data.scenes)
            kept_cameras = camera.clear(edit, scene, cameras)
            moved = [model for model in models if not self.unavailable(model)]
            blocks = [block for model in moved for block in import_state.blocks(model)]
            in_strips = import_state.played_by_strips(blocks)
            kept = import_state.clear(edit, blocks)
            for sun in lights:
                kept += light.clear(edit, scene, sun)
            import_state.restore_range()
        for name in kept_cameras:
            self.caution("The camera '{name}' was edited and is kept", name=name)
        for name in kept:
            self.caution("Edited keyframes were kept in action '{name}'", name=name)
        for name in in_strips:
            self.caution("NLA strips still play the action '{name}': remove them", name=name)
        if moved:
            self.inform(
                "Cleared the motion of 1 model",
                "Cleared the motion of {count} models",
                count=len(moved),
            )
        elif cameras:
            self.inform("Cleared the imported camera")
        elif lights:
            self.inform("Cleared the imported light")
        else:
            self.caution("This model has no imported motion to clear")
            return {"CANCELLED"}
        return {"FINISHED"}

    def _cameras_and_lights(
        self, context: Context, models: list[scene_model.SceneModel]
    ) -> tuple[list[Object], list[Object]]:
        """The targets of cameras, and the light: what is active, or the files of the models' motions
        have keyed."""
        active, files = _active(context), import_state.files_of(models)

        def is_chosen(obj: Object, paths: set[str]) -> bool:
            return self.all_models or obj == active or not files.isdisjoint(paths)

        cameras = camera.imported(context.scene)
        cameras = [one for one in cameras if is_chosen(one, {camera.CameraState.read(one).path})]
        sun = light.imported(context.scene)
        if sun is None:
            return cameras, []
        keyed = {path for path, *_ in import_state.MotionState.read(sun).files}
        return cameras, [sun] if is_chosen(sun, keyed) else []


def _active(context: Context) -> Object | None:
    """The light with an imported motion, or the target of the imported camera, that is active."""
    active, sun = context.active_object, light.imported(context.scene)
    if active is not None and active == sun:
        return sun
    found = camera.imported(context.scene)
    return next((obj for obj in found if active and active in (obj, *obj.children)), None)


register, unregister = registration.operator(
    MMDSKIN_OT_import_motion, "TOPBAR_MT_file_import", text="MMD Motion or Camera (.vmd, .vpd)"
)
