# SPDX-License-Identifier: GPL-3.0-or-later
"""File > Import > MMD motion: keyframes of the pose that mmdskin computes, or its motion source.

Also the camera of a file.
"""

import itertools
import math
import os

import bpy
import numpy as np
from bpy.props import BoolProperty, EnumProperty, IntProperty, StringProperty

from .. import (
    ik_source,
    model_file,
    motion_source,
    physics_settings,
    playhead,
    properties,
    registration,
    rig_constraints,
)
from ..importing import Importer, scale_property
from ..physics import simulation
from ..preview import switch
from ..translations import tr
from ..user_error import UserError, cancelled
from . import camera, channels, keyframes, layers, moved_model, poses, record, tracks

# Options that mean nothing for a file without frames.
_OF_MOTIONS = {"frame_start", "step", "real_time", "replace", "extend_range", "scale"}
_MOST = 100_000  # frames, near an hour; a stray key far out would take all memory


_declared = properties.motion_properties()
_physics = properties.physics_properties()
del _physics["physics_start"]  # it begins with the motion
_Motion = properties.declaring(
    "_Motion",
    {
        "model_path": properties.motion_properties(options={"SKIP_SAVE"})["model_path"],
        "frame_start": _declared["motion_start"],
        "real_time": _declared["motion_real_time"],
        **_physics,
    },
)


class MMDSKIN_OT_import_motion(_Motion, Importer, bpy.types.Operator):
    """Move the active MMD model by a motion or pose file, as MMD plays it, or add its camera"""

    bl_idname = "mmdskin.import_motion"
    bl_label = "Import MMD Motion"
    bl_options = {"REGISTER", "UNDO", "PRESET"}

    preferred = ("types", "mode", "step", "real_time", "replace", "extend_range", "scale")
    shown = (
        *("types", "mode", "frame_start", "step", "real_time", "replace", "extend_range", "scale"),
        *("model_path", *_physics),
    )

    filename_ext = ".vmd"
    filter_glob: StringProperty(default="*.vmd;*.vpd", options={"HIDDEN"})
    types: EnumProperty(
        name="Import",
        description="The parts of the file to import",
        options={"ENUM_FLAG"},
        items=[
            ("MODEL", "Model Motion", "Bones and morphs, for the active model"),
            ("CAMERA", "Camera", "A camera with the keys of MMD's; the scene is seen through it"),
        ],
        default={"MODEL", "CAMERA"},
    )
    mode: EnumProperty(
        name="As",
        items=[
            (
                record.SOLVED,
                "Solved Keys",
                "Key all bones that move on every frame: they stand where MMD puts them, constraints rest",
            ),
            (
                record.OWN,
                "MMD's Own Keys",
                "Only the keys of the file with its curves, to be edited; constraints solve IK and append",
            ),
            ("SOURCE", "Motion Source", "Let the preview and the bake read the motion file"),
        ],
        default=record.SOLVED,
    )
    step: IntProperty(
        name="Step",
        description="Frames of the scene from one keyframe to the next",
        default=1,
        min=1,
    )
    replace: BoolProperty(
        name="Replace",
        description="Remove what was imported before and the keyframes of all bones of the model;"
        " else the motion is merged into them from its first keyframe on, as in MMD",
        default=False,
    )
    extend_range: BoolProperty(
        name="Extend Range",
        description="Let the scene end no earlier than the motion",
        default=True,
    )
    scale: scale_property(
        name="Camera Scale",
        description="Size of one MMD unit for the camera: that of the models of the scene",
    )

    def is_used(self, option):
        if option in _OF_MOTIONS and self.filepath.lower().endswith(".vpd"):
            return False
        moves = "MODEL" in self.types
        return {
            **dict.fromkeys(_physics, moves and self.physics),
            "physics": moves,
            "mode": moves,
            "model_path": moves,
            "step": moves and self.mode == record.SOLVED,
            "replace": moves and self.mode != "SOURCE",
            "scale": "CAMERA" in self.types,
        }.get(option, True)

    @classmethod
    def poll(cls, context):
        if context.mode not in {"OBJECT", "POSE"}:
            cls.poll_message_set(tr("Switch to object or pose mode first"))
            return False
        return True

    def execute(self, context):
        try:
            if not self.types:
                raise UserError("Nothing to import: choose the motion of the model or the camera")
            camera_keys = self._camera_keys()
            if camera_keys is None or self._has_model_motion():
                self._move_model(context)
            if camera_keys is not None:
                self._add_camera(context, camera_keys)
            return {"FINISHED"}
        except UserError as error:
            return cancelled(self, error)

    def _camera_keys(self):
        """The camera's track, None where none is to be imported."""
        if "CAMERA" not in self.types or not self.filepath:
            return None
        track = self._file().camera
        return track if len(track.frames) else None

    def _has_model_motion(self):
        motion = self._file()
        return "MODEL" in self.types and bool(motion.bones or motion.morphs)

    def _file(self):
        return model_file.load_motion(bpy.path.abspath(self.filepath))

    def _add_camera(self, context, track):
        scene = context.scene
        frames = self.frame_start + track.frames / motion_source.speed(self._settings(scene))
        camera.add(context, track, frames, self.scale)
        if self.extend_range:
            scene.frame_end = max(scene.frame_end, _last_frame(scene, frames[-1]))
        self.report({"INFO"}, tr("Added a camera with {count} keys", count=len(frames)))

    def _move_model(self, context):
        if "MODEL" not in self.types:
            raise UserError("'{file}' has no key of a camera", file=os.path.basename(self.filepath))
        model = moved_model.of_active(context)
        source = self._open(model.armature, context.scene)
        if self.mode != "SOURCE" and source.motion.morphs:
            self._tell_linked(model)
        if self.mode == "SOURCE":
            self._import_source(model, source, context.scene)
        elif source.is_pose:
            self._import_pose(model, source, context.scene)
        elif self.mode == record.OWN:
            self._import_own_keys(model, source, context.scene)
        else:
            self._import_keyframes(model, source, context.scene)

    def _simulated(self, source, newest, start=0):
        """The motion with physics from a frame of its on, where that is wanted."""
        if not self.physics:
            return source
        if source.speed != newest.speed:
            raise UserError(
                "Motions cannot be merged with physics at this frame rate:"
                " choose Replace, or 30 frames per second"
            )
        settings = physics_settings.Settings(
            self.physics_ground, self.physics_settle, self.physics_hz, start
        )
        return simulation.of(source, settings)

    def _by_bodies(self, source):
        return simulation.bones(source) if self.physics else set()

    def _settings(self, scene):
        return motion_source.Settings(
            self.model_path,
            self.filepath,
            self.frame_start,
            self.real_time,
            scene.render.fps / scene.render.fps_base,
        )

    def _open(self, armature, scene):
        moved_model.check_editable(armature)
        source = motion_source.open(armature, self._settings(scene))
        if source.unmatched.bones:
            self.report(
                {"WARNING"},
                tr(
                    "The model lacks {count} bones of the motion",
                    count=len(source.unmatched.bones),
                ),
            )
        return source

    def _import_pose(self, model, source, scene):
        """Set the pose. Keyframes would win over it: what they move is keyed at the current frame."""
        armature = model.armature
        keyed = [block for block in record.blocks(model) if keyframes.is_keyed(block)]
        if keyed:
            moved_model.check_not_tweaked(model)
        self.mode = self._form_of_pose(armature, armature in keyed)
        at = keyframes.At(playhead.time(scene), self.mode == record.SOLVED)
        source = source.with_motion(source.motion, source.path, at.frame, source.speed)
        if self.mode == record.OWN:
            posed = poses.own(model, source)
        else:
            below = self._imported(armature, source) if armature in keyed else []
            posed = poses.solved(model, source, below, self._simulated)
        with record.of(armature) as noted:
            where = at if armature in keyed else None
            if self.mode == record.OWN:
                muted = keyframes.pose_tracks(noted, posed.bones, where)
            else:
                muted = keyframes.pose_bones(noted, posed.bones, self.physics, where)
            keyframes.set_sliders(noted, posed.sliders, where)
            self._show_armature(noted, model, source)
        for block, values in posed.keys.items():
            with record.of(block) as noted:
                muted += keyframes.set_keys(noted, values, at if block in keyed else None)
        count = len(posed.bones)
        if armature in keyed:
            text = tr(
                "Keyed a pose of {count} bones at frame {frame}",
                count=count,
                frame=scene.frame_current,
            )
        else:
            text = tr("Posed {count} bones", count=count)
        self.report({"INFO"}, text)
        self._tell_muted(muted)

    def _form_of_pose(self, armature, keyed):
        """As the keys have it among which it comes, and as the pose source shows it."""
        state = record.Record(armature).state
        if state["files"]:
            return state["form"]
        by_constraints = keyed and any(rig_constraints.of(armature))
        solves = armature.mmdskin.source == ik_source.SOURCE
        return record.OWN if by_constraints or solves else self.mode

    def _import_source(self, model, source, scene):
        with record.of(model.armature) as noted:
            noted.set_settings(
                model_path=source.rig.path,
                motion_path=source.path,
                motion_start=self.frame_start,
                motion_real_time=self.real_time,
                **{name: getattr(self, name) for name in _physics},
                source="MOTION",
            )
            self._extend(noted, source, scene)
        names = {"file": os.path.basename(source.path), "name": model.name}
        if switch.is_on(model.armature):
            self.report({"INFO"}, tr("'{file}' moves '{name}'", **names))
        else:
            self.report(
                {"INFO"},
                tr("'{file}' will move '{name}' when MMD Skinning is on or baked", **names),
            )

    def _import_own_keys(self, model, newest, scene):
        moved_model.check_not_tweaked(model)
        earlier, anew = self._earlier(model.armature, newest)
        played = [*earlier, newest] if anew else [newest]
        bones = [tracks.of_bones(model.armature, one) for one in played]
        keys = [tracks.of_keys(model, one) for one in played]
        if self.replace or anew:
            self._clear(model)
        muted = 0
        with record.of(model.armature) as noted:
            noted.note_files(layers.needed([*earlier, newest]), record.OWN)
            if self.replace:
                keyframes.drop_bones(noted, newest.rig.bones)
            for one, of_one in zip(played, bones, strict=True):
                muted += keyframes.write_tracks(noted, of_one)
                keyframes.write_switches(noted, tracks.of_switches(one))
                keyframes.write_physics(noted, tracks.of_physics(one))
                keyframes.write_sliders(noted, tracks.of_sliders(model.armature, one))
                self._extend(noted, one, scene)
            self._show_armature(noted, model, newest)
        for block, values in (item for of_one in keys for item in of_one.items()):
            with record.of(block) as noted:
                muted += keyframes.write_own_keys(noted, values)
        self.report(
            {"INFO"},
            tr(
                "Keyed {bones} bones and {keys} shape keys by {count} keys of the file",
                bones=len(bones[-1]),
                keys=sum(map(len, keys[-1].values())),
                count=sum(len(track.frames) for track in bones[-1]),
            ),
        )
        self._tell_muted(muted)

    def _import_keyframes(self, model, newest, scene):
        moved_model.check_not_tweaked(model)
        earlier, anew = self._earlier(model.armature, newest)
        source = layers.joined([*earlier, newest])
        frames = self._frames(source if anew else newest, source, [] if anew else earlier)
        simulated = self._simulated(source, newest)
        if anew:
            bones, resting, keys = self._moved(model, source, simulated, [], frames)
        else:
            bones, resting, keys = self._moved(model, newest, simulated, earlier, frames)
        if self.replace or anew:
            self._clear(model)
        muted = 0
        with record.of(model.armature) as noted:
            noted.note_files(layers.needed([*earlier, newest]), record.SOLVED)
            if self.replace:
                keyframes.drop_bones(noted, resting)
            muted += keyframes.lay_to_rest(noted, resting, self.physics)
            if bones:
                muted += keyframes.write_bones(noted, bones, frames, self.replace, self.physics)
            keyframes.write_sliders(noted, channels.of_sliders(model.armature, source, frames))
            self._extend(noted, source, scene)
            self._show_armature(noted, model, newest)
        for block, values in keys.items():
            with record.of(block) as noted:
                muted += keyframes.write_keys(noted, values, frames, self.replace)
        self.report(
            {"INFO"},
            tr(
                "Keyed {bones} bones and {keys} shape keys on {frames} frames",
                bones=len(bones),
                keys=sum(map(len, keys.values())),
                frames=len(frames),
            ),
        )
        self._tell_muted(muted)

    def _earlier(self, armature, newest):
        """The motions that stay below the newest, and whether their keyframes have another form.

        Then all is keyed anew.
        """
        if self.replace:
            return [], False
        state = record.Record(armature).state
        return self._imported(armature, newest), bool(state["files"]) and state["form"] != self.mode

    def _imported(self, armature, newest):
        """The motions that the keyframes play, of those that are still there."""
        motions = []
        for path, start, speed in record.Record(armature).state["files"]:
            try:
                motion = model_file.load_motion(path)
            except UserError as error:
                self.report(
                    {"WARNING"},
                    tr("Solved without a motion that was imported before: {reason}", reason=error),
                )
                continue
            motions.append(newest.with_motion(motion, path, start, speed))
        return motions

    def _clear(self, model):
        for name in record.clear([model])[1]:
            self.report({"WARNING"}, tr("Other keyframes are kept in action '{name}'", name=name))

    def _frames(self, newest, source, earlier):
        """The frames of the scene to key: from where the motion changes something to where all end."""
        first, last = newest.scene_range[0], source.scene_range[1]
        first, last = math.ceil(first), max(math.floor(last), math.ceil(first))
        changed = layers.changed_from(layers.joined(earlier), newest) if earlier else math.inf
        start = math.floor(min(changed, first))
        parts = [range(start, first, self.step), range(first, last, self.step)]
        count = sum(map(len, parts)) + 1
        if count > _MOST:
            raise UserError(
                "'{file}' would be keyed on {count} frames, more than {most}: choose a larger step",
                file=os.path.basename(newest.path),
                count=count,
                most=_MOST,
            )
        return np.array([*itertools.chain(*parts), last], np.float64)

    def _moved(self, model, newest, source, earlier, frames):
        """Channels of bones and values of shape keys that the newest motion changes.

        Also of bones that have no keyframes yet: they stand where MMD has them. The names of those
        among them that always stay at rest come second, and need none.
        """
        was = layers.joined(earlier) if earlier else None
        bones, resting, keys = [], [], channels.of_keys(model, source, frames)
        if newest.moves_bones:
            bones = channels.of_bones(model.armature, source, frames)
            others = channels.of_bones(model.armature, was, frames) if was else None
            moved = channels.moved_bones(bones, others, newest) | self._by_bodies(source)
            keyed = keyframes.keyed_bones(model.armature)
            stays = set() if self.replace else keyed - moved
            bones = [bone for bone in bones if bone.name not in stays]
            resting = [bone.name for bone in bones if not bone.moves and bone.name not in moved]
            bones = [bone for bone in bones if bone.moves or bone.name in moved]
        keys_before = channels.of_keys(model, was, frames) if was else {}
        return bones, resting, channels.moved_keys(keys, keys_before, newest)

    def _show_armature(self, noted, model, source):
        """Keyframes are seen where the pose is not a file's, solved ones where nothing is solved.

        What physics makes of own keys is simulated as MMD's IK solves them.
        """
        if self.physics and self.mode == record.OWN:
            settings = {name: getattr(self, name) for name in _physics}
            noted.set_settings(model_path=source.rig.path, **settings, source=ik_source.SOURCE)
            self.report(
                {"INFO"},
                tr("The pose source is MMD's IK now: choose Simulate for its physics"),
            )
            return
        kept = {"ARMATURE", ik_source.SOURCE} if self.mode == record.OWN else {"ARMATURE"}
        if model.armature.mmdskin.source not in kept:
            noted.set_settings(source="ARMATURE")
            self.report(
                {"INFO"}, tr("The pose source of '{name}' is its armature now", name=model.name)
            )

    def _tell_linked(self, model):
        for obj in model.meshes:
            if obj.data.shape_keys and obj.data.library:
                text = tr("'{name}' has shape keys of another file: they stay still", name=obj.name)
                self.report({"WARNING"}, text)

    def _tell_muted(self, count):
        if count:
            self.report(
                {"WARNING"},
                tr(
                    "Muted {count} constraints and drivers that would disturb the motion:"
                    " Clear Motion brings them back",
                    count=count,
                ),
            )

    def _extend(self, noted, source, scene):
        if self.extend_range:
            noted.extend(scene, _last_frame(scene, source.scene_range[1]))


def _last_frame(scene, time):
    """The frame of the scene by which animation has reached a time."""
    return min(math.floor(time / playhead.stretch(scene)), properties.FRAMES["max"])


def _menu(self, context):
    self.layout.operator(
        MMDSKIN_OT_import_motion.bl_idname, text="MMD motion or camera (.vmd, .vpd)"
    )


register, unregister = registration.of(
    MMDSKIN_OT_import_motion, menus={"TOPBAR_MT_file_import": _menu}
)
