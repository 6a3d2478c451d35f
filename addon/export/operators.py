# SPDX-License-Identifier: GPL-3.0-or-later
"""The operator and its entry in File › Export."""

import contextlib
import os

import bpy
from bpy.props import BoolProperty, EnumProperty, StringProperty

from .. import registration
from ..model_operator import ModelOperator
from ..translations import tr
from ..user_error import UserError, cancelled
from . import content, formats, stage


class MMDSKIN_OT_export(ModelOperator, bpy.types.Operator):
    """Export the model as it is baked, by Blender's exporter with the options that fit"""

    bl_idname = "mmdskin.export"
    bl_label = "Export MMD Skin"
    bl_options = {"REGISTER"}  # type: ignore[assignment]  # an export is no step to undo

    format: EnumProperty(
        name="Format",
        description="Of the file; the ending of the path tells it where it is not given",
        items=[
            ("GLTF", "glTF", "Shape keys and corrective keys, for game engines and the web"),
            ("FBX", "FBX", "Shape keys and corrective keys, for game engines and other programs"),
            ("USD", "USD", "Every point of every frame, from any bake or live"),
            ("ALEMBIC", "Alembic", "Every point of every frame, from any bake or live"),
        ],
        options={"SKIP_SAVE"},
    )
    filepath: StringProperty(subtype="FILE_PATH", options={"SKIP_SAVE"})
    filter_glob: StringProperty(options={"HIDDEN", "SKIP_SAVE"})
    check_existing: BoolProperty(default=True, options={"HIDDEN"})
    _last_format = ""  # when Blender asked last

    def invoke(self, context, event):
        try:
            name = self.models(context)[0].name
            shown = self._shown(context)
            self._format().exporter()
            if self.properties.is_property_set("format"):  # else it is yet to be chosen
                self._format().check(shown)
            else:
                self._last_format = self.format
        except UserError as error:
            return cancelled(self, error)
        if not self.filepath:
            blend = bpy.data.filepath
            self.filepath = bpy.path.clean_name(name)
            if blend:
                self.filepath = os.path.join(os.path.dirname(blend), self.filepath)
        self.check(context)
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def check(self, context):
        """Let the file's name end as the format does, or the format follow an ending that is typed;
        Blender asks when something has changed."""
        known = formats.of_ending(os.path.splitext(self.filepath)[1])
        if known and self.format == self._last_format:
            self.format = known
        self._last_format = self.format
        self.filter_glob = f"*{self._format().ending}"
        before = self.filepath
        if os.path.basename(before):
            self.filepath = self._ended(before)
        return self.filepath != before

    def draw(self, context):
        self.layout.prop(self, "format")
        self.layout.prop(self, "all_models")

    def execute(self, context):
        try:
            path = self._path()
            form, shown = self._format(), self._shown(context)
            form.check(shown)
            with stage.set_for(context, shown):
                _write(form, shown, path)
        except UserError as error:
            return cancelled(self, error)
        for obj, names in content.left_out(shown) if form.keys else ():
            text = tr(
                "{format} holds shape keys only without modifiers: {modifiers} of '{name}' is left out",
                format=form.name,
                modifiers=", ".join(names),
                name=obj.name,
            )
            self.report({"WARNING"}, text)
        self.report({"INFO"}, tr("Exported '{file}'", file=os.path.basename(path)))
        return {"FINISHED"}

    def _shown(self, context):
        return content.of(self.models(context), context.scene)

    def _format(self):
        return formats.FORMATS[self.format]

    def _ended(self, path):
        """The path as files of the format end."""
        stem, ending = os.path.splitext(path)
        known = formats.of_ending(ending)
        return path if known == self.format else (stem if known else path) + self._format().ending

    def _path(self):
        if not self.filepath:
            raise UserError("No file is chosen: give the path of the file to write")
        path = bpy.path.abspath(self.filepath)
        known = formats.of_ending(os.path.splitext(path)[1])
        if not self.properties.is_property_set("format"):
            if known is None:
                raise UserError(
                    "'{file}' has no known ending: let it end in .glb, .fbx, .usdc or .abc",
                    file=os.path.basename(path),
                )
            self.format = known
        path = self._ended(path)
        folder = os.path.dirname(os.path.abspath(path))
        if not os.path.isdir(folder):
            raise UserError("The folder '{folder}' does not exist: make it first", folder=folder)
        _check_writable(path)
        return path


def _check_writable(path):
    """UserError where it is not: some exporters would leave files of their own, or say nothing."""
    exists = os.path.exists(path)
    try:
        with open(path, "ab"):
            pass
        if not exists:
            os.remove(path)
    except OSError as error:
        raise _not_written(path, error.strerror or str(error)) from error


def _not_written(path, reason):
    return UserError(
        "'{file}' cannot be written: {reason}", file=os.path.basename(path), reason=reason
    )


def _write(form, shown, path):
    before, reason = _time(path), tr("Blender's exporter has failed")
    try:
        done = form.export(path, shown)
    except RuntimeError as error:
        done, reason = set(), _last_words(error)
    if done != {"FINISHED"} or _time(path) == before:
        if before is None:
            with contextlib.suppress(OSError):
                os.remove(path)
        raise _not_written(path, reason)


def _last_words(error):
    """What an exporter said at last: exporters in Python end with a traceback and its place."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    said = [line for line in lines if not line.startswith("Location:")]
    return said[-1].removeprefix("Error: ").strip()


def _time(path):
    """When a file was written; None where there is none."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return None


def _menu(self, context):
    self.layout.operator(
        MMDSKIN_OT_export.bl_idname, text="MMD model, as baked (.glb, .fbx, .usdc, .abc)"
    )


register, unregister = registration.of(MMDSKIN_OT_export, menus={"TOPBAR_MT_file_export": _menu})
