# SPDX-License-Identifier: GPL-3.0-or-later
"""Pictures by Cycles show what `mmdskin.render(look="mmd")` draws, which has its own float64 twin.

One sample at the center of each pixel; textures are magnified, so that mip maps do not matter.
"""

import math
import os
import sys

import bpy
import imported
import numpy as np
from cases_sliders import morph
from files import pmx_file
from imported import MmdTools

SIZE, TEXELS = 256, 32
DISTANCE, FOV = 20.0, 30.0
RADIUS = 3.0
SCALE = 0.08
HAS_NORMALS = bpy.app.version >= (4, 5)  # geometry nodes see the file's normals


def ball(center, rings=24, sides=32):
    """Positions, normals, UVs and triangles, clockwise as seen from outside."""
    down, around = np.meshgrid(
        np.linspace(0, np.pi, rings + 1), np.linspace(0, 2 * np.pi, sides + 1), indexing="ij"
    )
    normals = np.stack(
        [np.sin(down) * np.sin(around), np.cos(down), -np.sin(down) * np.cos(around)], -1
    ).reshape(-1, 3)
    uvs = np.stack([around / (2 * np.pi), down / np.pi], -1).reshape(-1, 2)
    row, column = np.meshgrid(np.arange(rings), np.arange(sides), indexing="ij")
    a = (row * (sides + 1) + column).ravel()
    b, c, d = a + 1, a + sides + 1, a + sides + 2
    triangles = np.concatenate([np.stack([a, c, b], 1)[sides:], np.stack([b, c, d], 1)[:-sides]])
    outwards = np.cross(
        normals[triangles[:, 1]] - normals[triangles[:, 0]],
        normals[triangles[:, 2]] - normals[triangles[:, 0]],
    )
    # The file's front faces are clockwise in its left-handed space: their cross product points out.
    flip = (outwards * normals[triangles[:, 0]]).sum(1) < 0
    triangles[flip] = triangles[flip][:, ::-1]
    return normals + center, normals, uvs, triangles


def model():
    """Four balls: a toon with a highlight, an added and a multiplied sphere map, no toon and edge."""
    centers = [(-1.5, 1.5, 0), (1.5, 1.5, 0), (-1.5, -1.5, 0), (1.5, -1.5, 0)]
    each = ball(np.zeros(3))[3].size
    common = {"index_count": each, "flags": 0x1E, "edge_size": 8.0, "edge_color": (0, 0, 0.2, 1)}
    records = [
        material("光", 0, specular=(0.5, 0.4, 0.3), specular_power=8.0, toon=2, **common),
        material("加", 0, sphere_texture=1, sphere_mode=2, toon=0, **common),
        material("乗", -1, sphere_texture=1, sphere_mode=1, toon=5, **common),
        pmx_file.Material("無", diffuse=(0.9, 0.2, 0.1, 0.99), toon=-1, **common),
    ]
    pmx = balls(centers, records)
    pmx.edge_scales[-len(pmx.positions) // 4 :] = 0
    pmx.textures = ["base.png", "sphere.png"]
    pmx.morphs = [
        morph("色", "material", [-1], [factors()]),
        morph("足", "material", [0, 1], [added(), added()]),
        morph("組", "group", [0, 1], [0.5, -0.4]),
        morph(
            "動",
            "uv",
            range(len(pmx.positions) // 2),
            [(0.3, 0.2, 0, 0)] * (len(pmx.positions) // 2),
        ),
    ]
    return pmx


def balls(centers, materials):
    """A model of balls around these centers, each of a material."""
    parts = [ball(np.array(center)) for center in centers]
    count = len(parts[0][0])
    positions, normals, uvs = (np.concatenate([part[i] for part in parts]) for i in range(3))
    triangles = np.concatenate([part[3] + count * i for i, part in enumerate(parts)])
    return surface(positions, normals, uvs, triangles, materials)


def surface(positions, normals, uvs, triangles, materials):
    """A model of these triangles."""
    count = len(positions)
    return pmx_file.PMX(
        name="玉",
        positions=np.float32(positions),
        normals=np.float32(normals),
        uvs=np.float32(uvs),
        additional_uvs=np.zeros((count, 0, 4), np.float32),
        edge_scales=np.ones(count, np.float32),
        deform=np.zeros(count, np.uint8),
        bone_indices=np.tile(np.int32([0, -1, -1, -1]), (count, 1)),
        bone_weights=np.tile(np.float32([1, 0, 0, 0]), (count, 1)),
        sdef=np.zeros((count, 3, 3), np.float32),
        triangles=np.int32(triangles),
        bones=[pmx_file.Bone("センター")],
        materials=materials,
        textures=[],
        morphs=[],
    )


def material(name, texture, **fields):
    return pmx_file.Material(
        name,
        texture=texture,
        diffuse=(0.7, 0.8, 0.6, 1.0),
        ambient=(0.3, 0.2, 0.35),
        shared_toon=True,
        **fields,
    )


def factors():
    """A material morph that multiplies."""
    record = np.ones(29)
    record[0] = 0
    record[1:4], record[5:8], record[8] = (0.5, 0.8, 0.2), (0.1, 2, 1), 0.5
    record[17:21], record[21:25], record[25:29] = (1, 0.2, 1, 1), (0.3, 1, 1, 1), (1, 1, 0.5, 1)
    return record


def added():
    """A material morph that adds."""
    record = np.zeros(29)
    record[0] = 1
    record[9:12], record[17:20], record[21:24] = (0.2, -0.1, 0), (0, 0.1, -0.3), (-0.2, 0.1, 0.3)
    return record


class Pictures(imported.Case):
    def setUp(self):
        super().setUp()
        self.native = drawing_module(self)
        numbers = np.random.default_rng(5)
        self.textures = {
            number: self.texture(name, numbers) for number, name in enumerate(model().textures)
        }
        path = self.write(model())
        self.model = self.native.load_model(path)
        self.objects = self.load(path)
        self.edges = [obj for obj in bpy.data.objects if obj.type == "VOLUME"]
        set_view()

    def texture(self, name, numbers):
        """A smooth image in the model's folder; returns its pixels, the top row first."""
        waves = numbers.uniform(0, 2 * np.pi, (2, 3))
        v, u = np.mgrid[0:TEXELS, 0:TEXELS] / TEXELS * 2 * np.pi
        pixels = np.full((TEXELS, TEXELS, 4), 255, np.uint8)
        tone = np.sin(u[..., None] + waves[0]) + np.cos(v[..., None] + waves[1])
        pixels[..., :3] = 130 + 60 * tone
        imported.save_image(os.path.join(self.folder, name), pixels)
        return pixels

    def shot(self, edges):
        """What Blender draws."""
        for hull in self.edges:
            hull.hide_render = not edges
        return shot(self.folder)

    def expected(self, edges, weights=None, **options):
        """The picture and the triangle of each pixel, by mmdskin."""
        if weights is not None:
            options = {
                "materials": self.model.materials_at(weights),
                "factors": self.model.texture_factors_at(weights),
                "uvs": self.model.uvs_at(weights),
            }
        place, wanted = ((0, 0, -DISTANCE), (0, 0, 0)), ("image", "triangles")
        options |= {"textures": self.textures, "edges": edges, "want": wanted}
        found = drawn(self.native, self.model, place, **options)
        return np.float32(found.image).reshape(SIZE, SIZE, 4), found.triangles.reshape(SIZE, SIZE)

    def share(self, shot, image, chosen, least, bar=2):
        """At least this share of the chosen pixels are within `bar` of 255."""
        off = np.abs(shot[..., :3] - image[..., :3]).max(-1)[chosen]
        self.assertGreater(off.size, 200)
        self.assertGreaterEqual((off <= bar).mean(), least, np.bincount(np.int32(off))[:20])

    def test_surfaces(self):
        image, triangles = self.expected(edges=False)
        self.share(self.shot(edges=False), image, interior(triangles), 0.99)

    def test_edges(self):
        plain, _ = self.expected(edges=False)
        image, triangles = self.expected(edges=True)
        drawn = (plain != image).any(-1)
        least = 0.99 if HAS_NORMALS else 0.94
        shot = self.shot(edges=True)
        self.share(shot, image, drawn, least)
        # One ball's scale is 0: its hull must not hide the surface.
        self.share(shot, image, interior(triangles), 0.99)

    def test_eevee(self):
        use_eevee(self, samples=1)
        plain, _ = self.expected(edges=False)
        image, triangles = self.expected(edges=True)
        shot = self.shot(edges=True)
        self.share(shot, image, interior(triangles), 0.993)
        if HAS_NORMALS:
            self.share(shot, image, (plain != image).any(-1), 0.99)

    def test_sliders_of_materials(self):
        for value in (0.0, 0.5, 1.0):
            self.assert_slides(色=value, 足=1 - value)

    def test_slider_of_a_group(self):
        for value in (0.5, 1.0):
            self.assert_slides(組=value, 色=0.25)

    def test_slider_of_uvs(self):
        if bpy.app.version < (3, 5):
            self.skipTest("UV morphs need Blender 3.5")
        for value in (0.5, 1.0):
            self.assert_slides(動=value)

    def assert_slides(self, **values):
        """The picture with these values of sliders is mmdskin's."""
        weights = np.float32([values.get(one.name, 0) for one in self.model.morphs])
        for one, weight in zip(self.model.morphs, weights.tolist(), strict=True):
            if one.name in self.objects.armature:
                self.objects.armature[one.name] = weight
        self.objects.armature.update_tag()
        image, triangles = self.expected(False, weights)
        with self.subTest(values=values):
            self.share(self.shot(edges=False), image, interior(triangles), 0.99, bar=3)
            # The sliders do change the picture.
            rest, _ = self.expected(False)
            self.assertGreater(np.abs(image - rest).max(), 10)

    def test_light(self):
        light = sys.modules["addon_package"].scene.light
        sun = light.of_scene(bpy.context.scene)
        sun.location, sun.data.color = light.place((0.8, 0.3, 0.5)), (0.1, 0.25, 0.3)
        self.addCleanup(light.remove_unused, bpy.context.scene)
        shone = {"light": (0.8, 0.3, 0.5), "light_color": (0.1, 0.25, 0.3)}
        image, triangles = self.expected(False, **shone)
        self.share(self.shot(edges=False), image, interior(triangles), 0.99)
        for obj in (sun, sun.parent):
            bpy.data.objects.remove(obj)


class TranslucentEdge(imported.Case):
    """A ball of radius 3 with an alpha of 0.5 and an edge 2 pixels wide."""

    def setUp(self):
        super().setUp()
        record = material("透", -1, toon=0, flags=0x1E, edge_size=4.0, edge_color=(0, 0, 0, 1))
        record.index_count, record.diffuse = ball(np.zeros(3))[3].size, (0.7, 0.8, 0.6, 0.5)
        pmx = balls([(0, 0, 0)], [record])
        pmx.positions *= RADIUS
        self.load(self.write(pmx))
        set_view()

    def rings(self):
        """The mean opacity by distance from the ball's center, in pixels, and the ball's radius."""
        y, x = np.mgrid[0:SIZE, 0:SIZE] + 0.5 - SIZE / 2
        away = np.int32(np.hypot(x, y))
        alpha = shot(self.folder)[..., 3] / 255
        ring = np.bincount(away.ravel(), alpha.ravel()) / np.bincount(away.ravel())
        outline = RADIUS / math.sqrt(DISTANCE**2 - RADIUS**2)
        return ring, outline / math.tan(math.radians(FOV / 2)) * SIZE / 2

    def test_it_is_only_around_the_surface(self):
        bpy.context.scene.cycles.samples = 64
        self.assert_only_around()

    def test_eevee(self):
        use_eevee(self, samples=16)
        self.assert_only_around()

    def assert_only_around(self):
        ring, radius = self.rings()
        # Of the front alone, as where translucent surfaces write their depth.
        inside = ring[10 : int(0.95 * radius)]
        self.assert_close(inside, np.full(inside.shape, 0.5), 0.05)
        self.assertGreater(ring[math.ceil(radius)], 0.6)
        self.assertEqual(ring[math.ceil(radius) + 4], 0)


class TwoSided(imported.Case):
    """Opaque balls with an edge: one's material is two-sided, the other's is not."""

    PLACES = (-1.5, 1.5)
    SHOWN = (0.2 + 0.5 * 154 / 255, 0.1 + 0.4 * 154 / 255, 0.1)  # ambient + light * diffuse

    def setUp(self):
        super().setUp()
        count = ball(np.zeros(3))[3].size
        records = [
            pmx_file.Material(
                name,
                flags=flags,
                ambient=(0.2, 0.1, 0.1),
                diffuse=(0.5, 0.4, 0, 1),
                toon=-1,
                edge_size=8.0,
                edge_color=(0, 0, 1, 1),
                index_count=count,
            )
            for name, flags in (("両面", 0x11), ("片面", 0x10))
        ]
        self.load(self.write(balls([(x, 0, 0) for x in self.PLACES], records)))
        set_view()

    def test_the_edge_is_around_the_surface_not_over_it(self):
        self.assert_edges()

    def test_eevee(self):
        use_eevee(self, samples=1)
        self.assert_edges()

    def assert_edges(self):
        picture = shot(self.folder)[..., :3]
        unit = SIZE / 2 / (DISTANCE * math.tan(math.radians(FOV / 2)))  # in pixels
        y, x = np.mgrid[0:SIZE, 0:SIZE] + 0.5 - SIZE / 2
        for center in self.PLACES:
            away = np.hypot(x - center * unit, y)
            with self.subTest(center=center):
                surface = np.abs(picture[away < 0.9 * unit] - np.multiply(self.SHOWN, 255)).max(1)
                self.assertGreaterEqual((surface <= 1).mean(), 0.999)
                edge = picture[(away > 1.04 * unit) & (away < 1.08 * unit)]
                self.assertGreaterEqual((edge == (0, 0, 255)).all(1).mean(), 0.9)


class Creases(imported.Case):
    """A folded board: at its narrow folds, the light's angle changes abruptly, and the toon's color."""

    def setUp(self):
        super().setUp()
        folds = 70
        x, y = np.meshgrid(np.linspace(-4, 4, folds + 1), (-4, 4), indexing="ij")
        positions = np.stack([x, y, np.zeros_like(x)], -1).reshape(-1, 3)
        towards = np.float32((0.5, 1, -0.5)) / np.sqrt(1.5)
        turned = (towards + (0, 0, -1), (0, 0, -1) - towards)  # lit, and in shade
        normals = [turned[vertex // 2 % 2] for vertex in range(len(positions))]
        first = 2 * np.arange(folds)[:, None]
        triangles = (first + (0, 1, 3, 0, 3, 2)).reshape(-1, 3)
        record = pmx_file.Material(
            "折", ambient=(1, 1, 1), shared_toon=True, toon=2, index_count=triangles.size
        )
        pmx = surface(positions, normals, np.zeros((len(positions), 2)), triangles, [record])
        self.load(self.write(pmx))
        set_view()

    def test_only_the_two_colors_of_the_toon(self):
        self.assert_colors()

    def test_eevee(self):
        use_eevee(self, samples=1)
        self.assert_colors()

    def assert_colors(self):
        picture = shot(self.folder)
        red = picture[..., 0][picture[..., 3] > 250]
        shares = [(np.abs(red - color) <= 2).mean() for color in (154, 255)]  # of toon03
        self.assertGreater(min(shares), 0.3)
        self.assertGreater(sum(shares), 0.9)  # its step is 1/16 wide


class OfMmdTools(imported.Case):
    def test_its_materials_have_the_look_and_lose_it(self):
        with MmdTools():
            bpy.ops.mmd_tools.import_model(
                filepath=self.write(model()), types={"MESH", "ARMATURE"}, log_level="ERROR"
            )
            mesh = next(
                obj for obj in bpy.data.objects if obj.type == "MESH" and obj.data.materials
            )
            bpy.context.view_layer.objects.active = mesh
            counts = [len(one.node_tree.nodes) for one in mesh.data.materials]
            self.assertEqual(bpy.ops.mmdskin.look(action="ENABLE"), {"FINISHED"})
            node = mesh.data.materials[0].node_tree.nodes["MMD Look Shading"]
            bpy.context.view_layer.update()
            self.assert_close(node.inputs["Diffuse"].default_value[:], (0.7, 0.8, 0.6), 1e-5)
            self.assert_close(node.inputs["Power"].default_value, 8.0, 1e-5)
            values = sys.modules["addon_package"].scene.material_values
            for item, mode in enumerate(("none", "multiply", "add", "sub_texture")):
                mesh.data.materials[0].mmd_material.sphere_texture_type = str(item)
                self.assertEqual(values.read(mesh.data.materials[0]).sphere_mode, mode)
            self.assertEqual(bpy.ops.mmdskin.look(action="DISABLE"), {"FINISHED"})
            self.assertEqual(counts, [len(one.node_tree.nodes) for one in mesh.data.materials])


def drawing_module(case):
    """The native module; skips the test where it cannot draw."""
    native = sys.modules["addon_package"].blender.native.load()
    if not any(one.name == "gl" and one.available for one in native.backends()):
        case.skipTest("mmdskin draws with OpenGL, which is not available here")
    return native


def drawn(native, model, place, **options):
    """What the module draws of a model at rest, with the camera's position and target."""
    return native.render(
        model,
        native.skin(model, np.eye(4, dtype=np.float32)[None]),
        size=(SIZE, SIZE),
        camera=native.Camera(*place, (0, 1, 0), FOV),
        background=(0, 0, 0, 0),
        look="mmd",
        **options,
    )


def shot(folder, size=SIZE):
    """(size, size, 4) display numbers 0 to 255 of Blender's picture, the top row first."""
    path = os.path.join(folder, "shot.png")
    bpy.context.scene.render.filepath = path
    bpy.ops.render.render(write_still=True)
    image = bpy.data.images.load(path)
    image.alpha_mode = "CHANNEL_PACKED"
    pixels = np.array(image.pixels[:], np.float32).reshape(size, size, 4)[::-1]
    bpy.data.images.remove(image)
    return np.round(pixels * 255)


def interior(triangles):
    """Pixels whose neighbors show the same ball."""
    owner = np.where(triangles >= 0, triangles // (len(model().triangles) // 4), -1)
    around = [np.roll(owner, (y, x), (0, 1)) for y in (-1, 0, 1) for x in (-1, 0, 1)]
    return (owner >= 0) & np.all([one == owner for one in around], axis=0)


def set_view():
    """A camera as MMD's, and exact settings for Cycles."""
    scene = bpy.context.scene
    camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    scene.collection.objects.link(camera)
    scene.camera = camera
    camera.data.sensor_fit, camera.data.angle = "VERTICAL", math.radians(FOV)
    camera.location.y, camera.rotation_euler.x = -DISTANCE * SCALE, math.pi / 2
    render = scene.render
    render.resolution_x = render.resolution_y = SIZE
    render.film_transparent, render.dither_intensity = True, 0
    scene.view_settings.view_transform = "Standard"
    render.engine = "CYCLES"
    cycles = scene.cycles
    cycles.samples, cycles.use_denoising = 1, False
    cycles.pixel_filter_type, cycles.filter_width = "BOX", 0.01


def use_eevee(case, samples):
    """Settings as exact as EEVEE's can be."""
    if bpy.app.version < (4, 2) and bpy.app.background:
        case.skipTest("EEVEE needs a window here")
    engines = bpy.types.RenderSettings.bl_rna.properties["engine"].enum_items.keys()
    scene = bpy.context.scene
    scene.render.engine = next(name for name in engines if "EEVEE" in name)
    scene.render.filter_size, scene.eevee.taa_render_samples = 0.01, samples
