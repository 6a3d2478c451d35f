# SPDX-License-Identifier: GPL-3.0-or-later
"""MMD Skin: MMD's deformation in the viewport and in bakes, and import of models and motions.

The same folder is an extension (Blender 4.2 and later) and a classic add-on (3.4 to 4.1).
"""

import atexit

from .blender import native

bl_info = {
    "name": "MMD Skin",
    "author": "mmdskin contributors",
    "version": (0, 0, 0),
    "blender": (3, 4, 0),
    "location": "3D View > Sidebar > MMD",
    "description": "Import, bake and export MMD models with MMD's own deformation",
    "category": "Animation",
}

# Blender's "Reload Scripts" reloads this file only.
if native.classic is not None:
    native.classic.forget_modules(__name__)

from . import (  # noqa: E402
    attach,
    bake,
    export,
    export_motion,
    import_model,
    import_motion,
    mirror,
    mmd_look,
    physics,
    preview,
    rename,
    restore,
    retarget,
)
from .blender import cache_files, caches, native, translations  # noqa: E402
from .operator_base import importing, modal_job  # noqa: E402
from .scene import model_file, setting_paths  # noqa: E402
from .ui import (  # noqa: E402
    model_properties,
    motion_panels,
    panels,
    preferences,
    report,
    shown_model,
)

_parts = (
    translations,
    caches,
    cache_files,
    model_file,
    model_properties,
    setting_paths,
    modal_job,
    bake,
    export,
    import_model,
    import_motion,
    export_motion,
    retarget,
    importing,
    report,
    preferences,
    restore,
    rename,
    mirror,
    mmd_look,
    physics,
    preview,
    attach,
    shown_model,
    panels,
    motion_panels,
)


def register() -> None:
    for part in _parts:
        part.register()
    # bpy 4.5 hangs at exit while classes and handlers are still registered.
    atexit.register(unregister)


def unregister() -> None:
    atexit.unregister(unregister)
    for part in reversed(_parts):
        part.unregister()
    native.shutdown()
