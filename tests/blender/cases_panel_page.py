# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/panel.md describes the panel as it is; MMDSKIN_WRITE=1 writes it."""

import os
import pathlib

import bpy
import case
import panel_page

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/panel.md"
# Not in the panel as such: the switch has an operator, the others are set by operators.
ELSEWHERE = {"name", "preview", "physics_group", "physics_cache"}


class Page(case.Case):
    def setUp(self):
        super().setUp()
        if bpy.app.version < (4, 5):
            self.skipTest("the page has MMD Normals, which Blender shows from 4.5 on")
        self.text = panel_page.text(self.scene.armature.mmdskin)

    def test_is_as_the_panel(self):
        if os.environ.get("MMDSKIN_WRITE"):
            PAGE.write_text(self.text, "utf-8")
        self.assertEqual(PAGE.read_text("utf-8"), self.text, "run with MMDSKIN_WRITE=1")

    def test_has_all_settings(self):
        for prop in self.scene.armature.mmdskin.bl_rna.properties:
            if not prop.is_hidden and not prop.is_readonly and prop.identifier not in ELSEWHERE:
                self.assertIn(f"**{prop.name}**", self.text)
