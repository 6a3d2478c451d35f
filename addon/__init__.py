# SPDX-License-Identifier: GPL-3.0-or-later
"""MMD Skin: the deformation that MMD computes, live and baked, and imports of models and motions.

The same folder is an extension (Blender 4.2 and later) and a classic add-on (3.4 to 4.1).
"""

import atexit
import sys

bl_info = {
    "name": "MMD Skin",
    "author": "mmdskin contributors",
    "version": (0, 0, 0),
    "blender": (3, 4, 0),
    "location": "3D View > Sidebar > MMD",
    "description": "Show, bake and import MMD models with the deformation that MMD computes",
    "category": "Animation",
}

# Reloaded by Blender ("Reload Scripts"): all parts anew, so that they fit each other.
for _name in [name for name in sys.modules if name.startswith(f"{__name__}.")]:
    del sys.modules[_name]
    globals().pop(_name.rpartition(".")[2], None)

from . import (  # noqa: E402
    bake,
    export,
    import_model,
    import_motion,
    importing,
    menus,
    modal_job,
    model_file,
    native,
    panels,
    physics,
    preferences,
    preview,
    properties,
    rename,
    restore,
    setting_paths,
    translations,
)

_parts = (
    translations,
    model_file,
    properties,
    setting_paths,
    modal_job,
    bake,
    export,
    import_model,
    import_motion,
    importing,
    preferences,
    restore,
    rename,
    physics,
    preview,
    panels,
    menus,
)


def register():
    for part in _parts:
        part.register()
    # bpy 4.2 crashes and 4.5 hangs at exit while classes and handlers are still registered.
    atexit.register(unregister)


def unregister():
    atexit.unregister(unregister)
    for part in reversed(_parts):
        part.unregister()
    native.shutdown()
