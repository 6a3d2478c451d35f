# SPDX-License-Identifier: MIT
"""render(look="mmd"): colors of small scenes, by hand."""

import mmdskin
import numpy as np
import pytest
from files import motion_file
from render.scene import CAMERA, PLAIN, ball, draw, material, mesh_of, squares

pytestmark = pytest.mark.usefixtures("gl")

GRAY = 154 / 255
FAR = mmdskin.Camera((0, 0, -100), (0, 0, 0), (0, 1, 0), 1.5)


def plain(color=(1, 1, 1, 1), **members):
    """Material of this color in any light, without a toon."""
    return material(color)._replace(specular_power=0, **members)


def look(mesh, skinned, **options):
    return draw(mesh, skinned, **({"look": "mmd"} | options))


def close(found, expected, by=1):
    assert np.abs(np.int64(found) - np.round(np.multiply(expected, 255))).max() <= by, found


def texture(*pixels):
    """One row of pixels."""
    return np.uint8([pixels])


# Ambient, diffuse, texture


@pytest.mark.parametrize("light_color", [(0, 0, 0), (0.5, 0.25, 1), (3, -1, 2)])
def test_the_color_is_ambient_plus_light_times_diffuse(light_color):
    diffuse, ambient = (0.5, 0.75, -0.5), (0.25, 0.5, 0.5)
    surface = PLAIN._replace(diffuse=(*diffuse, 1), ambient=ambient)
    seen = look(*squares((0, 0, 0)), materials=[surface], light_color=light_color).image[4, 4]
    close(seen, [*np.clip(np.add(ambient, np.multiply(diffuse, light_color)), 0, 1), 1])


def test_light_is_mmds_without_arguments():
    surface = PLAIN._replace(diffuse=(0.5, 1, 0, 1), ambient=(0, 0, 0))
    seen = look(*squares((0, 0, 0)), materials=[surface]).image[4, 4]
    close(seen, [0.5 * GRAY, GRAY, 0, 1])


def test_the_sum_is_clamped_before_the_texture():
    surface = PLAIN._replace(diffuse=(5, 5, 5, 1), ambient=(1, 1, 1), texture=0)
    options = {"uvs": np.full((4, 2), 0.5), "textures": {0: texture((100, 50, 200, 255))}}
    seen = look(*squares((0, 0, 0)), materials=[surface], **options).image
    assert (seen == [100, 50, 200, 255]).all()


def test_samples_are_averaged_as_numbers():
    scene = squares((-0.5, 0, 0), (0.5, 0, 0))
    materials = [plain(), plain((0, 0, 0, 1))]
    seen = look(*scene, materials=materials, size=(1, 1), samples=2).image[0, 0]
    # a square covers both samples on the left, the other one those on the right
    close(seen, [0.5, 0.5, 0.5, 1])


# Toon


def half_way(mesh, skinned, surface, **options):
    """The cosine at which a ramp from 255 to 205 is half-way, and the cosines that it spans."""
    light = np.array([0.6, -0.3, 0.74])
    options = {"camera": FAR, "size": (256, 256), "light": light, "materials": [surface]} | options
    seen = look(mesh, skinned, want=("image", "normals"), **options)
    cosines = seen.normals.astype(float) @ -light / np.linalg.norm(light)
    red = seen.image[..., 0].astype(float)
    ramp = (red > 210) & (red < 250) & (seen.image[..., 3] == 255)
    assert ramp.sum() > 500
    slope, offset = np.polyfit(cosines[ramp], red[ramp], 1)
    return (230 - offset) / slope, 50 / slope


def test_the_step_of_toon_01_is_at_right_angles_to_the_light():
    middle, width = half_way(*ball(), plain(toon=0, shared_toon=True, index_count=3 * 8192))
    assert abs(middle) <= 0.002
    assert abs(width - 1 / 16) <= 0.1 / 16


def test_a_toon_of_the_model_is_read_in_its_first_column():
    own = mmdskin.toons()[0][:, None].repeat(3, 1)
    own[:, 1:] = 0
    surface = plain(toon=7, index_count=3 * 8192)
    options = {"textures": {7: own}, "uvs": np.zeros((65 * 65, 2))}
    middle, width = half_way(*ball(), surface, **options)
    assert abs(middle) <= 0.002 and abs(width - 1 / 16) <= 0.1 / 16


def test_toons_of_the_caller_take_the_place_of_the_shared_ones():
    ramps = np.zeros((10, 1, 4), np.uint8)
    ramps[3] = (10, 20, 30, 255)
    surface = plain(toon=3, shared_toon=True)
    assert (look(*squares((0, 0, 0)), materials=[surface], toons=ramps).image == ramps[3]).all()


def test_back_faces_keep_their_normals():
    # the normal faces away from camera and light: the dark end of the ramp
    mesh, skinned = squares((0, 0, 0), turned=(0,))
    skinned = skinned._replace(normals=-skinned.normals)
    surface = plain(toon=0, shared_toon=True, flags=1)
    seen = look(mesh, skinned, materials=[surface], light=(0, 0, 1)).image
    assert (seen == [205, 205, 205, 255]).all()


def test_without_normals_a_surface_has_that_of_its_front():
    mesh, skinned = squares((-0.25, 0, 0), (0.25, 0, 0), side=0.5, turned=(1,))
    surface = plain(toon=0, shared_toon=True, flags=1)
    bare = skinned._replace(normals=None)
    seen = look(mesh, bare, materials=[surface] * 2, light=(0, 0, 1)).image[4, :, 0]
    assert (seen[:4] == 255).all() and (seen[4:] == 205).all()


# Sphere maps

QUADRANTS = np.zeros((32, 32, 4), np.uint8)
QUADRANTS[..., 3] = 255
QUADRANTS[:16, :16, :3] = (255, 0, 0)
QUADRANTS[:16, 16:, :3] = (0, 255, 0)
QUADRANTS[16:, :16, :3] = (0, 0, 255)
QUADRANTS[16:, 16:, :3] = (90, 90, 0)
SIDES = [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)]


@pytest.mark.parametrize("mode", ["add", "multiply"])
@pytest.mark.parametrize("side", SIDES)
def test_each_quadrant_of_a_sphere_map_is_at_its_side(side, mode):
    rolled = np.roll(side, 1) + 0.4 * np.roll(side, 2)
    camera = mmdskin.Camera(100 * np.array(side), (0, 0, 0), rolled, 1.5)
    color = (0.1, 0.2, 0.3) if mode == "add" else (1, 0.5, 1)
    surface = plain((*color, 1), sphere_texture=0, sphere_mode=mode, index_count=3 * 8192)
    seen = look(
        *ball(), camera=camera, materials=[surface], size=(64, 64), uvs=np.zeros((65 * 65, 2)),
        textures={0: QUADRANTS},
    ).image  # fmt: skip
    for row, texel_row in ((24, 8), (40, 24)):
        for column, texel_column in ((24, 8), (40, 24)):
            texel = QUADRANTS[texel_row, texel_column, :3] / 255
            expected = np.add(color, texel) if mode == "add" else np.multiply(color, texel)
            close(seen[row, column], [*expected.clip(0, 1), 1])


def test_an_added_sphere_map_is_not_clamped_before_the_toon():
    ramps = np.full((10, 1, 4), 128, np.uint8)
    surface = plain(sphere_texture=0, sphere_mode="add", toon=0, shared_toon=True)
    options = {"uvs": np.zeros((4, 2)), "textures": {0: texture((128, 128, 128, 255))}}
    seen = look(*squares((0, 0, 0)), materials=[surface], toons=ramps, **options).image[4, 4]
    close(seen[:3], np.full(3, (1 + 128 / 255) * 128 / 255))


@pytest.mark.parametrize("mode", ["add", "multiply"])
def test_the_alpha_of_a_sphere_map_counts(mode):
    surface = plain((0.5, 0.5, 0.5, 1), sphere_texture=0, sphere_mode=mode)
    options = {"uvs": np.zeros((4, 2)), "textures": {0: texture((255, 255, 255, 102))}}
    seen = look(*squares((0, 0, 0)), materials=[surface], **options).image
    assert (seen[..., 3] == 102).all()


@pytest.mark.parametrize(("shift", "texel"), [(0, 0), (0.25, 1), (0.5, 2), (-0.25, 3)])
def test_a_sub_texture_is_read_at_the_additional_uv(shift, texel):
    pixels = [(200, 10, 20, 255), (30, 180, 40, 255), (50, 60, 190, 255), (70, 80, 90, 255)]
    more = np.tile(np.float32([0.125 + shift, 0.5, 9, 9]), (4, 1))
    surface = plain(sphere_texture=4, sphere_mode="sub_texture")
    options = {"uvs": np.zeros((4, 2)), "additional_uvs": more, "textures": {4: texture(*pixels)}}
    seen = look(*squares((0, 0, 0)), materials=[surface], **options).image
    close(seen, np.broadcast_to(np.divide(pixels[texel], 255), seen.shape))


# Specular


def test_the_highlight_is_half_way_between_light_and_eye():
    black = PLAIN._replace(diffuse=(0, 0, 0, 1), ambient=(0, 0, 0), index_count=3 * 8192)
    shiny = black._replace(specular=(0.8, 0.4, 0.2), specular_power=50)
    options = {"camera": FAR, "size": (256, 256), "light": (-1, 0, 0), "light_color": (0.5, 1, 1)}
    options["background"] = (0, 0, 0, 0)
    seen = look(*ball(), materials=[shiny], **options).image.astype(int)
    row, column = np.unravel_index(seen[..., :3].sum(-1).argmax(), seen.shape[:2])
    # a unit is 256 / 2 / (100 tan 0.75 degrees) pixels; the ball's nearer side is slightly larger
    unit = 128 / (100 * np.tan(np.radians(0.75)))
    assert abs(row - 127.5) <= 2 and abs(column - 127.5 - unit * np.sqrt(0.5)) <= 1.5
    close(seen[row, column], [0.4, 0.4, 0.2, 1])
    none = look(*ball(), materials=[shiny._replace(specular_power=0)], **options).image
    assert none[..., :3][none[..., 3] == 255].max() == 0


# Order and alpha


HALF = [(1, 0, 0, 0.5), (0, 1, 0, 0.5), (0, 0, 1, 0.5)]


def test_materials_blend_in_their_order_and_write_their_depth():
    places = [(0, 0, 2), (0, 0, 1), (0, 0, 3)]
    scene = squares(*places, side=8)
    seen = look(*scene, materials=[plain(color) for color in HALF]).image[4, 4]
    # the last one is behind what has been drawn, and hidden
    close(seen, [1 / 3, 2 / 3, 0, 0.75])
    scene = squares(*places[::-1], side=8)
    seen = look(*scene, materials=[plain(color) for color in HALF[::-1]]).image[4, 4]
    close(seen, [0, 2 / 3, 1 / 3, 0.75])


def test_colors_blend_as_numbers_over_the_background():
    seen = look(
        *squares((0, 0, 0)), materials=[plain((1, 1, 1, 0.5))], background=(0, 0, 0, 1)
    ).image
    assert (seen[..., 3] == 255).all()
    close(seen, np.full_like(seen, 1, float) * [0.5, 0.5, 0.5, 1])


@pytest.mark.parametrize("alpha", [0, 1, 128, 254, 255])
def test_only_an_alpha_of_zero_is_a_hole(alpha):
    materials = [plain(texture=0), plain((0, 1, 0, 1))]
    options = {"uvs": np.zeros((8, 2)), "textures": {0: texture((255, 0, 0, alpha))}}
    seen = look(*squares((0, 0, 0), (0, 0, 1), side=8), materials=materials, **options).image[4, 4]
    expected = [0, 1, 0, 1] if alpha == 0 else [1, 0, 0, alpha / 255]
    close(seen, expected, by=0)


def test_a_material_of_zero_alpha_draws_and_casts_nothing():
    gone = plain((1, 0, 0, 0), flags=0x1F, edge_size=3.0, edge_color=(0, 0, 0, 1))
    options = {"edges": True, "ground_shadow": True, "self_shadow": True}
    seen = look(*squares((0, 0, 0), side=0.5), materials=[gone], **options).image
    assert (seen == [255, 255, 255, 0]).all()


# Edges


@pytest.mark.parametrize("scale", [0, 0.5, 1])
@pytest.mark.parametrize("size", [0.5, 1, 3])
@pytest.mark.parametrize(
    ("distance", "fov", "height"), [(10, 30, 256), (45, 30, 512), (200, 10, 300), (45, 90, 1080)]
)
def test_the_width_of_edges(scale, size, distance, fov, height):
    radius = 0.25 * distance * np.tan(np.radians(fov / 2))
    mesh, skinned = ball(64, radius)
    camera = mmdskin.Camera((0, 0, -distance), (0, 0, 0), (0, 1, 0), fov)
    surface = plain(flags=0x10, edge_size=size * scale, edge_color=(0, 0, 0, 1), index_count=24576)
    options = {"camera": camera, "size": (height, height), "materials": [surface]}
    areas = [
        (look(mesh, skinned, edges=edges, **options).image[..., 3] == 255).sum()
        for edges in (False, True)
    ]
    width = np.diff(np.sqrt(np.divide(areas, np.pi)))[0]
    assert abs(width - height / 512 * size * scale) <= 0.5
    assert (width == 0) == (scale == 0)


def test_an_edge_is_drawn_in_its_own_color_and_only_with_its_flag():
    scene = ball(16)
    camera = mmdskin.Camera((0, 0, -10), (0, 0, 0), (0, 1, 0), 15)
    edged = plain(flags=0x11, edge_size=4.0, edge_color=(0.2, 0.4, 0.6, 1), index_count=3 * 512)
    options = {"camera": camera, "size": (128, 128), "edges": True}
    seen = look(*scene, materials=[edged], **options).image
    assert (seen == [51, 102, 153, 255]).all(-1).sum() > 100
    for hidden in (
        edged._replace(flags=1),
        edged._replace(edge_size=0),
        edged._replace(edge_color=(0, 0, 0, 0)),
    ):
        seen = look(*scene, materials=[hidden], **options).image
        assert (seen[seen[..., 3] > 0] == 255).all()


# Light of a motion


def test_light_may_differ_per_frame():
    ramps = np.full((10, 2, 4), 255, np.uint8)
    ramps[:, 0, :3], ramps[:, 1, :3] = 200, 0
    surface = PLAIN._replace(diffuse=(1, 1, 1, 1), ambient=(0, 0, 0), toon=0, shared_toon=True)
    colors, lights = [(1, 0, 0), (0, 0.5, 1)], [(0, 0, 1), (0, 1, 0)]
    options = {"materials": [surface], "toons": ramps}
    scene = squares((0, 0, 0))
    seen = look(*scene, light=lights, light_color=colors, **options).image
    assert seen.shape[0] == 2
    for frame in range(2):
        alone = look(*scene, light=lights[frame], light_color=colors[frame], **options).image
        np.testing.assert_array_equal(seen[frame], alone)
    close(seen[0, 4, 4], [200 / 255, 0, 0, 1])
    close(seen[1, 4, 4], [0, 0.5 * 100 / 255, 100 / 255, 1])


def test_light_keys_of_a_vmd_light_the_picture():
    """From the file to the pixels: the toon is read where the interpolated direction says."""
    keys = [
        motion_file.LightKey(0, (0.2, 0.4, 1), (0, -0.6, 0.8)),
        motion_file.LightKey(10, (0.8, 0.4, 0), (0, 0.6, 0.8)),
        motion_file.LightKey(11, (1, 1, 1), (0, 0, -1)),
    ]
    motion = mmdskin.load_motion(motion_file.write_vmd(motion_file.Keys(light=keys)))
    frames = np.array([0, 2.5, 5, 10, 10.5, 11])
    color, direction = motion.light_at(frames)
    # Row v of the ramp has the number v: it is read between the centers of its rows.
    ramps = np.full((10, 256, 4), 255, np.uint8)
    ramps[..., :3] = np.arange(256)[None, :, None]
    surface = PLAIN._replace(diffuse=(1, 1, 1, 1), ambient=(0, 0, 0), toon=0, shared_toon=True)
    seen = look(
        *squares((0, 0, 0)),
        light=direction,
        light_color=color,
        materials=[surface],
        toons=ramps,
    ).image
    at = np.minimum(frames, 10)[:, None] / 10
    colors = np.where(frames[:, None] < 11, (0.2, 0.4, 1) + at * (0.6, 0, -1), 1)
    ways = np.where(frames[:, None] < 11, (0, -0.6, 0.8) + at * (0, 1.2, 0), (0, 0, -1))
    towards = -ways / np.linalg.norm(ways, axis=1, keepdims=True)
    # The square's normal is (0, 0, -1).
    shade = np.clip((0.5 + 0.5 * towards[:, 2]) * 256 - 0.5, 0, 255) / 255
    close(seen[:, 4, 4, :3], colors * shade[:, None])


def test_lambert_takes_a_light_per_frame_too():
    lights = [(0, 0, 1), (0, 1, 1)]
    seen = draw(*squares((0, 0, 0)), light=lights).image
    for frame in range(2):
        expected = draw(*squares((0, 0, 0)), light=lights[frame]).image
        np.testing.assert_array_equal(seen[frame], expected)


# Files that are missing


@pytest.mark.parametrize("mode", ["add", "multiply", "sub_texture"])
def test_without_their_files_materials_are_drawn_without_them(mode):
    bare = plain((0.2, 0.4, 0.6, 1))
    full = bare._replace(texture=0, sphere_texture=1, sphere_mode=mode, toon=2)
    for surface in (full, full._replace(toon=10, shared_toon=True), full._replace(toon=-1)):
        seen = look(*squares((0, 0, 0)), materials=[surface]).image
        assert (seen == [51, 102, 153, 255]).all()


@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (1, 7)])
def test_textures_of_any_size_serve_as_base_sphere_and_toon(shape):
    pixels = np.full((*shape, 4), 255, np.uint8)
    surface = plain(texture=0, sphere_texture=0, sphere_mode="multiply", toon=0)
    options = {"uvs": np.random.default_rng(0).random((4, 2)), "textures": {0: pixels}}
    assert (look(*squares((0, 0, 0)), materials=[surface], **options).image == 255).all()


def test_a_toon_of_one_row_is_its_color():
    surface = plain(toon=0)
    options = {"uvs": np.zeros((4, 2)), "textures": {0: texture((40, 50, 60, 255))}}
    assert (look(*squares((0, 0, 0)), materials=[surface], **options).image[..., 0] == 40).all()


def test_a_mesh_without_materials_is_gray():
    mesh, skinned = mesh_of([[-1, -1, 0], [-1, 1, 0], [1, 1, 0]], [[0, 0, -1]] * 3, [[0, 1, 2]])
    seen = mmdskin.render(mesh, skinned, camera=CAMERA, size=(4, 4), look="mmd").image[1, 0]
    close(seen, [*np.full(3, 0.35 + 0.7 * GRAY), 1])
