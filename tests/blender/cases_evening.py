# SPDX-License-Identifier: GPL-3.0-or-later
"""An evening with two dancers, a stage and a prop, from the import to the export, in few clicks.

What a click is: a press of the mouse on an object, a button, a check box, a file or OK; a value chosen from
a list takes two. Keys (N for the sidebar, Ctrl+S, the name of a file) are none.
"""

import os

import bpy
import imported
import scene
from cases_bake_range import forget_file
from cases_panel import CHILDREN, drawn_by
from files import motion_file, pmx_file
from keyed_physics import HAIR, addon, dance, dressed

MOST = 29  # clicks; operators that act on one model at a time, and a folded Files panel, took 56
FILES = ("a.pmx", "b.pmx", "stage.pmx", "prop.pmx")


class Evening(imported.Case):
    """Two dancers with hair, a stage and a prop, and one dance, in files of one folder."""

    def setUp(self):
        super().setUp()
        self.clicks = []
        pmx = dressed()
        pmx.materials = [pmx_file.Material("服", index_count=pmx.triangles.size)]
        for name in FILES:
            self.write(pmx, name)
        names = [bone.name for bone in pmx.bones if bone.name not in HAIR]
        self.motion = self.write(motion_file.write_vmd(dance(names)), "踊り.vmd")
        bpy.context.scene.render.fps = 30
        bpy.context.scene.frame_start = bpy.context.scene.frame_end = 1
        view = bpy.context.scene.view_settings
        self.addCleanup(setattr, view, "view_transform", view.view_transform)
        view.view_transform = "Filmic"

    def click(self, *places):
        self.clicks += places

    def press(self, button):
        """A button of the panel that is visible without unfolding anything."""
        kinds = [getattr(bpy.types, name) for name in ("MMDSKIN_PT_skin", *CHILDREN)]
        open_ones = [kind for kind in kinds if not hasattr(kind, "bl_options")]
        names = [one[0] for one in drawn_by(open_ones) if isinstance(one, tuple)]
        self.assertIn(button, names)
        self.click(button)

    def choose(self, option):
        self.click(f"{option}: list", f"{option}: value")

    def select(self, *names):
        """Click on a mesh, then on others with Shift."""
        scene.select(self.mesh(names[0]))
        self.click(names[0])
        self.add(*names[1:])

    def add(self, *names):
        for name in names:
            self.mesh(name).select_set(True)
            bpy.context.view_layer.objects.active = self.mesh(name)
        self.click(*names)

    def mesh(self, name):
        return next(
            obj
            for obj in bpy.data.objects[name].children_recursive
            if obj.type == "MESH" and obj.vertex_groups
        )

    def settings(self, name):
        return self.mesh(name).parent.mmdskin

    def test_takes_few_clicks(self):
        self.click("tab MMD")
        self.press("mmdskin.import_model")
        self.click(*FILES, "OK")
        bpy.ops.mmdskin.import_model(
            directory=self.folder, files=[{"name": n} for n in FILES], live=True, live_physics=True
        )
        self.select("prop", "a")
        self.press("mmdskin.attach")
        self.choose("bone")
        self.click("OK")
        bpy.ops.mmdskin.attach(bone="センター")
        self.select("a", "b")
        self.press("mmdskin.import_motion")
        self.choose("Import As")
        self.click("踊り.vmd", "OK")
        bpy.ops.mmdskin.import_motion(filepath=self.motion, mode="ORIGINAL")
        self.click("Save")
        bpy.ops.wm.save_as_mainfile(filepath=os.path.join(self.folder, "evening.blend"))
        self.addCleanup(forget_file)
        self.press("mmdskin.simulate")
        bpy.ops.mmdskin.simulate()
        self.press("mmdskin.standard_colors")
        bpy.ops.mmdskin.standard_colors()
        self.add("prop", "b")
        self.press("mmdskin.bake")
        bpy.ops.mmdskin.bake()
        path = os.path.join(self.folder, "evening.fbx")
        self.press("mmdskin.export")
        self.click("FBX", "OK")
        bpy.ops.mmdskin.export(format="FBX", filepath=path)
        for name in ("a", "b"):
            self.assertEqual(self.settings(name).source, "IK")
            self.assertTrue(os.path.isfile(bpy.path.abspath(self.settings(name).physics_cache)))
        for name in ("stage", "prop"):
            self.assertEqual(self.settings(name).physics_cache, "")
        baked = [self.baked(name) for name in ("a", "b", "prop", "stage")]
        self.assertEqual(baked, [16, 16, 16, 0])
        self.assertTrue(os.path.isfile(path))
        self.assertTrue(addon().attach.display_armature.constraints_of(self.mesh("prop")))
        self.assertLessEqual(len(self.clicks), MOST, self.clicks)

    def baked(self, name):
        """How many frames."""
        keys = self.mesh(name).data.shape_keys
        return sum(key.name.startswith("MMD ") for key in keys.key_blocks) if keys else 0


class Selected(imported.Case):
    """Operators act on the models of all selected objects, as Blender's do."""

    def setUp(self):
        super().setUp()
        self.models = [self.load(self.write(dressed(), f"{name}.pmx")) for name in "abc"]
        self.motion = self.write(motion_file.write_vmd(dance(["センター"])), "踊り.vmd")

    def select(self, *models):
        scene.select(models[0].mesh)
        for model in models[1:]:
            model.mesh.select_set(True)

    def on(self):
        return [model.armature.mmdskin.preview for model in self.models]

    def moved(self):
        return [model.armature.animation_data is not None for model in self.models]

    def test_a_switch_sets_all_as_it_does_the_active_one(self):
        first, second, _ = self.models
        self.select(first)
        bpy.ops.mmdskin.preview()
        self.assertEqual(self.on(), [True, False, False])
        self.select(second, first)
        bpy.ops.mmdskin.preview()
        self.assertEqual(self.on(), [True, True, False])
        self.select(first, second)
        bpy.ops.mmdskin.preview()
        self.assertEqual(self.on(), [False, False, False])

    def test_a_motion_is_imported_and_cleared(self):
        self.select(self.models[0], self.models[2])
        bpy.ops.mmdskin.import_motion(filepath=self.motion)
        self.assertEqual(self.moved(), [True, False, True])
        ranges = [model.armature.mmdskin.range for model in self.models]
        self.assertEqual(ranges, ["SCENE", "CURRENT", "SCENE"])
        bpy.ops.mmdskin.clear_motion()
        ranges = [model.armature.mmdskin.range for model in self.models]
        self.assertEqual(ranges, ["CURRENT"] * 3)

    def test_beside_one_in_pose_mode_others_are_not(self):
        self.select(self.models[0], self.models[1])
        bpy.context.view_layer.objects.active = self.models[0].armature
        bpy.ops.object.mode_set(mode="POSE")
        self.addCleanup(bpy.ops.object.mode_set, mode="OBJECT")
        bpy.ops.mmdskin.preview()
        self.assertEqual(self.on(), [True, False, False])
