# SPDX-License-Identifier: GPL-3.0-or-later
"""What mmd_tools looks for, so that its operators recognise the model where it is installed.

Its properties exist only while it is enabled; without it the root's type is stored as it would be.
"""

_ROOT = 2  # 'ROOT' in the enumeration that mmd_tools registers
_AFTER_PHYSICS, _OPERABLE = 0x1000, 0x10
_PANELS = {0: "SYSTEM", 1: "EYEBROW", 2: "EYE", 3: "MOUTH"}


def describe(root, armature, model, bone_names, key_names):
    if not hasattr(root, "mmd_root"):
        root["mmd_type"] = _ROOT
        return
    root.mmd_type = "ROOT"
    _helper_collections(armature.data)
    root.mmd_root.name, root.mmd_root.name_e = model.name, model.name_english
    for name, record in zip(bone_names, model.bones, strict=True):
        if name in armature.pose.bones:
            _bone(armature.pose.bones[name], record)
    for number, key in key_names.items():
        morph = model.morphs[number]
        if morph.kind == "vertex":
            item = root.mmd_root.vertex_morphs.add()
            item.name, item.name_e = key, morph.name_english
            item.category = _PANELS.get(morph.panel, "OTHER")


def _helper_collections(armature):
    """Where mmd_tools puts the helper bones that its operator for append constraints makes."""
    if not hasattr(armature, "collections"):
        return
    for name in ("mmd_shadow", "mmd_dummy"):
        collection = armature.collections.new(name)
        collection["mmd_tools"], collection.is_visible = "special collection", False


def _bone(bone, record):
    data = bone.mmd_bone
    data.name_j, data.name_e = record.name, record.name_english
    data.bone_id = bone["mmd_bone_id"]
    data.transform_order = record.layer
    data.transform_after_dynamics = bool(record.flags & _AFTER_PHYSICS)
    data.is_controllable = bool(record.flags & _OPERABLE)
    if record.append:
        data.has_additional_rotation = record.append.rotation
        data.has_additional_location = record.append.translation
        data.additional_transform_influence = record.append.ratio
        data.additional_transform_bone_id = record.append.source
    if record.fixed_axis:
        data.enabled_fixed_axis, data.fixed_axis = True, record.fixed_axis
    if record.local_axes:
        data.enabled_local_axes = True
        data.local_axis_x, data.local_axis_z = record.local_axes
