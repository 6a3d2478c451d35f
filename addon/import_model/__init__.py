# SPDX-License-Identifier: GPL-3.0-or-later
"""Import MMD Model: a PMX or PMD file as objects of the scene. Needs no other add-on.

`operators` has the operator; `build` calls the modules of the parts, one file after the other.

The scene has mmd_tools' layout (root › armature › mesh, names, rest pose). Data without a place in
Blender is kept in custom properties, with the file's terms and values:

root        mmd_type, mmd_name_j, mmd_name_e, mmd_names (JAPANESE or ENGLISH: the current names),
            mmd_comment_j, mmd_comment_e, mmd_version, mmd_scale, and
            as lists of groups: mmd_morphs, mmd_display_frames, mmd_rigid_bodies, mmd_joints
armature    mmdskin.model_path (a setting of the add-on): the path of the file
pose bone   mmd_name_j, mmd_name_e, mmd_bone_id (its index), mmd_position, mmd_layer, mmd_flags, and
            if the bone has them: mmd_tail_bone or mmd_tail_offset, mmd_append, mmd_fixed_axis,
            mmd_local_axis_x, mmd_local_axis_z, mmd_external_parent, mmd_ik
material    mmd_name_j, mmd_name_e, mmd_material_id, and one for each other field of the material,
            mmd_diffuse to mmd_index_count; textures as paths
mesh        the attributes of `scene.mesh_source`

Constraints with mmd_tools' names apply IK and append (`scene.mmd_tools`).

Bones, morphs, materials and bodies refer to each other by their indices in the file. Positions are
in the file's units and axes. Each `mmd_morphs` entry has `key`, the name of its shape key, and
`slider`, the name of its custom property of the armature, if there are such (`morphs`).
"""
