# SPDX-License-Identifier: GPL-3.0-or-later
"""Physics switches and impulse morphs in simulations of Original Keys."""

import bpy
import fingerprint
import numpy as np
from files import motion_file
from keyed_physics import FRAMES, HAIR, Keyed, switch, with_wind


class Switched(Keyed):
    """A motion whose keys switch the physics of bones."""

    def keys(self):
        keys = super().keys()
        hair = switch(HAIR[0], (0, 1), (6, 0), (11, 1)), switch(HAIR[1], (3, 0), (8, 1))
        return keys._replace(bones=sum(hair, keys.bones))

    def setUp(self):
        super().setUp()
        self.settings.preview = True

    def test_equals_the_simulation_of_the_same_motion(self):
        self.simulate()
        self.assert_shows((*FRAMES, 7, 8, 9, 12))
        self.write_motion(super().keys())
        self.assertGreater(np.abs(self.expected(9) - self.shown(9))[-30:].max(), 0.01)

    def test_are_keys_of_the_bones_that_an_artist_may_change(self):
        curves = {name: self.curve(name, '["mmd_physics"]') for name in HAIR}
        points = {name: self.points(curve) for name, curve in curves.items()}
        self.assertEqual(points, {"髪": [(0, 1), (6, 0), (11, 1)], "紐": [(3, 0), (8, 1)]})
        self.simulate()
        curves["髪"].keyframe_points[1].co.x += 1
        curves["髪"].update()
        self.shown(11)
        self.assertIn("keyframes have changed", self.problem)

    def test_a_switch_without_keys_is_reported(self):
        self.simulate()
        self.shown(10)
        self.bone("髪")["mmd_physics"] = True
        self.armature.update_tag()
        bpy.context.view_layer.update()
        self.assertIn("This pose was not", self.problem)

    def test_go_with_clear_motion(self):
        self.bone("紐")["mmd_physics"] = False
        bpy.ops.mmdskin.clear_motion()
        before = fingerprint.of_file()
        self.assertNotIn("mmd_physics", self.bone("髪"))
        self.import_keys()
        self.assertIn("mmd_physics", self.bone("髪"))
        bpy.ops.mmdskin.clear_motion()
        self.assertEqual(fingerprint.differences(before, fingerprint.of_file()), [])

    def test_a_later_motion_switches_from_its_first_key_on(self):
        later = [*switch(HAIR[0], (9, 1)), *switch(HAIR[1], (12, 0), (14, 1))]
        self.write_motion(motion_file.Keys("次", later, []), "次.vmd")
        self.import_keys()
        found = {name: self.points(self.curve(name, '["mmd_physics"]')) for name in HAIR}
        wanted = {"髪": [(0, 1), (6, 0), (9, 1)], "紐": [(3, 0), (8, 1), (12, 0), (14, 1)]}
        self.assertEqual(found, wanted)

    def points(self, curve):
        return [(point.co.x * 30 / self.fps, point.co.y) for point in curve.keyframe_points]


class Pushed(Keyed):
    """Impulse morphs."""

    def import_model(self):
        with_wind(self.pmx)
        super().import_model()

    def keys(self):
        weights = {"風": (0, 0.5, 1, 0), "嵐": (0.2, 0, 0, 0.6), "回転": (0, 1, 0, 0)}
        morphs = [
            motion_file.MorphKey(name, 5 * number, weight)
            for name, of_name in weights.items()
            for number, weight in enumerate(of_name)
        ]
        return super().keys()._replace(morphs=morphs)

    def test_their_sliders_act_in_the_simulation(self):
        for name in ("風", "嵐", "回転"):
            self.assertIn(name, self.armature)
        self.settings.preview = True
        # while hair still swings: rounding decides at which step additional damping stops it
        self.settings.physics_settle = 60
        self.simulate()
        self.assert_shows(settle=60)
        self.write_motion(super().keys())
        self.assertGreater(np.abs(self.expected(11) - self.shown(11))[-30:].max(), 0.02)

    def test_a_moved_slider_is_reported(self):
        self.settings.preview = True
        self.simulate()
        self.shown(11)
        self.armature["風"] = 0.9
        self.armature.update_tag()
        bpy.context.view_layer.update()
        self.assertIn("This pose was not", self.problem)
