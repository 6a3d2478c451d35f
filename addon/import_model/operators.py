# SPDX-License-Identifier: GPL-3.0-or-later
"""The operator Import MMD Model, and its menu entry."""

import os
from typing import Any

import bpy
from bpy.props import BoolProperty, EnumProperty, StringProperty
from bpy.types import Context, Operator

from ..blender import registration
from ..blender.translations import Reports, tr
from ..blender.user_error import UserError, cancels
from ..mmd_look import switch as look
from ..operator_base.importing import Importer, scale_property
from ..pose import physics_settings
from ..preview import switch
from ..scene import names
from .build import import_file
from .model_import import ModelImport


class MMDSKIN_OT_import_model(Importer, Reports, Operator):
    """Import MikuMikuDance models with their exact deform data"""

    bl_idname = "mmdskin.import_model"
    bl_label = "Import MMD Model"
    bl_options = {"REGISTER", "UNDO", "PRESET"}

    preferred = (
        "scale",
        "types",
        "names",
        "constraints",
        "look",
        "live",
        "live_physics",
        "pack_textures",
    )
    shown = (*preferred[:5], "standard_colors", *preferred[5:])

    filename_ext = ".pmx"
    filter_glob: StringProperty(default="*.pmx;*.pmd", options={"HIDDEN"})
    scale: scale_property(
        name="Scale", description="Size of one MMD unit; 0.08 gives a life-size model"
    )
    types: EnumProperty(
        name="Import",
        description="Parts of the file to import",
        options={"ENUM_FLAG"},
        items=[
            ("MESH", "Mesh", "Mesh, materials and weights"),
            ("ARMATURE", "Armature", "Bones"),
            ("MORPHS", "Morphs", "Shape keys and data of all morphs (includes mesh and armature)"),
            ("PHYSICS", "Physics", "Rigid bodies and joints, as data (includes armature)"),
            ("DISPLAY", "Display", "Display frames as bone groups (includes armature)"),
        ],
        default={"MESH", "ARMATURE", "MORPHS", "PHYSICS", "DISPLAY"},
    )
    pack_textures: BoolProperty(
        name="Pack Textures", description="Pack texture images into the .blend file", default=False
    )
    look: BoolProperty(
        name="MMD Look",
        description="Show toon shading, sphere maps, edges and MMD's light in Material Preview and renders",
        default=True,
    )
    standard_colors: BoolProperty(
        name="Use Standard Colors",
        description="Set the scene's view transform to Standard, so that renders have MMD's colors",
        default=False,
        options={"SKIP_SAVE"},
    )
    live: BoolProperty(
        name="MMD Skinning",
        description="Show MMD's deformation in the viewport and in renders",
        default=False,  # for scripts: the preference is on
    )
    live_physics: BoolProperty(
        name="Live Physics",
        description="Move hair and clothes while you pose and play, as in MMD. Renders use the"
        " simulation",
        default=False,  # as above
    )
    names: EnumProperty(
        name="Names",
        description="Language of bone, shape key and material names",
        items=names.LANGUAGES,
        default="JAPANESE",
    )
    constraints: BoolProperty(
        name="Constraints",
        description="Apply IK, append and fixed axes while posing; if off, they apply only with the"
        " pose sources MMD's IK and Motion File",
        default=True,
    )

    def is_used(self, option: str) -> bool:
        if option == "standard_colors":
            changes = self.standard_colors or look.changes_colors(bpy.context.scene)
            return self.look and changes
        return self.live if option == "live_physics" else True

    @classmethod
    def poll(cls, context: Context) -> bool:
        if context.mode != "OBJECT":
            cls.poll_message_set(tr("Switch to Object Mode first"))
            return False
        return True

    @cancels
    def execute(self, context: Context) -> set[Any]:
        paths = self._paths()
        if not self.types:
            raise UserError("Nothing to import: choose at least one part of the model")
        failures = []
        for path in paths:
            try:
                importing = import_file(context, path, self)
                if self.live and {"MESH", "ARMATURE"} <= importing.parts:
                    self._turn_on(importing)
            except UserError as error:
                failures.append(str(error))
                continue
            for text in importing.warnings:
                self.report({"WARNING"}, f"{os.path.basename(path)}: {text}")
        imported = len(paths) - len(failures)
        for text in failures:
            self.report({"WARNING"} if imported else {"ERROR"}, text)
        if not imported:
            return {"CANCELLED"}
        if self.look and self.standard_colors:
            look.use_standard_colors(context.scene)
        self.inform("Imported 1 model", "Imported {count} models", count=imported)
        return {"FINISHED"}

    def _turn_on(self, importing: ModelImport) -> None:
        try:
            if self.live_physics and physics_settings.moved_bones(importing.pmx):
                settings = importing.model.armature.mmdskin
                settings.physics = settings.physics_live = True
            switch.enable(importing.model)
        except UserError as error:
            importing.warnings.append(str(error))


register, unregister = registration.operator(
    MMDSKIN_OT_import_model, "TOPBAR_MT_file_import", text="MMD Model (.pmx, .pmd)"
)
