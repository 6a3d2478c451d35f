# SPDX-License-Identifier: GPL-3.0-or-later
"""The values in Blender's file browser when the name or the format of an export is changed."""

import os
from types import SimpleNamespace

import bpy
from exported import Exported, executed_by


class Browser(Exported):
    def browse(self, steps, **given):
        """The path after each step, (property, value), of a user in the browser."""
        window_manager = SimpleNamespace(fileselect_add=lambda operator: None)
        found = []

        def invoke(operator, context):
            names = ("scene", "view_layer", "active_object", "selected_objects")
            own = {name: getattr(context, name) for name in names}
            operator.invoke(SimpleNamespace(window_manager=window_manager, **own), None)
            for name, value in steps:
                setattr(operator, name, value)
                operator.check(context)
                found.append((os.path.basename(operator.filepath), operator.format))
            return {"FINISHED"}

        with executed_by(invoke):
            bpy.ops.mmdskin.export(**given)
        return found

    def test_the_format_follows_an_ending_that_is_typed(self):
        self.bake("SHAPE_KEYS", False)
        folder = str(self.folder)
        steps = [
            ("filepath", f"{folder}/a.fbx"),
            ("filepath", f"{folder}/b"),
            ("format", "ALEMBIC"),
            ("filepath", f"{folder}/c.gltf"),
        ]
        expected = [("a.fbx", "FBX"), ("b.fbx", "FBX"), ("b.abc", "ALEMBIC"), ("c.gltf", "GLTF")]
        self.assertEqual(self.browse(steps), expected)

    def test_a_format_chosen_before_overrides_the_first_extension(self):
        self.bake("SHAPE_KEYS", False)
        given = {"format": "FBX", "filepath": str(self.folder / "a.glb")}
        self.assertEqual(self.browse([("all_models", False)], **given), [("a.fbx", "FBX")])
