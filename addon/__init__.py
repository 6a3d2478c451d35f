# SPDX-License-Identifier: GPL-3.0-or-later
"""MMD Skin: the deformation MMD computes, baked into shape keys of models imported by mmd_tools.

The same folder is an extension (Blender 4.2 and later) and a classic add-on (3.4 to 4.1).
"""

bl_info = {
    "name": "MMD Skin",
    "author": "mmdskin contributors",
    "version": (0, 0, 0),
    "blender": (3, 4, 0),
    "location": "3D View > Sidebar > MMD",
    "description": "Bake MMD's own deformation (BDEF, SDEF) into shape keys",
    "category": "Animation",
}

from . import native, operators, panels, preview, properties  # noqa: E402

_parts = (properties, operators, panels, preview)


def register():
    for part in _parts:
        part.register()


def unregister():
    for part in reversed(_parts):
        part.unregister()
    native.shutdown()
