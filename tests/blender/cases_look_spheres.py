# SPDX-License-Identifier: GPL-3.0-or-later
"""Sphere maps are read without mip maps, which show as specks in EEVEE 4.2 to 5.2.

The pictures are compared with the float64 twin of tests/judges.
"""

import os
import sys

import bpy
import cases_look
import cases_look_pictures
import imported
import numpy as np
import scene
from cases_bake_range import forget_file
from files import locations, pmx_file
from judges import look_twin
from mathutils import Matrix, Vector

SIZE = 224
MODELS = locations.at_hand_of("初音ミク.pmx", "巡音ルカ.pmx", own="dancer.pmx")
SPHERE = "MMD Look Sphere"


class Models(imported.Case):
    """Models all of whose materials have a sphere map, whole and their faces."""

    def test_eevee(self):
        # Before 4.2, EEVEE's own mip maps are good: others would not tell.
        cases_look_pictures.use_eevee(self, samples=1)
        self.assert_opaque_interiors()

    def test_cycles(self):
        self.assert_opaque_interiors()

    def setUp(self):
        super().setUp()
        cases_look_pictures.set_view()
        self.native = sys.modules["addon_package"].blender.native.load()

    def assert_opaque_interiors(self):
        here = bpy.context.scene
        here.render.resolution_x = here.render.resolution_y = SIZE
        for path in MODELS:
            model, textures = self.bring(path)
            head = np.array(model.bones[model.bone("頭")].position) + [0, 0.7, 0]
            for name, position, target in (
                ("whole", (6, 12, -40), (0, 10, 0)),
                ("face", head + [3, 1, -9], head),
            ):
                camera = self.native.Camera(position, target, (0, 1, 0), 30)
                place(here.camera, camera)
                skinned = self.native.skin(model, model.pose_from({}))
                twin = look_twin.Scene(
                    skinned.positions,
                    skinned.normals,
                    model.triangles,
                    model.materials,
                    camera,
                    (SIZE, SIZE),
                    uvs=model.uvs,
                    toons=self.native.toons(),
                    textures=textures,
                )
                picture, owners = look_twin.render(twin)
                opaque = np.array([one.diffuse[3] >= 0.98 for one in model.materials])
                chosen = look_twin.interior(owners) & opaque[owners] & (picture[..., 3] == 1)
                shown = cases_look_pictures.shot(self.folder, SIZE)
                off = np.abs(shown - np.round(picture * 255))[..., :3].max(-1)[chosen]
                with self.subTest(model=path.name, view=name):
                    self.assertGreater(off.size, 2000)
                    self.assertGreaterEqual((off <= 2).mean(), 0.993)

    def bring(self, path):
        """A model alone in the scene, without edges, and its textures; all have smooth colors."""
        folder = os.path.join(self.folder, path.stem)
        os.mkdir(folder)
        pmx = pmx_file.read(path)
        numbers = np.random.default_rng(3)
        pmx.textures = [f"{number}.png" for number in range(4)]
        for number, record in enumerate(pmx.materials):
            record.texture = 0 if record.texture >= 0 else -1
            record.sphere_texture = 1 + number % 3
            record.sphere_mode = 1 + number % 2
        textures = {}
        # Whole textures are a few pixels wide on the dancer's lashes and belt, where EEVEE shows mip
        # maps, as MMD does. These tests are about sphere maps: two texels are magnified there, too.
        base = (2, 4) if path.name == "dancer.pmx" else (32, 60)
        for number, (texels, height) in enumerate((base, (64, 60), (256, 60), (1024, 60))):
            textures[number] = waves(numbers, texels, height)
            imported.save_image(os.path.join(folder, pmx.textures[number]), textures[number])
        copy = os.path.join(folder, "model.pmx")
        with open(copy, "wb") as file:
            file.write(pmx_file.write(pmx))
        for obj in [one for one in bpy.data.objects if one.type != "CAMERA"]:
            bpy.data.objects.remove(obj)
        self.load(copy)
        for obj in bpy.data.objects:
            obj.hide_render = obj.type == "VOLUME"
        return self.native.load_model(copy), textures


class Maps(cases_look.Case):
    """Materials with maps of different sizes, modes and kinds."""

    SIZES = ((4, 2), (256, 256), (1024, 1024), (2048, 512), (8192, 1))

    def pmx(self):
        pmx = cases_look.looked_model()
        numbers = np.random.default_rng(7)
        pmx.textures, self.texels = [], []
        for number, (width, height) in enumerate(self.SIZES):
            pmx.textures.append(f"{number}.png")
            self.texels.append(numbers.integers(0, 256, (height, width, 4), np.uint8))
            imported.save_image(os.path.join(self.folder, pmx.textures[-1]), self.texels[-1])
        pmx.materials = [
            pmx_file.Material(str(number), index_count=0, sphere_texture=number, sphere_mode=mode)
            for mode in (1, 2, 3)
            for number in range(len(self.SIZES))
        ]
        pmx.materials[-1].index_count = pmx.triangles.size
        return pmx

    def setUp(self):
        super().setUp()
        self.before = cases_look.everything()
        self.switch("ENABLE")

    def nodes(self):
        """(texture's number, mode, node) of each material."""
        for material in self.materials:
            number = material["mmd_sphere_texture"].partition(".")[0]
            yield int(number), material["mmd_sphere_mode"], material.node_tree.nodes[SPHERE]

    def test_only_small_maps_are_enlarged(self):
        for number, mode, node in self.nodes():
            width, height = self.SIZES[number]
            with self.subTest(number=number, mode=mode):
                if mode == "sub_texture" or width > 4096:
                    self.assertEqual(node.interpolation, "Linear")
                    self.assertEqual(tuple(node.image.size), (width, height))
                else:
                    self.assertEqual(node.interpolation, "Closest")
                    self.assertEqual(tuple(node.image.size), (max(width, 1024), max(height, 1024)))
        names = sorted(image.name for image in bpy.data.images if image.get("mmdskin_enlarged"))
        self.assertEqual(names, ["0.png_enlarged", "1.png_enlarged", "3.png_enlarged"])

    def test_the_copies_are_interpolated_between_texels(self):
        for number in (0, 1, 3):
            image = next(node.image for one, _, node in self.nodes() if one == number)
            shown = np.array(image.pixels[:]).reshape(image.size[1], image.size[0], 4)[::-1] * 255
            texels, (height, width) = self.texels[number].astype(float), shown.shape[:2]
            for row in (0, 1, height // 3, height - 1):
                y = (row + 0.5) * len(texels) / height - 0.5
                for column in (0, 300, width // 2 + 1, width - 1):
                    x = (column + 0.5) * texels.shape[1] / width - 0.5
                    expected = by_hand(texels, x, y)
                    self.assertLessEqual(np.abs(shown[row, column] - expected).max(), 1)

    def test_off_and_on_again(self):
        self.switch("DISABLE")
        self.assertEqual(
            cases_look.fingerprint.differences(self.before, cases_look.everything()), []
        )
        self.switch("ENABLE")
        self.test_only_small_maps_are_enlarged()

    def test_off_in_a_file_of_an_earlier_version(self):
        for _, _, node in self.nodes():
            source = node.image.get("mmdskin_enlarged")
            if source:
                node.image, node.interpolation = source, "Linear"
        for image in [one for one in bpy.data.images if one.get("mmdskin_enlarged")]:
            bpy.data.images.remove(image)
        self.test_off_and_on_again()

    def test_packed_files_that_are_gone(self):
        for name in (f"{number}.png" for number in range(len(self.SIZES))):
            bpy.data.images[name].pack()
            os.remove(os.path.join(self.folder, name))
        path = os.path.join(self.folder, "packed.blend")
        self.addCleanup(forget_file)
        bpy.ops.wm.save_as_mainfile(filepath=path)
        for action in ("DISABLE", "ENABLE"):
            bpy.ops.wm.open_mainfile(filepath=path)
            mesh = next(obj for obj in bpy.data.objects if obj.type == "MESH")
            self.materials = list(mesh.data.materials)
            scene.select(mesh)
            self.switch(action)
            bpy.ops.wm.save_as_mainfile(filepath=path)
        self.test_only_small_maps_are_enlarged()
        self.test_the_copies_are_interpolated_between_texels()


def waves(numbers, texels, height=60):
    """(N, N, 4) smooth colors, lighter and darker by up to twice the height."""
    phases = numbers.uniform(0, 2 * np.pi, (2, 3))
    v, u = np.mgrid[0:texels, 0:texels, 0:1][:2] / texels * 2 * np.pi
    tone = np.sin(u + phases[0]) + np.cos(v + phases[1])
    return np.uint8(np.dstack([130 + height * tone, np.full((texels, texels), 255)]))


def by_hand(texels, x, y):
    """The color at a place in texels, between the four around it."""
    height, width = texels.shape[:2]
    x, y = min(max(x, 0), width - 1), min(max(y, 0), height - 1)
    left, top = int(x), int(y)
    right, bottom = min(left + 1, width - 1), min(top + 1, height - 1)
    across, down = x - left, y - top
    return (1 - down) * ((1 - across) * texels[top, left] + across * texels[top, right]) + down * (
        (1 - across) * texels[bottom, left] + across * texels[bottom, right]
    )


def place(obj, camera):
    """Move a camera object to where a camera of mmdskin is."""
    position, target, up = (Vector(map(float, one)).xzy for one in camera[:3])
    back = (position - target).normalized()
    right = up.cross(back).normalized()
    axes = Matrix((right, back.cross(right), back)).transposed().to_4x4()
    obj.matrix_world = Matrix.Translation(position * cases_look_pictures.SCALE) @ axes
