# SPDX-License-Identifier: GPL-3.0-or-later
"""Object › MMD Skin and Pose › MMD Skin: Blender's search (F3) finds operators in menus."""

from bpy.types import Context, Menu

from ..blender import registration
from ..blender.translations import CONTEXT

_OPERATORS = """
    preview make_override own_meshes look standard_colors
    simulate keep_physics settle simulate_together simulate_alone
    mirror_pose flip_sliders show_pose attach detach
    bake use_mesh_cache clear_bake export
    clear_motion retarget_to_armature motion_from_armature map_bones mirror_bone_map fit_motion
    restore_deform_data switch_names report
""".split()


class MMDSKIN_MT_model(Menu):
    bl_label = "MMD Skin"
    bl_translation_context = CONTEXT

    def draw(self, context: Context) -> None:
        for name in _OPERATORS:
            self.layout.operator(f"mmdskin.{name}")


def _submenu(self: Menu, context: Context) -> None:
    self.layout.menu(MMDSKIN_MT_model.__name__)


register, unregister = registration.functions(
    MMDSKIN_MT_model, menus=dict.fromkeys(("VIEW3D_MT_object", "VIEW3D_MT_pose"), _submenu)
)
