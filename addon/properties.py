# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of a model, kept on its armature object as `armature.mmdskin`, and the live property."""

import bpy
from bpy.props import (
    BoolProperty,
    EnumProperty,
    FloatProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

from . import preview

FRAMES = {"min": -1048574, "max": 1048574}  # the frames that Blender has

SOURCES = [
    ("ARMATURE", "Armature", "The pose that Blender evaluates: keyframes, constraints, physics"),
    ("MOTION", "Motion File", "A VMD or VPD file, evaluated as MMD does, with MMD's own IK"),
]


def _toggled(settings, context):
    preview.toggle(settings.id_data, settings.preview, context)


def _source_changed(settings, context):
    if settings.preview:
        preview.toggle(settings.id_data, True, context)


TARGETS = [
    ("SHAPE_KEYS", "Shape Keys", "A shape key for each frame"),
    ("MESH_CACHE", "Mesh Cache", "A PC2 file, played by a Mesh Cache modifier"),
    (
        "CORRECTIVE",
        "Corrective Keys",
        "Shape keys that add to the Armature modifier what it lacks",
    ),
]
RANGES = [
    ("CURRENT", "Current Frame", "The pose of the current frame"),
    ("SCENE", "Scene Range", "From the first to the last frame of the scene"),
    ("CUSTOM", "Own Range", "From a first to a last frame"),
]
CORRECTIVES = [
    ("DRIVEN", "Driven by Joints", "A key acts as far as its joint is bent"),
    ("KEYED", "Keyed", "A key acts at its frame"),
]


class MMDSKIN_PG_model(bpy.types.PropertyGroup):
    preview: BoolProperty(
        name="MMD Skinning",
        description="Show the deformation that MMD computes, in the viewport and in renders",
        default=False,
        options=set(),
        update=_toggled,
    )
    source: EnumProperty(
        name="Pose Source",
        description="Where preview and bake take the pose from",
        items=SOURCES,
        default="ARMATURE",
        options=set(),
        update=_source_changed,
    )
    motion_path: StringProperty(
        name="Motion File",
        description="VMD or VPD file that moves the model",
        subtype="FILE_PATH",
        options=set(),
        update=_source_changed,
    )
    model_path: StringProperty(
        name="Model File",
        description="PMX or PMD file of this model: its bones and IK are what the motion moves",
        subtype="FILE_PATH",
        options=set(),
        update=_source_changed,
    )
    motion_start: IntProperty(
        name="Start",
        description="Frame of the scene at which frame 0 of the motion plays",
        default=1,
        **FRAMES,
        options=set(),
        update=_source_changed,
    )
    motion_real_time: BoolProperty(
        name="Real Time",
        description="Play 30 frames of the motion per second, whatever frame rate the scene has;"
        " else one frame of the motion per frame of the scene",
        default=True,
        options=set(),
        update=_source_changed,
    )
    # What the panel's Bake button passes on; scripts give it to the operator.
    target: EnumProperty(name="Target", items=TARGETS, default="SHAPE_KEYS", options=set())
    range: EnumProperty(name="Range", items=RANGES, default="CURRENT", options=set())
    frame_start: IntProperty(
        name="Start", description="First frame that is baked", default=1, **FRAMES, options=set()
    )
    frame_end: IntProperty(
        name="End", description="Last frame that is baked", default=250, **FRAMES, options=set()
    )
    step: IntProperty(
        name="Step", description="Bake every how many frames", default=1, min=1, options=set()
    )
    corrective: EnumProperty(name="Corrective", items=CORRECTIVES, default="DRIVEN", options=set())
    folder: StringProperty(
        name="Folder",
        description="Where mesh caches are written; beside the .blend where it is empty",
        subtype="DIR_PATH",
        options=set(),
    )


def register():
    if not MMDSKIN_PG_model.is_registered:
        bpy.utils.register_class(MMDSKIN_PG_model)
    bpy.types.Object.mmdskin = PointerProperty(type=MMDSKIN_PG_model)
    # The driver of the preview must sit on a property of Mesh itself: only there Blender runs it
    # before the geometry in every version.
    bpy.types.Mesh.mmdskin_live = FloatProperty(options={"HIDDEN", "ANIMATABLE"})


def unregister():
    for owner, name in ((bpy.types.Mesh, "mmdskin_live"), (bpy.types.Object, "mmdskin")):
        if hasattr(owner, name):
            delattr(owner, name)
    if MMDSKIN_PG_model.is_registered:
        bpy.utils.unregister_class(MMDSKIN_PG_model)
