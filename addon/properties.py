# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of a model, kept on its armature object as `armature.mmdskin`, and the live property.

Operators share them: a property that an operator is not given is the setting of the model.
"""

import json
from typing import Any

import bpy
from bpy.props import (
    BoolProperty,
    EnumProperty,
    FloatProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

from . import blender_versions, deformation, ik_source, physics_settings, registration
from .preview import switch, tick

FRAMES: dict[str, Any] = {"min": -1048574, "max": 1048574}  # the frames that Blender has


def deformation_properties(**more: Any) -> dict[str, Any]:
    """How vertices follow bones, as annotations; `more` goes to each property."""
    return {
        "deformation": EnumProperty(
            name="Deformation",
            description="How the vertices follow the bones, live and baked",
            items=[
                (
                    "MMD",
                    "As in MMD",
                    (
                        "Each vertex by the type that its file gives it:"
                        " choose it to see what MMD shows"
                    ),
                ),
                (
                    "LINEAR",
                    "Linear",
                    (
                        "As Blender's Armature modifier and game engines do:"
                        " choose it to see what an export with bones will show"
                    ),
                ),
                (
                    "DUAL_QUATERNION",
                    "Dual Quaternions",
                    (
                        "Twists and bends keep their volume and joints bulge:"
                        " choose it where limbs twist more than they bend"
                    ),
                ),
                (
                    "BULGE_FREE",
                    "Bulge-Free",
                    (
                        "Dual quaternions without any bulge:"
                        " choose it where elbows and knees must not swell, and thinner creases are fine"
                    ),
                ),
                (
                    "BULGE_COMPENSATED",
                    "Compensated",
                    (
                        "Dual quaternions with most of the bulge taken back:"
                        " choose it where narrow weights bend far, at little cost"
                    ),
                ),
                (
                    "CENTERS_OF_ROTATION",
                    "Centres of Rotation",
                    (
                        "Each vertex turns about a centre found from the weights:"
                        " choose it where skin and clothes shall bend alike, without settings"
                    ),
                ),
            ],
            default="MMD",
            **more,
        ),
        "correction": FloatProperty(
            name="Correction",
            description="How much of the bulge is taken away",
            default=1.0,
            min=0.0,
            max=1.0,
            subtype="FACTOR",
            **more,
        ),
    }


def normals_properties(**more: Any) -> dict[str, Any]:
    """Whether normals are MMD's, as an annotation; `more` goes to each property."""
    return {
        deformation.NORMALS: BoolProperty(
            name="MMD Normals",
            description="Turn normals as MMD does, too, live and in mesh caches: Blender's own"
            " differ where SDEF vertices are bent",
            default=False,
            **more,
        )
    }


def motion_properties(**more: Any) -> dict[str, Any]:
    """Where the pose comes from, as annotations; `more` goes to each property."""
    return {
        "source": EnumProperty(
            name="Pose Source",
            description="Where preview and bake take the pose from",
            items=[
                (
                    "ARMATURE",
                    "Armature",
                    "The pose that Blender evaluates: keyframes, constraints, physics",
                ),
                (
                    ik_source.SOURCE,
                    "MMD's IK",
                    (
                        "What is posed or keyed, with IK and append solved as MMD does"
                        " instead of by Blender's constraints"
                    ),
                ),
                (
                    "MOTION",
                    "Motion File",
                    "A VMD or VPD file, evaluated as MMD does, with MMD's own IK",
                ),
            ],
            default="ARMATURE",
            **more,
        ),
        "motion_path": StringProperty(
            name="Motion File",
            description="VMD or VPD file that moves the model",
            subtype="FILE_PATH",
            **more,
        ),
        "model_path": StringProperty(
            name="Model File",
            description="PMX or PMD file of this model: its bones and IK are what the motion moves;"
            " the file that it was imported from where it is empty",
            subtype="FILE_PATH",
            **more,
        ),
        "motion_start": IntProperty(
            name="Motion Start",
            description="Frame of the scene at which frame 0 of the motion plays",
            default=1,
            **FRAMES,
            **more,
        ),
        "motion_real_time": BoolProperty(
            name="Real Time",
            description="Play 30 frames of the motion per second, whatever frame rate the scene has;"
            " else one frame of the motion per frame of the scene",
            default=True,
            **more,
        ),
    }


def physics_properties(**more: Any) -> dict[str, Any]:
    """What moves hair and clothes, as annotations; `more` goes to each property."""
    return {
        "physics": BoolProperty(
            name="Physics",
            description="Let the rigid bodies of the model file move hair and clothes,"
            " as MMD does while it plays the motion",
            default=False,
            **more,
        ),
        "physics_ground": BoolProperty(
            name="Ground",
            description="Let the ground hold what falls: the plane on which the model stands",
            default=True,
            **more,
        ),
        "physics_settle": IntProperty(
            name="Settling",
            description="Steps in the first pose before the motion begins, so that hair hangs",
            default=60,
            min=0,
            max=100_000,
            soft_max=600,
            **more,
        ),
        "physics_hz": IntProperty(
            name="Physics Rate",
            description="Steps in a second of the motion: joints give less with more steps;"
            " players of MMD files take 60",
            default=60,
            min=30,
            max=960,
            **more,
        ),
        "physics_start": IntProperty(
            name="Physics Start",
            description="Frame of the motion at which the physics begins",
            default=0,
            **FRAMES,
            **more,
        ),
    }


def bake_properties(**more: Any) -> dict[str, Any]:
    """What a bake makes of which frames, as annotations; `more` goes to each property."""
    return {
        "target": EnumProperty(
            name="Target",
            items=[
                ("SHAPE_KEYS", "Shape Keys", "A shape key for each frame"),
                ("MESH_CACHE", "Mesh Cache", "A PC2 file, played by a Mesh Cache modifier"),
                (
                    "CORRECTIVE",
                    "Corrective Keys",
                    "Shape keys that add to the Armature modifier what it lacks",
                ),
            ],
            default="SHAPE_KEYS",
            **more,
        ),
        "range": EnumProperty(
            name="Range",
            items=[
                ("CURRENT", "This Frame", "The pose of the current frame"),
                ("SCENE", "Scene Range", "From the first to the last frame of the scene"),
                ("CUSTOM", "Own Range", "From a first to a last frame"),
            ],
            default="CURRENT",
            **more,
        ),
        "frame_start": IntProperty(
            name="Start", description="First frame of an own range", default=1, **FRAMES, **more
        ),
        "frame_end": IntProperty(
            name="End", description="Last frame of an own range", default=250, **FRAMES, **more
        ),
        "step": IntProperty(
            name="Step", description="Bake every how many frames", default=1, min=1, **more
        ),
        "corrective": EnumProperty(
            name="Corrective",
            items=[
                ("DRIVEN", "Driven by Joints", "Keys follow how joints turn: near, in any motion"),
                ("KEYED", "Keyed", "A key acts at its frame: exact there"),
            ],
            default="DRIVEN",
            **more,
        ),
        "most": IntProperty(
            name="Most Keys",
            description="No mesh gets more driven keys: those are made that take away most",
            default=40,
            min=1,
            **more,
        ),
        "tolerance": FloatProperty(
            name="Tolerance",
            description="No more driven keys are made where no vertex is farther off",
            default=1e-5,
            min=0.0,
            soft_max=0.01,
            precision=5,
            step=0.001,
            subtype="DISTANCE",
            **more,
        ),
        "folder": StringProperty(
            name="Folder",
            description="Where mesh caches are written; beside the .blend where it is empty",
            subtype="DIR_PATH",
            **more,
        ),
    }


def declaring(name: str, properties: dict[str, Any]) -> Any:
    """A class that has the properties, for others to inherit from."""
    return type(name, (), {"__annotations__": properties})


# Which of them mean something, as the others of their owner stand


def shown_of_deformation(owner: Any) -> list[str]:
    return ["deformation", *["correction"] * deformation.is_corrected(owner.deformation)]


def shown_of_normals() -> list[str]:
    return [deformation.NORMALS] * blender_versions.HAS_FREE_NORMALS


def shown_of_pose(owner: Any, scene: bpy.types.Scene) -> list[str]:
    by_motion = owner.source == "MOTION"
    shown = ["source"]
    if by_motion:
        shown += ["motion_path", "model_path", "motion_start"]
        shown += ["motion_real_time"] * (scene.render.fps / scene.render.fps_base != 30)
    elif owner.source == ik_source.SOURCE:
        shown += ["model_path"]
    else:
        return shown
    shown += ["physics"]
    if owner.physics:
        shown += [n for n in physics_settings.PROPERTIES[1:] if by_motion or n != "physics_start"]
    return shown


def shown_of_target(owner: Any) -> list[str]:
    corrective = owner.target == "CORRECTIVE"
    shown = ["target", *["corrective"] * corrective]
    if corrective and owner.corrective == "DRIVEN":
        shown += ["most", "tolerance"]
    return shown + ["folder"] * (owner.target == "MESH_CACHE")


def shown_of_range(owner: Any) -> list[str]:
    shown = ["range", *["frame_start", "frame_end"] * (owner.range == "CUSTOM")]
    return shown + ["step"] * (owner.range != "CURRENT")


# Operators that take from the model what nobody has chosen


def filled_property() -> Any:
    """Of an operator: what `fill_in` has put into its options, which counts as not chosen."""
    return StringProperty(options={"HIDDEN", "SKIP_SAVE"})


def chosen(operator: Any, names: list[str]) -> dict[str, Any]:
    """Those of an operator's options that a script or the redo panel (F9) has given, by name."""
    filled, given = _filled(operator), filter(operator.properties.is_property_set, names)
    values = {name: getattr(operator, name) for name in given}
    return {name: value for name, value in values.items() if filled.get(name) != value}


def fill_in(operator: Any, chosen: dict[str, Any], used: dict[str, Any]) -> None:
    """Let an operator show, beside what was `chosen`, what it has `used` of the settings of models.

    An option that is in neither is unset: the models differ in it.
    """
    before = _filled(operator)
    for name in before.keys() - used.keys() - chosen.keys():
        operator.properties.property_unset(name)
    filled = {}
    for name in used.keys() - chosen.keys():
        setattr(operator, name, used[name])
        filled[name] = getattr(operator, name)
    operator.filled = json.dumps(filled)


def _filled(operator):
    try:
        filled = json.loads(operator.filled)
    except ValueError:  # empty before the first time
        filled = None
    return filled if isinstance(filled, dict) else {}


def _is_on(settings):
    return switch.is_on(settings.id_data)


def _set_on(settings, on):
    switch.set_on(settings.id_data, on)


def _motion_changed(settings, context):
    switch.refresh(settings.id_data)


def _deformation_changed(settings, context):
    settings.id_data.update_tag()  # drivers of live meshes wait for the armature


def _normals_changed(settings, context):
    switch.refresh(settings.id_data)
    settings.id_data.update_tag()


_SETTING: dict[str, Any] = {"options": set(), "override": {"LIBRARY_OVERRIDABLE"}}
_Deformation = declaring(
    "_Deformation", deformation_properties(update=_deformation_changed, **_SETTING)
)
_Normals = declaring("_Normals", normals_properties(update=_normals_changed, **_SETTING))
_Motion = declaring("_Motion", motion_properties(update=_motion_changed, **_SETTING))
_Physics = declaring("_Physics", physics_properties(update=_motion_changed, **_SETTING))
_Bake = declaring("_Bake", bake_properties(**_SETTING))


class MMDSKIN_PG_model(_Deformation, _Normals, _Motion, _Physics, _Bake, bpy.types.PropertyGroup):
    physics_cache: StringProperty(
        name="Simulation",
        description="The file that Simulate has written, which the preview plays",
        update=_motion_changed,
        **_SETTING,
    )
    preview: BoolProperty(
        name="MMD Skinning",
        description="Show the deformation that MMD computes, in the viewport and in renders",
        options=set(),
        get=_is_on,
        set=_set_on,
    )


_register, _unregister = registration.of(MMDSKIN_PG_model)


def register():
    _register()
    bpy.types.Object.mmdskin = PointerProperty(
        type=MMDSKIN_PG_model, override={"LIBRARY_OVERRIDABLE"}
    )
    # The driver of the preview must sit on a property of Mesh itself: only there Blender runs it
    # before the geometry in every version.
    setattr(bpy.types.Mesh, tick.PROPERTY, FloatProperty(options={"HIDDEN", "ANIMATABLE"}))


def unregister():
    for owner, name in ((bpy.types.Mesh, tick.PROPERTY), (bpy.types.Object, "mmdskin")):
        if hasattr(owner, name):
            delattr(owner, name)
    _unregister()
