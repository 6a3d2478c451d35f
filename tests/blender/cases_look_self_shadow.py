# SPDX-License-Identifier: GPL-3.0-or-later
"""Self-shadow in EEVEE: where `mmdskin.render(self_shadow=True)` draws it, and off leaves no trace."""

import bpy
import cases_look
import cases_look_pictures as pictures
import fingerprint
import numpy as np
from cases_look import everything
from files import pmx_file
from mathutils import Vector

CAMERA = ((8, 14, -18), (0, 1, 0))  # position and target, in the file's axes
# center, half size: a slab, and a box above it
BOXES = (((0, 0, 0), (4, 0.5, 4)), ((0.5, 3, 0), (1, 1, 1)))
SIDES = np.float64(((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)))
CASTS, RECEIVES, EVERYTHING = 4, 8, 0x1F  # flags
SHADE = 20  # a pixel of a shadow is at least this much darker, of 255


def boxes(flags):
    """A model of boxes, one material each, with these flags."""
    positions, normals, triangles = [], [], []
    for center, half in BOXES:
        for side in SIDES:
            across = np.roll(side, 1)
            up = np.cross(side, across)
            first = len(positions)
            for x, y in ((-1, -1), (-1, 1), (1, 1), (1, -1)):
                positions.append(np.add(center, np.multiply(side + x * across + y * up, half)))
            normals += [side] * 4
            # Clockwise as seen from outside, in left-handed axes.
            triangles += [(first, first + 1, first + 2), (first, first + 2, first + 3)]
    materials = [
        pmx_file.Material(
            name,
            diffuse=(0.5, 0.5, 0.5, 1),
            ambient=(0.5, 0.5, 0.5),
            specular=(0.2, 0.2, 0.2),
            specular_power=5.0,
            flags=flag,
            edge_size=1.0,
            toon=2,
            shared_toon=True,
            index_count=36,
        )
        for name, flag in zip("板箱", flags, strict=True)
    ]
    uvs = np.zeros((len(positions), 2))
    model = pictures.surface(positions, normals, uvs, triangles, materials)
    a, b, c = model.positions[model.triangles].transpose(1, 0, 2)
    inwards = (np.cross(b - a, c - a) * model.normals[model.triangles[:, 0]]).sum(1) < 0
    model.triangles[inwards] = model.triangles[inwards][:, ::-1]
    return model


class Switch(cases_look.Case):
    def setUp(self):
        super().setUp()
        self.switch("ENABLE")

    def test_off_leaves_no_trace(self):
        before = everything()
        for _ in range(2):
            self.settings.self_shadow = True
            self.assertTrue(self.settings.self_shadow)
            self.assertNotEqual(everything(), before)
            self.settings.self_shadow = False
            self.assertEqual(fingerprint.differences(before, everything()), [])

    def test_where_objects_were_just_removed(self):
        """Until the next update, Blender lists None for them."""
        empty = bpy.data.objects.new("empty", None)
        bpy.context.scene.collection.objects.link(empty)
        bpy.context.view_layer.update()
        bpy.data.batch_remove([empty])
        self.settings.self_shadow = True
        self.assertTrue(self.settings.self_shadow)

    def test_it_goes_with_the_look(self):
        self.switch("DISABLE")
        before = everything()
        self.switch("ENABLE")
        self.settings.self_shadow = True
        self.switch("DISABLE")
        self.assertEqual(fingerprint.differences(before, everything()), [])
        self.assertFalse(self.settings.self_shadow)

    def test_cycles_shows_what_it_showed(self):
        def cycles():
            tree = self.materials[0].node_tree
            return tree.nodes["MMD Look CYCLES"].inputs[0].links[0].from_socket.name

        before = cycles()
        self.settings.self_shadow = True
        self.assertEqual(cycles(), before)

    @property
    def settings(self):
        return self.model.armature.mmdskin


class Eevee(cases_look.Case):
    def pmx(self):
        return boxes([EVERYTHING, EVERYTHING])

    def setUp(self):
        super().setUp()
        self.native = pictures.drawing_module(self)

    def show(self, flags):
        """The model with these flags, and with self-shadow."""
        path = self.write(boxes(flags), f"{flags}.pmx")
        self.file = self.native.load_model(path)
        self.hide_all()
        self.model = self.load(path)
        self.settings = self.model.armature.mmdskin
        self.settings.self_shadow = True
        pictures.set_view()
        scene = bpy.context.scene
        camera, (position, target) = scene.camera, np.float64(CAMERA)[:, [0, 2, 1]]
        camera.location = position * pictures.SCALE
        towards = Vector((target - position).tolist())
        camera.rotation_euler = towards.to_track_quat("-Z", "Y").to_euler()
        pictures.use_eevee(self, samples=8)

    def hide_all(self):
        for obj in bpy.data.objects:
            obj.hide_render = obj.type != "LIGHT"

    def shot(self):
        return pictures.shot(self.folder).astype(int)

    def expected(self, self_shadow):
        options = {"edges": True, "self_shadow": self_shadow}
        return pictures.drawn(self.native, self.file, CAMERA, **options).image.astype(int)

    def shadows(self):
        """Where Blender's picture and mmdskin's have shadows."""
        found, expected, lit = self.shot(), self.expected(True), self.expected(False)
        return shadowed(found, lit), shadowed(expected, lit)

    def assert_overlap(self):
        found, expected = self.shadows()
        self.assertGreater(expected.sum(), 300)
        share = (found & expected).sum() / (found | expected).sum()
        self.assertGreaterEqual(share, 0.95)  # intersection over union

    def test_shadows_are_where_render_draws_them(self):
        self.show([EVERYTHING, EVERYTHING])
        self.assert_overlap()

    def test_other_lights_do_not_matter(self):
        self.show([EVERYTHING, EVERYTHING])
        lamp = bpy.data.objects.new("lamp", bpy.data.lights.new("lamp", "POINT"))
        lamp.data.energy, lamp.location = 1000, (4, 1, 6)
        bpy.context.scene.collection.objects.link(lamp)
        world = bpy.data.worlds.new("bright")
        world.color = (1, 1, 1)
        before, bpy.context.scene.world = bpy.context.scene.world, world
        self.assert_overlap()
        bpy.context.scene.world = before
        bpy.data.worlds.remove(world)

    def test_what_casts_none_and_what_receives_none(self):
        for flags in ((EVERYTHING, EVERYTHING & ~CASTS), (EVERYTHING & ~RECEIVES, EVERYTHING)):
            with self.subTest(flags=flags):
                self.show(flags)
                found, expected = self.shadows()
                self.assertEqual(expected.sum(), 0)
                self.assertLess(found.sum(), 20)


def shadowed(picture, lit):
    return (picture[..., 3] > 250) & (picture[..., 0] < lit[..., 0] - SHADE)
