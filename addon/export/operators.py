# SPDX-License-Identifier: GPL-3.0-or-later
"""The operator Export MMD Skin, and its entry in File › Export."""

import os
from typing import Any

import bpy
from bpy.props import BoolProperty, EnumProperty, StringProperty

from ..blender import file_access, registration
from ..blender.user_error import UserError, cancelled, cancels
from ..operator_base.model_operator import ModelOperator
from ..scene import scene_model
from . import content, formats, safe_write


class MMDSKIN_OT_export(ModelOperator, bpy.types.Operator):
    """Export baked or live models with Blender's exporters, with options that match the bake"""

    bl_idname = "mmdskin.export"
    bl_label = "Export MMD Skin"
    bl_options = {"REGISTER"}  # type: ignore[assignment]  # an export cannot be undone

    format: EnumProperty(
        name="Format",
        description="File format; inferred from the extension if not set",
        items=[
            ("GLTF", "glTF", "Shape keys and corrective keys, for game engines and the web"),
            ("FBX", "FBX", "Shape keys and corrective keys, for game engines and other programs"),
            ("USD", "USD", "All points on every frame, from any bake or from MMD Skinning"),
            ("ALEMBIC", "Alembic", "All points on every frame, from any bake or from MMD Skinning"),
        ],
        options={"SKIP_SAVE"},
    )
    filepath: StringProperty(subtype="FILE_PATH", options={"SKIP_SAVE"})
    filter_glob: StringProperty(options={"HIDDEN", "SKIP_SAVE"})
    check_existing: BoolProperty(default=True, options={"HIDDEN"})
    _last_format = ""  # at the last `check`

    @classmethod
    def unavailable(cls, model: scene_model.SceneModel) -> str:
        try:
            content.check_shown(model)
        except UserError as error:
            return str(error)
        return ""

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[Any]:
        try:
            name = self.models(context)[0].name
            shown = self._shown(context)
            self._format().exporter()
            if self.properties.is_property_set("format"):  # else the user has yet to choose
                self._format().check(shown)
            else:
                self._last_format = self.format
        except UserError as error:
            return cancelled(self, error)
        if not self.filepath:
            folder = os.path.dirname(bpy.data.filepath)
            self.filepath = os.path.join(folder, bpy.path.clean_name(name))
        self.check(context)
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def check(self, context: bpy.types.Context) -> bool:
        """Match the file's extension to the format, or the format to a typed extension, after a change."""
        known = formats.format_of(os.path.splitext(self.filepath)[1])
        if known and self.format == self._last_format:
            self.format = known
        self._last_format = self.format
        self.filter_glob = f"*{self._format().ending}"
        before = self.filepath
        if os.path.basename(before):
            self.filepath = self._ended(before)
        return self.filepath != before

    def draw(self, context: bpy.types.Context) -> None:
        self.layout.prop(self, "format")
        self.layout.prop(self, "all_models")

    @cancels
    def execute(self, context: bpy.types.Context) -> set[Any]:
        path = self._path()
        form, shown = self._format(), self._shown(context)
        form.check(shown)
        with content.prepared(context, shown):
            safe_write.write(path, lambda target: form.export(target, shown), form.size(shown))
        for obj, names in content.left_out(shown) if form.keys else ():
            self.caution(
                "{format} cannot store shape keys together with modifiers: skipped"
                " {modifiers} of '{name}'",
                format=form.name,
                modifiers=", ".join(names),
                name=obj.name,
            )
        self.inform("Exported '{file}'", file=os.path.basename(path))
        return {"FINISHED"}

    def _shown(self, context: bpy.types.Context) -> content.Content:
        return content.content_of(self.models(context), context.scene)

    def _format(self) -> formats.Format:
        return formats.FORMATS[self.format]

    def _ended(self, path: str) -> str:
        """The path with the format's extension."""
        stem, ending = os.path.splitext(path)
        known = formats.format_of(ending)
        return path if known == self.format else (stem if known else path) + self._format().ending

    def _path(self) -> str:
        path = file_access.absolute(self.filepath)
        known = formats.format_of(os.path.splitext(path)[1])
        if not self.properties.is_property_set("format"):
            if known is None:
                raise UserError(
                    "'{file}' has an unknown extension: use .glb, .fbx, .usdc or .abc",
                    file=os.path.basename(path),
                )
            self.format = known
        path = self._ended(path)
        file_access.check_folder(path)
        return path


register, unregister = registration.operator(
    MMDSKIN_OT_export, "TOPBAR_MT_file_export", text="Baked MMD Model (.glb, .fbx, .usdc, .abc)"
)
