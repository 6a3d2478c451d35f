# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything of the file that a bake may touch: the datablocks of models, and the frame."""

import bpy
import fingerprint

fingerprint._LEFT_OUT.add("group")  # of an F-curve: leads back to all its neighbours
_KINDS = ("objects", "meshes", "shape_keys", "armatures", "actions", "node_groups", "collections")


def of_file():
    found = {}
    for kind in _KINDS:
        for block in getattr(bpy.data, kind):
            if not block.users:
                continue  # what Blender forgets when it saves; keys of a removed mesh crash 3.4
            lines = fingerprint.of(block).splitlines()
            # How Blender keeps an attribute in memory is not content.
            lines = [line for line in lines if ".storage_type " not in line]
            found[f"{kind}/{block.name_full}"] = "\n".join(lines)
    scene = bpy.context.scene
    found["frame"] = f"{scene.frame_current} {scene.frame_subframe}"
    return found


def differences(before):
    return fingerprint.differences(before, of_file())
