# SPDX-License-Identifier: GPL-3.0-or-later
"""MMD Skin: MMD's deformation in the viewport and in bakes, and import of models and motions.

The same folder is an extension (Blender 4.2 and later) and a classic add-on (3.4 to 4.1).
"""

import atexit
import importlib

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

from .blender import native  # noqa: E402

# The modules that register something, in this order.
_PARTS = """
    blender.translations blender.caches blender.cache_files scene.model_file ui.model_properties
    scene.setting_paths operator_base.modal_job bake.operators bake.mesh_cache export.operators
    import_model.operators import_motion.operators import_motion.handlers export_motion.operators
    retarget.bone_map retarget.operators operator_base.importing
    ui.preferences restore.operators rename mirror mmd_look.operators mmd_look.switch
    physics.operators physics.playback physics.live preview.operators preview.switch preview.live_timer
    attach.operators attach.driver ui.shown_model ui.panels ui.motion_panels
""".split()
_parts = [importlib.import_module(f".{name}", __name__) for name in _PARTS]


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
