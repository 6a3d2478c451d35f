# SPDX-License-Identifier: GPL-3.0-or-later
"""Import MMD Model: a PMX or PMD as objects of the scene. It needs no other add-on.

`operators` are what users call; `build` calls the makers of the parts, one file after the other.

The scene looks as mmd_tools leaves it (root › armature › mesh, the names, the rest pose), and what
has no place in Blender stays as custom properties, with the file's words and numbers:

root        mmd_type, mmd_name_j, mmd_name_e, mmd_names (JAPANESE or ENGLISH: those that things have),
            mmd_comment_j, mmd_comment_e, mmd_version, mmd_scale, and
            as lists of groups: mmd_morphs, mmd_display_frames, mmd_rigid_bodies, mmd_joints
armature    mmdskin.model_path (a setting of the add-on): the absolute path of the file
pose bone   mmd_name_j, mmd_name_e, mmd_bone_id (its number), mmd_position, mmd_layer, mmd_flags, and
            where the bone has them: mmd_tail_bone or mmd_tail_offset, mmd_append, mmd_fixed_axis,
            mmd_local_axis_x, mmd_local_axis_z, mmd_external_parent, mmd_ik
material    mmd_name_j, mmd_name_e, mmd_material_id, and one for each other field of the record,
            mmd_diffuse to mmd_index_count; textures as paths
mesh        the attributes of `deform_data`

Constraints with mmd_tools' names let bones follow IK and appends (`rig_constraints`).

Bones, morphs, materials and bodies refer to each other by their numbers in the file, positions are
in the file's units and axes. Every `mmd_morphs` entry has `key`, its shape key's name if it has one,
and `slider`, the name of its custom property of the armature if it has one (`morphs`).
"""

from . import operators

register = operators.register
unregister = operators.unregister
