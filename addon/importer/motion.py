# SPDX-License-Identifier: GPL-3.0-or-later
"""File > Import > MMD motion: keyframes of the pose that mmdskin computes, or its motion source.

Every bone of the file is keyed so that it stands where MMD puts it, IK and appended motion solved.
Constraints that would move the bones once more are muted; simulated bones stay with the physics.
"""

import math
import os
from typing import NamedTuple

import bpy
import numpy as np
from bpy.props import BoolProperty, EnumProperty, IntProperty, StringProperty
from bpy_extras.io_utils import ImportHelper

from .. import motion_source, properties, scene_model
from ..translations import tr
from ..user_error import UserError, cancelled

_PHYSICS = "mmd_tools_rigid_track"  # constraint by which mmd_tools' rigid bodies move bones
_CHUNK = 256  # frames evaluated at once
_MOST = 100_000  # frames, near an hour; a stray key far out would take all memory
_LINEAR = 1  # of Keyframe.interpolation
_STILL = 1e-6  # change of a channel that counts as none, locations relative to the model's size


class Channels(NamedTuple):
    """What one bone does, in its own space."""

    name: str
    locations: np.ndarray  # (F, 3) float64
    rotations: np.ndarray  # (F, 4) float64 w x y z
    moves: bool  # it leaves its rest place at some frame


def bone_channels(armature, source, frames):
    """Channels of each bone of the file for frames of the scene, parents before children."""
    bones = list(armature.data.bones)
    names = [bone.name for bone in bones]
    number = {name: i for i, name in enumerate(names)}
    parts = np.array_split(frames, max(1, math.ceil(len(frames) / _CHUNK)))
    matrices = np.concatenate([source.matrices(names, part) for part in parts])
    size = max((bone.head_local.length for bone in bones), default=1.0)
    # What Blender will make of the parents' channels, so that no rounding is passed on.
    channels, shown = [], {}
    for bone in bones:
        wanted = matrices[:, number[bone.name]].astype(np.float64)
        if bone.name not in source.rig.bones:
            shown[bone.name] = wanted
            continue
        parent = shown[bone.parent.name] if bone.parent else np.eye(4)[None]
        rest = np.array(bone.matrix_local, np.float64)
        basis = np.linalg.inv(rest) @ _inverses(parent) @ wanted @ rest
        locations, rotations = basis[:, :3, 3], _quaternions(basis[:, :3, :3])
        _settle(locations, _STILL * size)
        _settle(rotations, _STILL)
        basis[:, :3, :3] = _matrices(rotations)
        shown[bone.name] = parent @ rest @ basis @ np.linalg.inv(rest)
        moves = bool(locations.any() or (np.abs(rotations[:, 1:]) > _STILL).any())
        channels.append(Channels(bone.name, locations.copy(), rotations, moves))
    return channels


def key_channels(model, source, frames):
    """{mesh object: {shape key: (F,) values}} for the keys that the motion moves."""
    result = {}
    for obj in model.meshes:
        keys = obj.data.shape_keys
        names = [key.name for key in keys.key_blocks] if keys else []
        names = [n for n, known in zip(names, source.known_keys(names), strict=True) if known]
        values = source.key_values(names, frames)
        result[obj] = {
            name: column
            for name, column in zip(names, values.T, strict=True)
            if column.any() or source.has_key_track(name)
        }
    return {obj: values for obj, values in result.items() if values}


def _inverses(matrices):
    """(F, 4, 4) of affine matrices; `np.linalg.inv` takes ten times as long for many small ones."""
    a, b, c = matrices[:, :3, :3].transpose(1, 0, 2)
    cofactors = np.stack([np.cross(b, c), np.cross(c, a), np.cross(a, b)], axis=2)
    result = np.tile(np.eye(4), (len(matrices), 1, 1))
    result[:, :3, :3] = cofactors / (a * cofactors[:, :, 0]).sum(axis=1)[:, None, None]
    result[:, :3, 3:] = -result[:, :3, :3] @ matrices[:, :3, 3:]
    return result


def _quaternions(matrices):
    """(F, 4) unit quaternions w x y z of rotations (F, 3, 3), without sudden changes of sign."""
    m = matrices / np.linalg.norm(matrices, axis=1, keepdims=True)
    diagonal = m[:, [0, 1, 2], [0, 1, 2]]
    # Four times the square of each component; the largest gives the others best.
    squares = 1 + np.stack(
        [diagonal.sum(1), *(2 * diagonal[:, i] - diagonal.sum(1) for i in range(3))], 1
    )
    a, b, c = m[:, 2, 1] - m[:, 1, 2], m[:, 0, 2] - m[:, 2, 0], m[:, 1, 0] - m[:, 0, 1]
    d, e, f = m[:, 1, 0] + m[:, 0, 1], m[:, 0, 2] + m[:, 2, 0], m[:, 2, 1] + m[:, 1, 2]
    w, x, y, z = squares.T
    choices = np.array([[w, a, b, c], [a, x, d, e], [b, d, y, f], [c, e, f, z]])
    result = choices[squares.argmax(axis=1), :, np.arange(len(m))]
    result /= np.linalg.norm(result, axis=1, keepdims=True)
    turns = (result[1:] * result[:-1]).sum(axis=1) < 0
    signs = np.cumprod(np.concatenate([[1 if result[0, 0] >= 0 else -1], np.where(turns, -1, 1)]))
    return result * signs[:, None]


def _matrices(quaternions):
    """(F, 3, 3) rotations of quaternions w x y z, whatever their length."""
    w, x, y, z = quaternions.T
    scale = 2 / (quaternions * quaternions).sum(axis=1)
    rows = [
        [1 - scale * (y * y + z * z), scale * (x * y - z * w), scale * (x * z + y * w)],
        [scale * (x * y + z * w), 1 - scale * (x * x + z * z), scale * (y * z - x * w)],
        [scale * (x * z - y * w), scale * (y * z + x * w), 1 - scale * (x * x + y * y)],
    ]
    return np.array(rows).transpose(2, 0, 1)


def _settle(values, tolerance):
    """Give channels (F, n) that do not change one value, and zero where that is meant."""
    still = np.ptp(values, axis=0) <= tolerance
    values[:, still] = np.median(values[:, still], axis=0)
    values[:, still & (np.abs(values[0]) <= tolerance)] = 0


def write_animation(model, channels, keys, frames):
    """Replace the keyframes of the channels' bones and of the keys."""
    armature = model.armature
    if channels:
        _release(armature, channels)
        holder = _holder(armature)
        _drop(holder, {path for one in channels for path in _bone_paths(one.name).values()})
        for one in channels:
            paths = _bone_paths(one.name)
            for name, values in (("location", one.locations), ("rotation", one.rotations)):
                for index, column in enumerate(values.T):
                    _add_curve(holder, paths[name], index, one.name, frames, column)
    for obj, values in keys.items():
        block = obj.data.shape_keys
        _unlock(block, values)
        holder = _holder(block)
        _drop(holder, {_key_path(name) for name in values})
        for name, column in values.items():
            _add_curve(holder, _key_path(name), 0, "", frames, column)


def write_pose(model, channels, keys):
    """Set bones and keys to the first frame of the channels, without keyframes."""
    if channels:
        _release(model.armature, channels)
    for one in channels:
        bone = model.armature.pose.bones[one.name]
        bone.location, bone.rotation_quaternion = one.locations[0], one.rotations[0]
    for obj, values in keys.items():
        _unlock(obj.data.shape_keys, values)
        for name, column in values.items():
            obj.data.shape_keys.key_blocks[name].value = column[0]


def _release(armature, channels):
    """Let nothing but the bones' own channels move them."""
    paths = set()
    for one in channels:
        bone = armature.pose.bones[one.name]
        bone.rotation_mode, bone.scale = "QUATERNION", (1, 1, 1)
        for constraint in bone.constraints:
            if constraint.name != _PHYSICS:
                constraint.mute = True
        paths.update(_bone_paths(one.name).values())
    _mute_drivers(armature, paths)


def _unlock(block, values):
    """Let the keys take the values."""
    _mute_drivers(block, {_key_path(name) for name in values})
    for name, column in values.items():
        key = block.key_blocks[name]
        key.slider_min = min(key.slider_min, float(column.min()))
        key.slider_max = max(key.slider_max, float(column.max()))


def _mute_drivers(block, paths):
    for curve in block.animation_data.drivers if block.animation_data else ():
        if curve.data_path in paths:
            curve.mute = True


def _bone_paths(name):
    path = f'pose.bones["{bpy.utils.escape_identifier(name)}"]'
    return {
        "location": f"{path}.location",
        "rotation": f"{path}.rotation_quaternion",
        "euler": f"{path}.rotation_euler",
        "axis": f"{path}.rotation_axis_angle",
        "scale": f"{path}.scale",
    }


def _key_path(name):
    return f'key_blocks["{bpy.utils.escape_identifier(name)}"].value'


def _holder(block):
    """What has the `fcurves` and `groups` of the datablock, in an action that is its alone.

    Until 4.3 that is the action itself, from 4.4 on the channelbag of a slot.
    """
    data = block.animation_data or block.animation_data_create()
    if data.action is None or data.action.library:
        data.action = bpy.data.actions.new(block.name)
    elif data.action.users > 1 + data.action.use_fake_user:
        data.action = data.action.copy()
    action = data.action
    if bpy.app.version < (4, 4):
        return action
    if data.action_slot is None:
        data.action_slot = action.slots.new(id_type=block.id_type, name=block.name)
    layer = action.layers[0] if action.layers else action.layers.new("Layer")
    strip = layer.strips[0] if layer.strips else layer.strips.new(type="KEYFRAME")
    return strip.channelbag(data.action_slot, ensure=True)


def _drop(holder, paths):
    for curve in [curve for curve in holder.fcurves if curve.data_path in paths]:
        holder.fcurves.remove(curve)


def _add_curve(holder, path, index, group, frames, values):
    """Linear keyframes; a single one where the value never changes."""
    curve = holder.fcurves.new(path, index=index)
    if group:
        curve.group = holder.groups.get(group) or holder.groups.new(group)
    count = len(frames) if np.ptp(values) else 1
    points = np.stack([frames[:count], values[:count]], axis=1).astype(np.float32)
    curve.keyframe_points.add(count)
    curve.keyframe_points.foreach_set("co", points.ravel())
    curve.keyframe_points.foreach_set("interpolation", np.full(count, _LINEAR, np.int32))
    curve.update()


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
        channels = [
            one
            for one in bone_channels(model.armature, source, [0.0])
            if one.moves or source.has_bone_track(one.name)
        ]
        keys = key_channels(model, source, [0.0])
        write_pose(model, channels, keys)
        self.report({"INFO"}, tr("Posed {count} bones", count=len(channels)))
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
        channels = bone_channels(model.armature, source, frames) if source.moves_bones else []
        keys = key_channels(model, source, frames)
        write_animation(model, channels, keys, frames)
        self._extend(source, scene)
        count = sum(len(values) for values in keys.values())
        self.report(
            {"INFO"},
            tr(
                "Keyed {bones} bones and {keys} shape keys on {frames} frames",
                bones=len(channels),
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
