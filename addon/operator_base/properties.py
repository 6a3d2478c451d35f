# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings that models and operators share; a model's are `armature.mmdskin`.

An operator's property that is not set has the value of the model's setting.
"""

import inspect
import itertools
from collections.abc import Callable, Mapping
from typing import Any

from bpy.props import (
    BoolProperty,
    EnumProperty,
    FloatProperty,
    FloatVectorProperty,
    IntProperty,
    StringProperty,
)
from bpy.types import Scene

from ..blender import playhead
from ..blender.blender_versions import HAS_FREE_NORMALS, RELATIVE_PATHS
from ..pose import deformation, driving_rig, ik_source, physics_settings

FRAMES: dict[str, Any] = {"min": -1048574, "max": 1048574}  # Blender's frame limits
# Of an option that says by how much a motion may differ.
TOLERANCE: dict[str, Any] = {
    "min": 1e-5,
    "max": 10.0,
    "soft_min": 0.001,
    "soft_max": 1.0,
    "precision": 3,
    "step": 1,
}


class DeformationProperties:
    """How vertices follow bones."""

    deformation: EnumProperty(
        name="Deformation",
        description="How vertices follow bones, in the viewport and in bakes",
        items=[
            ("MMD", "As in MMD", "Use each vertex's deform type from the model file, to match MMD"),
            (
                "LINEAR",
                "Linear",
                "Blend bones like Blender's Armature modifier and game engines, to preview an export with bones",
            ),
            (
                "DUAL_QUATERNION",
                "Dual Quaternions",
                "Preserve volume when limbs twist, although bent joints bulge; best for twisting limbs",
            ),
            (
                "BULGE_FREE",
                "Bulge-Free",
                "Dual quaternions without bulging joints, but with thinner creases; best for elbows and knees",
            ),
            (
                "BULGE_COMPENSATED",
                "Bulge-Compensated",
                "Dual quaternions with most of the bulge removed; a fast choice for narrow weights that bend far",
            ),
            (
                "CENTERS_OF_ROTATION",
                "Centers of Rotation",
                "Rotate each vertex about a center computed from the weights, so that skin and clothes bend alike",
            ),
        ],
        default="MMD",
    )
    correction: FloatProperty(
        name="Correction",
        description="Amount of bulge to remove",
        default=1.0,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
    )


class NormalsProperties:
    """Whether normals are MMD's."""

    use_mmd_normals: BoolProperty(
        name="MMD Normals",
        description="Rotate normals as MMD does, in the viewport and in mesh caches; Blender's"
        " differ on bent SDEF vertices",
    )


class MotionProperties:
    """The pose source."""

    source: EnumProperty(
        name="Pose Source",
        description="Where MMD Skinning and bakes get the pose from",
        items=[
            (
                "ARMATURE",
                "Armature",
                "Pose evaluated by Blender, with its keyframes, constraints and physics",
            ),
            (
                ik_source.SOURCE,
                "MMD's IK",
                "Posed or keyed bones, with IK and append solved as in MMD instead of by Blender's constraints",
            ),
            ("MOTION", "Motion File", "VMD or VPD file, evaluated as in MMD, with MMD's IK"),
            (
                driving_rig.SOURCE,
                "Another Armature",
                "Any humanoid armature in the scene, such as a Rigify rig, drives the model",
            ),
        ],
        default="ARMATURE",
    )
    motion_path: StringProperty(
        name="Motion File",
        description="VMD or VPD file that animates the model",
        subtype="FILE_PATH",
        options=RELATIVE_PATHS,
    )
    model_path: StringProperty(
        name="Model File",
        description="PMX or PMD file that supplies the model's bones and IK; if empty, the file"
        " the model was imported from",
        subtype="FILE_PATH",
        options=RELATIVE_PATHS,
    )
    motion_start: IntProperty(
        name="Motion Start",
        description="Scene frame at which frame 0 of the motion plays",
        default=1,
        **FRAMES,
    )
    motion_real_time: BoolProperty(
        name="Real Time",
        description="Play the motion at 30 frames per second at any scene frame rate; if off, one"
        " motion frame per scene frame",
        default=True,
    )


class PhysicsProperties:
    """The physics, of models and of operators."""

    physics: BoolProperty(
        name="Physics",
        description="Move hair and clothes with the model's rigid bodies, as MMD does during playback",
    )
    physics_ground: BoolProperty(
        name="Ground",
        description="Make rigid bodies collide with a ground plane at the model's origin",
        default=True,
    )
    physics_settle: IntProperty(
        name="Settling Steps",
        description="Simulation steps in the start pose before the motion starts, to let hair and"
        " clothes settle",
        default=300,
        min=0,
        max=100_000,
        soft_max=600,
    )
    physics_hz: IntProperty(
        name="Physics Rate",
        description="Simulation steps per second; more make joints stiffer. The usual value is 60",
        default=60,
        min=30,
        max=960,
    )
    physics_start: IntProperty(
        name="Physics Start", description="Motion frame at which the physics starts", **FRAMES
    )


class MorePhysicsProperties:
    """The physics, of models only."""

    physics_ground_height: FloatProperty(
        name="Ground Height",
        description="Height of the ground above the model's origin, in MMD units",
        soft_min=-20,
        soft_max=20,
        min=-1e6,
        max=1e6,
    )
    physics_gravity: FloatVectorProperty(
        name="Gravity",
        description="Acceleration along the armature's axes, in MMD units per second squared;"
        " MMD's 9.8 is 98 downward",
        default=(0, 0, -98),
        soft_min=-300,
        soft_max=300,
        min=-1e6,
        max=1e6,
        subtype="XYZ",
        options={"ANIMATABLE"},
    )
    physics_iterations: IntProperty(
        name="Solver Iterations",
        description="Iterations per simulation step; more make joints stiffer. The usual value is 10",
        default=10,
        min=1,
        max=1000,
        soft_max=50,
    )
    physics_teleport: FloatProperty(
        name="Restart at Jumps",
        description="If the whole model moves farther than this in one frame (in MMD units), hair"
        " and clothes restart at rest; 0 turns this off",
        min=0,
        soft_max=100,
    )


class BakeProperties:
    """Target and frame range of a bake."""

    target: EnumProperty(
        name="Target",
        description="Where to store the baked deformation",
        items=[
            ("SHAPE_KEYS", "Shape Keys", "One shape key per frame"),
            ("MESH_CACHE", "Mesh Cache", "PC2 file, played back by a Mesh Cache modifier"),
            (
                "CORRECTIVE",
                "Corrective Keys",
                "Shape keys that correct the Armature modifier's deformation",
            ),
        ],
        default="SHAPE_KEYS",
    )
    range: EnumProperty(
        name="Frame Range",
        description="Frames to bake",
        items=[
            ("CURRENT", "Current Frame", "Pose at the current frame"),
            (
                "SCENE",
                "Scene Range",
                "Between Start and End of the scene, or of its preview range if that is on",
            ),
            ("CUSTOM", "Custom Range", "Between Start and End"),
        ],
        default="CURRENT",
    )
    frame_start: IntProperty(
        name="Start", description="First frame of the custom range", default=1, **FRAMES
    )
    frame_end: IntProperty(
        name="End", description="Last frame of the custom range", default=250, **FRAMES
    )
    step: IntProperty(
        name="Step",
        description="Number of frames from one baked frame to the next",
        default=1,
        min=1,
    )
    samples: IntProperty(
        name="Samples",
        description="Baked poses per frame, for motion blur; between them, vertices move in"
        " straight lines. For shape keys and mesh caches with a Step of 1",
        default=1,
        min=1,
        max=8,
    )
    corrective: EnumProperty(
        name="Corrective",
        description="What controls the corrective keys",
        items=[
            (
                "DRIVEN",
                "Driven by Joints",
                "Drive keys by joint rotation; approximate, but for any motion",
            ),
            ("KEYED", "Keyed", "Animate each key at its frame; exact on these frames"),
        ],
        default="DRIVEN",
    )
    max_keys: IntProperty(
        name="Max Keys",
        description="Maximum driven keys per mesh, most effective first",
        default=40,
        min=1,
    )
    tolerance: FloatProperty(
        name="Tolerance",
        description="Stop adding driven keys once every vertex is within this distance",
        default=1e-5,
        min=0.0,
        soft_max=0.01,
        precision=5,
        step=0.001,
        subtype="DISTANCE",
    )
    folder: StringProperty(
        name="Folder",
        description="Folder for mesh caches; if empty, next to the .blend file",
        subtype="DIR_PATH",
        options=RELATIVE_PATHS,
    )


def declared(
    *groups: type, updates: Mapping[str, Callable[..., None]] | None = None, **more: Any
) -> dict[str, Any]:
    """Annotations of the properties of classes above, with the arguments `more`.

    `updates` are the update functions of those that have their own, by name.
    """
    found = {}
    more.setdefault("options", {"ANIMATABLE"})  # as Blender does
    annotations = (inspect.get_annotations(group).items() for group in groups)
    for name, one in itertools.chain(*annotations):
        options = more["options"] | one.keywords.get("options", set())
        own = {"update": updates[name]} if updates and name in updates else {}
        found[name] = changed(one, **{**more, **own, "options": options})
    return found


def changed(declaration: Any, **arguments: Any) -> Any:
    """The annotation of a property, with other arguments."""
    return declaration.function(**{**declaration.keywords, **arguments})


def former_name(name: str) -> Any:
    """The annotation of the name that a property had before, which is deprecated."""
    return IntProperty(
        options={"HIDDEN", "SKIP_SAVE"},
        get=lambda owner: getattr(owner, name),
        set=lambda owner, value: setattr(owner, name, value),
    )


def names(group: type) -> list[str]:
    """The names of the properties of a class above."""
    return list(inspect.get_annotations(group))


def declaring(name: str, properties: dict[str, Any]) -> Any:
    """A base class with the properties."""
    return type(name, (), {"__annotations__": properties})


# The properties that have an effect with the owner's other values


def shown_of_deformation(owner: Any) -> list[str]:
    return ["deformation", *["correction"] * deformation.is_corrected(owner.deformation)]


def shown_of_normals() -> list[str]:
    return [deformation.NORMALS] * HAS_FREE_NORMALS


def shown_of_pose(owner: Any, scene: Scene) -> list[str]:
    by_motion = owner.source == "MOTION"
    shown = ["source"]
    if by_motion:
        shown += ["motion_path", "model_path", "motion_start"]
        shown += ["motion_real_time"] * (playhead.fps(scene) != 30)
    elif owner.source == ik_source.SOURCE:
        shown += ["model_path"]
    elif owner.source == driving_rig.SOURCE:
        shown += ["driving_rig"] * hasattr(owner, "driving_rig") + ["model_path"]
    else:
        return [*shown, *["physics"] * hasattr(owner, physics_settings.LIVE)]
    shown += ["physics"]
    if owner.physics:
        shown += [n for n in physics_settings.PROPERTIES[1:] if by_motion or n != "physics_start"]
    return shown


def shown_of_target(owner: Any) -> list[str]:
    corrective = owner.target == "CORRECTIVE"
    shown = ["target", *["corrective"] * corrective]
    if corrective and owner.corrective == "DRIVEN":
        shown += ["max_keys", "tolerance"]
    return shown + ["folder"] * (owner.target == "MESH_CACHE")


def shown_of_range(owner: Any) -> list[str]:
    shown = ["range", *["frame_start", "frame_end"] * (owner.range == "CUSTOM")]
    if owner.range != "CURRENT":
        shown += ["step", *["samples"] * (owner.target != "CORRECTIVE")]
    return shown
