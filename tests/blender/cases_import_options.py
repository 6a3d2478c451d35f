# SPDX-License-Identifier: GPL-3.0-or-later
"""Imports start as users expect in Blender: preferences, dropped files, redo panel, search."""

import sys
from types import SimpleNamespace
from unittest import mock

import bpy
import case
import imported

# Not for users: what the file browser hands over.
HIDDEN = {"filepath", "filter_glob", "files", "directory"}


def addon():
    return sys.modules["addon_package"]


def preferences():
    return bpy.context.preferences.addons[addon().__name__].preferences


def operators():
    """(class, RNA) of every operator of the add-on."""
    for cls in bpy.types.Operator.__subclasses__():
        if cls.__module__.startswith(addon().__name__ + ".") and cls.is_registered:
            rna = getattr(bpy.ops.mmdskin, cls.bl_idname.partition(".")[2]).get_rna_type()
            yield cls, rna


def own_properties(rna, base):
    return set(rna.properties.keys()).difference(base.bl_rna.properties.keys())


def motion_importer():
    return next(cls for cls in importers() if cls.bl_idname == "mmdskin.import_motion")


def motion_options(filepath="a.vmd", **values):
    """What a dialog draws for these values of options."""
    cls, drawn = motion_importer(), []
    layout = SimpleNamespace(prop=lambda owner, name, **_: drawn.append(name))
    layout.column = lambda: layout
    rna = SimpleNamespace(bl_rna=bpy.ops.mmdskin.import_motion.get_rna_type())
    operator = SimpleNamespace(
        layout=layout, shown=cls.shown, properties=rna, filepath=filepath, **values
    )
    operator.is_used = lambda option: cls.is_used(operator, option)
    cls.draw(operator, bpy.context)
    return set(drawn)


def importers():
    return [cls for cls, _ in operators() if getattr(cls, "preferred", ())]


class Dialog(imported.Case):
    """Dialogs do not open here: records the operator's state when it asks for one."""

    def setUp(self):
        super().setUp()
        self.shown = []
        importing = addon().operator_base.importing

        def note(operator, title):
            values = {name: getattr(operator, name) for name in operator.preferred}
            self.shown.append((title, SimpleNamespace(**values)))
            return {"CANCELLED"}

        dialog = mock.patch.object(
            importing.Importer, "_ask", lambda operator, _, title: note(operator, title)
        )
        browser = mock.patch.object(
            importing.ImportHelper, "invoke", lambda operator, *_: note(operator, None)
        )
        # Without a window Blender does not invoke.
        invoked = [
            mock.patch.object(
                cls, "execute", lambda operator, context: operator.invoke(context, None)
            )
            for cls in importers()
        ]
        self.addCleanup(mock.patch.stopall)
        for patch in (dialog, browser, *invoked):
            patch.start()

    def invoke(self, operator, **given):
        """The title of the dialog, None for the file browser, and the options that it shows."""
        operator(**given)
        return self.shown.pop()

    def set(self, name, value):
        before = getattr(preferences(), name)
        self.addCleanup(setattr, preferences(), name, before)
        setattr(preferences(), name, value)


class Preferences(Dialog):
    def test_are_the_operators_defaults_at_first(self):
        checked = 0
        for cls, rna in operators():
            for option in getattr(cls, "preferred", ()):
                name = addon().operator_base.importing.preference(cls, option)
                prop = rna.properties[option]
                is_flag = prop.type == "ENUM" and prop.is_enum_flag
                default = prop.default_flag if is_flag else prop.default
                if name.startswith("import_model_live"):  # on for people, off for scripts
                    self.assertIs(default, False)
                    default = True
                self.assertEqual(getattr(preferences(), name), default, name)
                checked += 1
        self.assertGreater(checked, 7)

    def test_a_dialog_begins_with_them(self):
        self.set("import_model_scale", 0.5)
        self.set("import_motion_step", 3)
        title, options = self.invoke(bpy.ops.mmdskin.import_model)
        self.assertEqual((title, options.scale), (None, 0.5))
        title, options = self.invoke(bpy.ops.mmdskin.import_motion)
        self.assertEqual((title, options.step), (None, 3))

    def test_operator_options_override_settings(self):
        self.set("import_model_scale", 0.5)
        _, options = self.invoke(bpy.ops.mmdskin.import_model, scale=2.0)
        self.assertEqual(options.scale, 2.0)

    def test_a_script_gets_the_operators_own(self):
        mock.patch.stopall()
        self.set("import_model_scale", 0.5)
        model = self.load(self.write(case.small_model()))
        self.assertAlmostEqual(model.root["mmd_scale"], 0.08)

    def test_every_one_is_drawn(self):
        drawn = []
        layout = SimpleNamespace(
            label=lambda **_: None,
            prop=lambda owner, name, **_: drawn.append(name),
            operator=lambda *_, **__: None,
        )
        layout.box = layout.column = lambda: layout
        kind = type(preferences())
        kind.draw(SimpleNamespace(layout=layout, bl_rna=kind.bl_rna), bpy.context)
        self.assertEqual(set(drawn), own_properties(kind.bl_rna, bpy.types.AddonPreferences))


class Dropped(Dialog):
    """Files dropped on the window, which Blender passes to the operator (4.1)."""

    def setUp(self):
        super().setUp()
        if not hasattr(bpy.types, "FileHandler"):
            self.skipTest("this Blender has no FileHandler")

    def test_handlers_are_there(self):
        taken = {}
        for name in ("MMDSKIN_FH_model", "MMDSKIN_FH_motion"):
            handler = bpy.types.FileHandler.bl_rna_get_subclass_py(name)
            taken |= dict.fromkeys(handler.bl_file_extensions.split(";"), handler)
        self.assertEqual(taken.keys(), {".pmx", ".pmd", ".vmd", ".vpd"})
        known = {cls.bl_idname for cls, _ in operators()}
        for handler in taken.values():
            self.assertIn(handler.bl_import_operator, known)
            for place, wanted in (("VIEW_3D", True), ("TEXT_EDITOR", False), (None, False)):
                area = place and SimpleNamespace(type=place)
                self.assertEqual(handler.poll_drop(SimpleNamespace(area=area)), wanted)

    def test_a_dialog_asks_for_the_options(self):
        self.set("import_model_scale", 0.5)
        title, options = self.invoke(bpy.ops.mmdskin.import_model, filepath="/a/model.pmx")
        self.assertEqual((title, options.scale), ("model.pmx", 0.5))
        title, _ = self.invoke(bpy.ops.mmdskin.import_motion, filepath="/a/dance.vmd")
        self.assertEqual(title, "dance.vmd")
        files = [{"name": name} for name in "ab"]
        title, _ = self.invoke(bpy.ops.mmdskin.import_model, filepath="/a", files=files)
        self.assertEqual(title, "Import 2 Files")

    def drop(self, *names):
        """With Blender's own operator, in the 3D Viewport."""
        (window,) = bpy.context.window_manager.windows
        area = next(area for area in window.screen.areas if area.type == "VIEW_3D")
        with bpy.context.temp_override(window=window, area=area, region=area.regions[-1]):
            bpy.ops.wm.drop_import_file(
                "INVOKE_DEFAULT", directory=self.folder, files=[{"name": name} for name in names]
            )

    def test_blender_passes_the_dialogs_options(self):
        for names, title in (
            (["a.pmx"], "a.pmx"),
            (["a.pmx", "b.pmd"], "Import 2 Files"),
            (["踊り.vmd"], "踊り.vmd"),
            (["a.vpd"], "a.vpd"),
        ):
            self.drop(*names)
            self.assertEqual([shown[0] for shown in self.shown], [title])
            self.shown.clear()

    def test_all_files_are_imported(self):
        mock.patch.stopall()
        for name in ("a.pmx", "b.pmx"):
            self.write(case.small_model(), name)
        self.drop("a.pmx", "b.pmx")
        self.assertLessEqual({"a", "b"}, set(bpy.data.objects.keys()))


class Operators(case.Case):
    def test_can_be_undone_and_repeated_with_other_options(self):
        for cls, _ in operators():
            # These change nothing that could be undone.
            if not cls.bl_idname.startswith(("mmdskin.export", "mmdskin.report", "mmdskin.settle")):
                self.assertLessEqual({"REGISTER", "UNDO"}, cls.bl_options, cls.bl_idname)

    def test_the_redo_panel_has_every_option_of_imports(self):
        for cls, rna in operators():
            if cls in importers():
                options = own_properties(rna, bpy.types.Operator) - HIDDEN
                self.assertEqual(set(cls.shown), options)
                self.assertEqual(len(cls.shown), len(options))
                self.assertLessEqual(set(cls.preferred), options)

    def test_an_import_of_a_motion_shows_options_that_apply(self):
        settings = {"types": {"MODEL", "CAMERA"}, "mode": "SOLVED", "physics": True}
        self.assertEqual(motion_options(**settings), set(motion_importer().shown))
        physics = {"physics_ground", "physics_settle", "physics_hz"}
        for changed, hidden in (
            ({"physics": False}, physics),
            ({"types": {"MODEL"}}, {"scale"}),
            ({"types": {"CAMERA"}}, {"mode", "model_path", "step", "replace", "physics", *physics}),
            ({"mode": "ORIGINAL", "physics": False}, {"step", *physics}),
            ({"mode": "ORIGINAL"}, {"step"}),
            ({"mode": "FILE"}, {"step"}),
        ):
            shown = motion_options(**{**settings, **changed})
            self.assertEqual(set(motion_importer().shown) - shown, hidden, changed)

    def test_an_import_of_a_pose_shows_nothing_of_time(self):
        settings = {"types": {"MODEL", "CAMERA"}, "mode": "SOLVED", "physics": False}
        shown = motion_options("A.VPD", **settings)
        self.assertEqual(shown, {"types", "mode", "model_path", "physics"})

    def test_the_search_finds_every_one(self):
        """It looks through menus."""
        found = []
        layout = SimpleNamespace(operator=lambda name, **_: found.append(name))
        menus = (bpy.types.MMDSKIN_MT_model, bpy.types.TOPBAR_MT_file_import)
        for menu in (*menus, bpy.types.TOPBAR_MT_file_export):
            for draw in getattr(menu.draw, "_draw_funcs", [menu.draw]):
                if draw.__module__.startswith(addon().__name__):
                    draw(SimpleNamespace(layout=layout), bpy.context)
        self.assertEqual({cls.bl_idname for cls, _ in operators()} - set(found), set())
