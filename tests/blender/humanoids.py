# SPDX-License-Identifier: GPL-3.0-or-later
"""Humanoid armatures of our own: an FK rig with Mixamo's names, and one that Rigify generates."""

import addon_utils
import bpy
import numpy as np
import scene
from mathutils import Euler, Vector

# Blender's axes, meters; she looks towards -Y, her left is +X. T-pose.
JOINTS = {  # name: (parent, head)
    "Hips": (None, (0, 0, 0.98)),
    "Spine": ("Hips", (0, 0.01, 1.08)),
    "Spine1": ("Spine", (0, 0.01, 1.2)),
    "Spine2": ("Spine1", (0, 0.01, 1.33)),
    "Neck": ("Spine2", (0, 0.01, 1.48)),
    "Head": ("Neck", (0, -0.01, 1.57)),
    "HeadTop_End": ("Head", (0, -0.01, 1.78)),
    "LeftShoulder": ("Spine2", (0.05, 0.01, 1.44)),
    "LeftArm": ("LeftShoulder", (0.17, 0.01, 1.44)),
    "LeftForeArm": ("LeftArm", (0.45, 0.015, 1.44)),
    "LeftHand": ("LeftForeArm", (0.72, 0.01, 1.44)),
    "LeftHandIndex1": ("LeftHand", (0.82, -0.02, 1.44)),
    "LeftHandIndex2": ("LeftHandIndex1", (0.86, -0.02, 1.44)),
    "LeftUpLeg": ("Hips", (0.1, 0, 0.92)),
    "LeftLeg": ("LeftUpLeg", (0.1, -0.05, 0.5)),
    "LeftFoot": ("LeftLeg", (0.1, 0.01, 0.09)),
    "LeftToeBase": ("LeftFoot", (0.1, -0.11, 0.02)),
    "LeftToe_End": ("LeftToeBase", (0.1, -0.18, 0.02)),
}
HEIGHT = 1.78


def joints():
    """`JOINTS` with the right side."""
    found = dict(JOINTS)
    for name, (parent, head) in JOINTS.items():
        if name.startswith("Left"):
            x, *yz = head
            found["Right" + name[4:]] = (parent.replace("Left", "Right"), (-x, *yz))
    return found


def fk_rig(prefix="mixamorig:", seed=0, transform=None):
    """An armature object with bones rolled at random. `transform`: its matrix in the world, which does
    not change where its bones are at rest."""
    rolls = np.random.default_rng(seed).uniform(-np.pi, np.pi, 99)
    obj = bpy.data.objects.new("humanoid", bpy.data.armatures.new("humanoid"))
    bpy.context.scene.collection.objects.link(obj)
    scene.select(obj)
    bpy.ops.object.mode_set(mode="EDIT")
    known = joints()
    to_own = transform.inverted() if transform is not None else None
    for roll, (name, (parent, head)) in zip(rolls, known.items(), strict=False):
        bone = obj.data.edit_bones.new(prefix + name)
        children = [one for above, one in known.values() if above == name]
        tail = Vector(children[0]) if children else Vector(head) + Vector((0, 0, 0.08))
        bone.head, bone.tail = (
            (to_own @ Vector(at) if to_own is not None else Vector(at)) for at in (head, tail)
        )
        bone.roll = roll
        if parent:
            bone.parent = obj.data.edit_bones[prefix + parent]
    bpy.ops.object.mode_set(mode="OBJECT")
    if transform is not None:
        obj.matrix_world = transform
    bpy.context.view_layer.update()
    return obj


def rigify_rig():
    """A rig that Rigify generates from its human metarig, without face, breasts and fingers; None where
    this Blender lacks Rigify."""
    handlers = list(bpy.app.handlers.load_post)
    if addon_utils.enable("rigify", default_set=True) is None:
        return None
    bpy.ops.object.armature_human_metarig_add()
    metarig = bpy.context.object
    bpy.ops.object.mode_set(mode="EDIT")
    bones = metarig.data.edit_bones
    gone = [
        bone
        for bone in bones
        if bone.name == "face"
        or any(one.name == "face" for one in bone.parent_recursive)
        or bone.name.startswith(("breast", "palm", "f_", "thumb"))
    ]
    for name in [bone.name for bone in gone]:
        bones.remove(bones[name])
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.pose.rigify_generate()
    bpy.ops.object.mode_set(mode="OBJECT")
    rig = next(
        obj for obj in bpy.data.objects if obj.type == "ARMATURE" and "torso" in obj.pose.bones
    )
    bpy.data.objects.remove(metarig)
    bpy.context.view_layer.update()
    addon_utils.disable("rigify", default_set=True)  # the rig does not need it any more
    bpy.app.handlers.load_post[:] = handlers  # from 5.0 on, it leaves one
    scene.select(rig)
    return rig


def pose(armature, frame, degrees=30, seed=0):
    """Key a random pose."""
    random = np.random.default_rng((seed, frame))
    for bone in armature.pose.bones:
        bone.rotation_mode = "XYZ"
        bone.rotation_euler = Euler(np.radians(random.uniform(-degrees, degrees, 3)))
        bone.keyframe_insert("rotation_euler", frame=frame)


def shown(armature, name=None):
    """{bone: (4, 4) in the world} as Blender evaluates it; of one bone with `name`."""
    obj = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    world = {bone.name: np.array(obj.matrix_world @ bone.matrix) for bone in obj.pose.bones}
    return world if name is None else world[name]
