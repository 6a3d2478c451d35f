# SPDX-License-Identifier: GPL-3.0-or-later
"""The operator and its menu entry."""

import os

import bpy
from bpy.props import BoolProperty, CollectionProperty, EnumProperty, StringProperty

from .. import registration, rename
from ..importing import Importer, scale_property
from ..translations import tr
from ..user_error import UserError
from . import build

_NEEDS = {"PHYSICS": {"ARMATURE"}, "DISPLAY": {"ARMATURE"}, "MORPHS": {"MESH", "ARMATURE"}}


class MMDSKIN_OT_import_model(Importer, bpy.types.Operator):
    """Import models of MikuMikuDance with their exact deformation data"""

    bl_idname = "mmdskin.import_model"
    bl_label = "Import MMD Model"
    bl_options = {"REGISTER", "UNDO", "PRESET"}

    preferred = shown = ("scale", "types", "names", "constraints", "pack_textures")

    filename_ext = ".pmx"
    filter_glob: StringProperty(default="*.pmx;*.pmd", options={"HIDDEN"})
    files: CollectionProperty(
        type=bpy.types.OperatorFileListElement, options={"HIDDEN", "SKIP_SAVE"}
    )
    directory: StringProperty(subtype="DIR_PATH", options={"HIDDEN", "SKIP_SAVE"})
    scale: scale_property(
        name="Scale",
        description="Size of one MMD unit; 0.08 makes the model life-size",
    )
    types: EnumProperty(
        name="Import",
        description="The parts of the file to import",
        options={"ENUM_FLAG"},
        items=[
            ("MESH", "Mesh", "Mesh, materials and weights"),
            ("ARMATURE", "Armature", "Bones"),
            ("MORPHS", "Morphs", "Shape keys and the data of all morphs (with mesh and armature)"),
            ("PHYSICS", "Physics", "Rigid bodies and joints, as data (with armature)"),
            ("DISPLAY", "Display", "Display frames as groups of bones (with armature)"),
        ],
        default={"MESH", "ARMATURE", "MORPHS", "PHYSICS", "DISPLAY"},
    )
    pack_textures: BoolProperty(
        name="Pack Textures",
        description="Keep the texture images inside the .blend file",
        default=False,
    )
    names: EnumProperty(
        name="Names",
        description="The language of the names of bones, shape keys and materials",
        items=rename.LANGUAGES,
        default="JAPANESE",
    )
    constraints: BoolProperty(
        name="Constraints",
        description="Let IK, append and fixed axes act while bones are posed by hand; else they act"
        " only where the pose comes from a motion file or by MMD's IK",
        default=True,
    )

    @classmethod
    def poll(cls, context):
        if context.mode != "OBJECT":
            cls.poll_message_set(tr("Leave edit, pose and sculpt mode first"))
            return False
        return True

    def execute(self, context):
        paths = self._paths()
        if not paths:
            self.report({"ERROR"}, tr("No file is chosen: give the path of a .pmx or .pmd file"))
            return {"CANCELLED"}
        if not self.types:
            self.report({"ERROR"}, tr("Nothing to import: choose at least one part of the model"))
            return {"CANCELLED"}
        options = build.Options(
            self.scale, self._parts(), self.pack_textures, self.constraints, self.names == "ENGLISH"
        )
        failures = []
        for path in paths:
            try:
                _, report = build.import_file(context, path, options)
            except UserError as error:
                failures.append(str(error))
                continue
            for text in report.warnings:
                self.report({"WARNING"}, f"{os.path.basename(path)}: {text}")
        imported = len(paths) - len(failures)
        for text in failures:
            self.report({"WARNING"} if imported else {"ERROR"}, text)
        if not imported:
            return {"CANCELLED"}
        self.report(
            {"INFO"},
            tr("Imported 1 model")
            if imported == 1
            else tr("Imported {count} models", count=imported),
        )
        return {"FINISHED"}

    def _parts(self):
        return frozenset(self.types.union(*(_NEEDS.get(part, set()) for part in self.types)))

    def _paths(self):
        files = [file.name for file in self.files if file.name]
        if files:
            return [os.path.join(self.directory, name) for name in files]
        return [bpy.path.abspath(self.filepath)] if self.filepath else []


def _menu(self, context):
    self.layout.operator(MMDSKIN_OT_import_model.bl_idname, text="MMD model (.pmx, .pmd)")


register, unregister = registration.of(
    MMDSKIN_OT_import_model, menus={"TOPBAR_MT_file_import": _menu}
)
