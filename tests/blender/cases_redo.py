# SPDX-License-Identifier: GPL-3.0-or-later
"""The redo panel (F9) of a bake: it shows what was baked, and changes only what is changed there."""

import sys
from types import SimpleNamespace
from unittest import mock

import bpy
import scene
from cases_motion import MotionCase
from cases_panel import Layout


def addon():
    return sys.modules["addon_package"]


class Redo(MotionCase):
    def setUp(self):
        super().setUp()
        settings = self.armature.mmdskin
        settings.model_path, settings.motion_path = self.model_path, self.motion_path
        settings.range, settings.frame_start, settings.frame_end = "CUSTOM", 1, 3

    def baked(self, **options):
        """The operator's values afterwards, the options of its panel, and the arguments of the jobs."""
        module = addon().bake.operators
        held, drawn, jobs = {}, [], []
        kind, make = module.MMDSKIN_OT_bake, module.job.bake

        def note_job(context, wanted, options):
            _, *settings = map(list, zip(*wanted, strict=True))
            jobs.append((*settings, options))
            return make(context, wanted, options)

        def note(operator, job):
            given = operator.properties
            values = {name: getattr(given, name) for name in given.bl_rna.properties.keys()[1:]}
            held.update((n, value) for n, value in values.items() if given.is_property_set(n))
            panel = SimpleNamespace(**values, properties=given, layout=Layout(drawn))
            kind.draw(panel, bpy.context)
            return {"FINISHED"}

        with (
            mock.patch.object(kind, "_report", note),
            mock.patch.object(module.job, "bake", note_job),
        ):
            bpy.ops.mmdskin.bake(**options)
        bpy.ops.mmdskin.clear_bake(all_models=True)
        (job,) = jobs
        return held, [name.removeprefix(".") for name in drawn], job

    def test_shows_the_options_of_the_bake(self):
        settings = self.armature.mmdskin
        settings.source, settings.deformation = "IK", "DUAL_QUATERNION"
        held, drawn, _ = self.baked()
        for name in ("source", "model_path", "deformation", "range", "frame_end", "target"):
            self.assertEqual(held[name], getattr(settings, name), name)
        frames = ["range", "frame_start", "frame_end", "step", "samples"]
        pose = ["source", "model_path", "physics"]
        self.assertEqual(drawn, ["target", *frames, "deformation", *pose, "all_models"])

    def test_shows_options_that_apply(self):
        self.armature.mmdskin.range = "CURRENT"
        for options, shown in (
            ({}, ["target", "range", "deformation", "source"]),
            (
                {"target": "CORRECTIVE", "deformation": "BULGE_FREE"},
                ["target", "corrective", "max_keys", "tolerance", "range"]
                + ["deformation", "correction", "source"],
            ),
            (
                {"target": "MESH_CACHE", "folder": self.folder.name},
                ["target", "folder", "range", "deformation"]
                + addon().operator_base.properties.shown_of_normals()
                + ["source"],
            ),
            (
                {"source": "MOTION", "physics": True},
                ["target", "range", "deformation", "source", "motion_path", "model_path"]
                + ["motion_start", "motion_real_time", "physics", "physics_ground"]
                + ["physics_settle", "physics_hz", "physics_start"],
            ),
        ):
            self.assertEqual(self.baked(**options)[1], [*shown, "all_models"])

    def test_repeats_the_bake(self):
        self.armature.mmdskin.source = "IK"
        held, drawn, job = self.baked(step=2)
        again = self.baked(**held)
        self.assertEqual((again[0], again[1]), (held, drawn))
        self.assertEqual(again[2], job)

    def test_one_changed_option_changes_only_that(self):
        self.armature.mmdskin.source = "MOTION"
        held, _, (poses, deformations, options) = self.baked()
        changed = self.baked(**{**held, "frame_end": 5})[2]
        self.assertEqual(changed[:2], (poses, deformations))
        self.assertEqual(changed[2], options._replace(frames=(1, 2, 3, 4, 5)))
        changed = self.baked(**{**held, "source": "ARMATURE"})
        self.assertEqual(changed[2], ([None], deformations, options))
        self.assertEqual(changed[0]["motion_path"], self.motion_path)

    def test_different_models_keep_their_settings(self):
        """Also if one model was baked alone first."""
        other = scene.Scene(self.scene.pmx, "other").armature.mmdskin
        settings = self.armature.mmdskin
        other.source, other.deformation = "ARMATURE", "LINEAR"
        other.motion_path = settings.motion_path
        settings.source = "MOTION"
        scene.select(self.mesh)
        held, drawn, (poses, *_) = self.baked()
        self.assertIn("source", drawn)
        held, drawn, job = self.baked(**{**held, "all_models": True})
        for name in ("source", "deformation"):
            self.assertNotIn(name, held)
            self.assertNotIn(name, drawn)
        self.assertEqual(held["motion_path"], self.motion_path)
        methods = {deformation.method for deformation in job[1]}
        self.assertEqual((set(job[0]), methods), ({None, poses[0]}, {"mmd", "linear"}))
        chosen = self.baked(**held, source="ARMATURE")
        self.assertEqual(chosen[2][0], [None, None])
        self.assertEqual(chosen[2][1], job[1])

    def test_a_later_choice_of_the_model_counts_when_repeated(self):
        held, _, _ = self.baked()
        self.armature.mmdskin.source = "MOTION"
        self.assertEqual(self.baked(**held)[0]["source"], "MOTION")

    def test_invalid_values_of_filled_in_options(self):
        for text in ("{", "[1]", "null"):
            self.assertEqual(self.baked(filled=text)[0]["source"], "ARMATURE")
