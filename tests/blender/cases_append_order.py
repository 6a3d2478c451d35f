# SPDX-License-Identifier: GPL-3.0-or-later
"""Appends from bones that come later in the file: the same in each form of a motion."""

import bpy
import case
import imported
import numpy as np
import scene
from cases_motion_files import FORMS, small_pmx
from files import motion_file, pmx_file

TURN = np.radians(40)


def chained():
    """The first bone, which moves all vertices, appends from the second one, that from the third."""
    pmx = small_pmx()
    pmx.bones = [pmx_file.Bone(name, position=(0, 1, 0)) for name in ("下", "中", "上")]
    pmx.bones[0].append = pmx_file.Append(1, 1.0, True, True)
    pmx.bones[1].append = pmx_file.Append(2, 0.5, True, True)
    pmx.bone_indices[:, 0] = 0
    return pmx


class Order(imported.Case):
    def setUp(self):
        super().setUp()
        bpy.context.scene.render.fps = 30
        model = self.load(self.write(pmx_file.write(chained())), live=True)
        self.armature, self.mesh = model.armature, model.mesh
        turn = (0, 0, np.sin(TURN / 2), np.cos(TURN / 2))
        keys = [motion_file.BoneKey("上", frame, (2, 0, 0), turn) for frame in (0, 10)]
        self.motion = self.write(motion_file.write_vmd(motion_file.Keys("", keys, [])), "a.vmd")

    def assert_follows(self):
        """Turned by half the angle about (0, 1, 0), and moved by half the way."""
        bpy.context.scene.frame_set(5)
        cosine, sine = np.cos(TURN / 2), np.sin(TURN / 2)
        turn = np.array([(cosine, -sine, 0), (sine, cosine, 0), (0, 0, 1)])
        expected = (chained().positions - (0, 1, 0)) @ turn.T + (1, 1, 0)
        shown = scene.in_file(scene.evaluated_positions(self.mesh))
        self.assertEqual(case.live_errors(), [])
        self.assert_close(shown, expected, 1e-4)

    def test_of_sources_does_not_matter_in_any_form(self):
        for form in FORMS:
            with self.subTest(form=form):
                scene.select(self.armature)
                done = bpy.ops.mmdskin.import_motion(filepath=self.motion, mode=form)
                self.assertEqual(done, {"FINISHED"})
                self.assert_follows()
                if form == "ORIGINAL":
                    self.armature.mmdskin.source = "IK"
                    self.assert_follows()
                    self.armature.mmdskin.source = "ARMATURE"
                bpy.ops.mmdskin.clear_motion()
