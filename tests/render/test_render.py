# SPDX-License-Identifier: MIT
"""render(): the pixels of small scenes, calculated by hand."""

import warnings

import mmdskin
import numpy as np
import pytest
from files import pmx_file as pmx
from render.scene import CAMERA, PLAIN, draw, material, shows, squares
from sample import model as sample
from sample.motion import build_motion

pytestmark = pytest.mark.usefixtures("gl")

EVERYTHING = ("image", "depth", "normals", "triangles")
RED, GREEN = (1, 0, 0, 1), (0, 1, 0, 1)


def srgb(linear):
    """sRGB bytes of linear light, by IEC 61966-2-1."""
    linear = np.asarray(linear, float)
    curve = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return np.round(curve * 255).astype(int)


def linear(display):
    display = np.asarray(display, float)
    return np.where(display <= 0.04045, display / 12.92, ((display + 0.055) / 1.055) ** 2.4)


def test_shapes_and_types_of_results():
    seen = draw(*squares((0, 0, 0)), size=(6, 4), want=EVERYTHING)
    assert isinstance(seen, mmdskin.Rendered)
    assert [(m.shape, m.dtype.name) for m in seen] == [
        ((4, 6, 4), "uint8"), ((4, 6), "float32"), ((4, 6, 3), "float32"), ((4, 6), "int32"),
    ]  # fmt: skip


@pytest.mark.parametrize("name", EVERYTHING)
def test_results_not_in_want_are_none(name):
    seen = draw(*squares((0, 0, 0)), want=(name,))
    assert [member is not None for member in seen] == [name == n for n in EVERYTHING]


def test_results_do_not_depend_on_what_else_is_in_want():
    scene = squares((0.2, 0.1, 0), (-0.3, 0.2, 0.5), side=0.6)
    together = draw(*scene, want=EVERYTHING, size=(33, 21))
    for name in EVERYTHING:
        alone = getattr(draw(*scene, want=(name,), size=(33, 21)), name)
        np.testing.assert_array_equal(alone, getattr(together, name))


# Geometry


def test_x_is_right_and_row_0_is_the_top():
    mesh, skinned = squares((0.25, 0.25, 0), side=0.5)
    seen = draw(mesh, skinned, want=("triangles",)).triangles >= 0
    expected = np.zeros((8, 8), bool)
    expected[:4, 4:] = True
    np.testing.assert_array_equal(seen, expected)


def test_depth_is_along_the_view_and_infinite_at_empty_pixels():
    seen = draw(*squares((0, 0, 1), side=1), want=("depth",), size=(4, 4)).depth
    expected = np.full((4, 4), np.inf, np.float32)
    expected[1:3, 1:3] = 2
    np.testing.assert_array_equal(seen, expected)


def test_the_field_of_view_is_vertical_and_pixels_are_square():
    seen = draw(*squares((0, 0, 0)), want=("triangles",), size=(16, 8)).triangles >= 0
    np.testing.assert_array_equal(seen, np.tile([False] * 4 + [True] * 8 + [False] * 4, (8, 1)))


def test_triangles_are_rows_of_the_mesh_and_minus_one():
    mesh, skinned = squares((0, 0, 1), (0, 0, 2), (0.25, 0, 0), side=0.5)
    seen = draw(mesh, skinned, want=("triangles",)).triangles
    assert set(np.unique(seen)) <= {-1, 0, 1, 4, 5}
    assert seen[3, 6] in (4, 5) and seen[3, 2] == -1
    assert np.isin(seen[3, 3], (0, 1))


def test_normals_are_in_the_space_of_the_model():
    mesh, skinned = squares((0, 0, 0))
    tilted = skinned._replace(normals=np.tile(np.float32([0, 3, -4]), (4, 1)))
    seen = draw(mesh, tilted, want=("normals",)).normals
    np.testing.assert_allclose(seen, np.broadcast_to([0, 0.6, -0.8], seen.shape), atol=1e-6)


def test_without_normals_triangle_normals_are_used():
    mesh, skinned = squares((0, 0, 0))
    side = CAMERA._replace(position=(0.5, 0.5, -1))
    seen = draw(mesh, skinned._replace(normals=None), camera=side, want=("normals", "image"))
    np.testing.assert_allclose(seen.normals[4, 4], [0, 0, -1], atol=1e-6)
    lit = draw(mesh, skinned, camera=side)
    np.testing.assert_array_equal(seen.image, lit.image)


def test_triangles_behind_the_camera_are_not_drawn():
    mesh, skinned = squares((0, 0, -3), side=9)
    seen = draw(mesh, skinned, want=EVERYTHING)
    assert (seen.triangles == -1).all() and (seen.image == [255, 255, 255, 0]).all()


def test_a_triangle_may_cross_the_camera_plane():
    floor = np.float32([[-50, -1, -50], [-50, -1, 50], [50, -1, 50], [50, -1, -50]])
    mesh, _ = squares((0, 0, 0))
    seen = draw(mesh, mmdskin.Skinned(floor, None, None), want=("depth",), size=(8, 8)).depth
    assert np.isinf(seen[:4]).all()
    # rows 0.5, 1.5, ... of 8 below the middle go down by (row - 4) / 8 a unit
    np.testing.assert_allclose(seen[4:, 4], 8 / (np.arange(4) + 0.5), rtol=1e-6)


def test_without_a_camera_the_whole_model_is_shown():
    mesh, skinned = squares((100, 20, 7), (103, 25, 9), side=2)
    for size in ((64, 64), (200, 40), (40, 200)):
        seen = draw(mesh, skinned, camera=None, size=size, want=("triangles",)).triangles
        assert {0, 1, 2, 3} <= set(np.unique(seen))
        border = np.concatenate([seen[0], seen[-1], seen[:, 0], seen[:, -1]])
        assert (border == -1).all()
        rows, columns = np.nonzero(seen >= 0)
        assert max(np.ptp(rows) / size[1], np.ptp(columns) / size[0]) > 0.85


def test_one_camera_sees_all_frames_of_a_batch():
    """A square that moves: its picture moves, too, and keeps its size."""
    mesh, skinned = squares((0, 0, 0), side=2)
    moved = np.stack([skinned.positions + (x, 0, 0) for x in (-3, 0, 3)]).astype("f4")
    batch = mmdskin.Skinned(moved, None, None)
    seen = draw(mesh, batch, camera=None, size=(64, 64), want=("triangles",)).triangles >= 0
    columns = [np.flatnonzero(frame.any(0)) for frame in seen]
    assert np.ptp([len(one) for one in columns]) <= 1  # where pixels begin
    assert columns[0][0] > 0 and columns[0][-1] < columns[1][0] and columns[2][-1] < 63
    camera = mmdskin.framing(mesh, batch, size=(64, 64))
    assert camera.target.tolist() == [0, 0, 0] and camera.fov == 30
    # half the width is 4: 1.05 of it fills the picture's half
    assert np.isclose(-camera.position[2], 1.05 * 4 / np.tan(np.radians(15)))
    same = draw(mesh, batch, camera=camera, size=(64, 64), want=("triangles",)).triangles >= 0
    np.testing.assert_array_equal(same, seen)


def test_a_pose_a_motion_and_its_vertices_are_framed_alike():
    model, motion = mmdskin.load_model(sample.build_sample()), mmdskin.load_motion(build_motion())
    first, last = motion.frame_range
    pose = model.pose(motion, np.arange(first, last + 1))
    found = [mmdskin.framing(model, shown) for shown in (motion, pose, mmdskin.skin(model, pose))]
    for camera in found:
        np.testing.assert_allclose(camera.position, found[0].position, rtol=1e-6)


def test_every_form_of_a_pose_is_framed_in_all_its_frames():
    model = mmdskin.load_model(sample.build_sample())
    places = np.zeros((3, len(model.bones), 7))  # positions and quaternions
    places[..., 0], places[..., 6] = [[-20], [0], [20]], 1
    weights = np.zeros((100, len(model.morphs)))
    weights[-1] = 9
    rest = model.pose().bone_matrices
    for pose in (mmdskin.Pose(places, None), mmdskin.Pose(rest, weights)):
        drawn = mmdskin.render(model, pose, size=(32, 32), want=("depth",)).depth
        skinned = mmdskin.skin(model, pose)
        assert np.ptp(skinned.positions, axis=0).max() > 1  # they move
        camera = mmdskin.framing(model, skinned, size=(32, 32))
        assert np.array_equal(mmdskin.framing(model, pose, size=(32, 32)).position, camera.position)
        same = mmdskin.render(model, pose, size=(32, 32), want=("depth",), camera=camera).depth
        np.testing.assert_array_equal(drawn, same)


def test_what_cannot_be_framed_is_refused():
    mesh, skinned = squares((0, 0, 0))
    far = skinned._replace(positions=np.full_like(skinned.positions, np.inf))
    with pytest.raises(ValueError, match="shown: a vertex is not finite"):
        mmdskin.framing(mesh, far)
    with pytest.raises(TypeError, match="shown: expected a Pose or a Skinned of the Mesh"):
        mmdskin.framing(mesh, 3)
    with pytest.raises(ValueError, match="frames: expected None"):
        mmdskin.framing(mesh, skinned, [0])


def test_mmds_look_without_the_textures_of_a_model_warns():
    model, motion, textures = mmdskin.sample()
    pose = model.pose(motion, 0)
    options = {"size": (8, 8), "look": "mmd"}
    with pytest.warns(UserWarning, match="has 15, but is drawn without them: load_textures"):
        mmdskin.render(model, pose, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for given in ({}, textures):
            mmdskin.render(model, pose, textures=given, **options)
        mmdskin.render(model, pose, size=(8, 8))


# Color


def test_empty_pixels_are_the_background():
    for background in ((1, 1, 1, 0), (0.2, 0.4, 0.6, 0.8), (0, 0, 0, 1)):
        seen = draw(*squares((0, 0, -3)), background=background, size=(2, 2)).image
        assert (seen == np.round(np.array(background) * 255)).all()


def test_colors_of_materials_are_srgb():
    seen = draw(*squares((0, 0, 0)), materials=[material((0.2, 0.4, 0.8, 1))]).image
    assert (seen == [51, 102, 204, 255]).all()


def test_light_is_ambient_plus_diffuse_times_cosine():
    lit = material()._replace(diffuse=(0.5, 0.5, 0.5, 1), ambient=(0.25, 0, 0.75))
    cosine = 0.5
    light = (0, -np.sqrt(0.75), cosine)  # 60 degrees from the normal
    seen = draw(*squares((0, 0, 0)), materials=[lit], light=light).image[0, 0, :3]
    expected = srgb(linear([0.25, 0, 0.75]) + linear(0.5) * cosine)
    assert abs(seen.astype(int) - expected).max() <= 1


def test_light_from_behind_leaves_the_ambient_color():
    lit = material((0.6, 0.6, 0.6, 1))._replace(diffuse=(1, 1, 1, 1))
    seen = draw(*squares((0, 0, 0)), materials=[lit], light=(0, 0, -1)).image
    assert (seen[..., :3] == 153).all()


def test_light_does_not_exceed_white():
    lit = material((0.9, 0.9, 0.9, 1))._replace(diffuse=(1, 1, 1, 1))
    texture = np.full((1, 1, 4), [255, 128, 0, 255], np.uint8)
    scene = squares((0, 0, 0))
    options = {"uvs": np.zeros((4, 2)), "textures": {3: texture}, "light": (0, 0, 1)}
    seen = draw(*scene, materials=[lit._replace(texture=3)], **options).image
    assert (seen == [255, 128, 0, 255]).all()


def test_single_sided_materials_are_invisible_from_behind():
    mesh, skinned = squares((-0.25, 0, 0), (0.25, 0, 0), side=0.5, turned=(1,))
    seen = draw(mesh, skinned, materials=[material(), material()], want=("triangles",)).triangles
    assert (seen[2:6, :4] >= 0).all() and (seen[2:6, 4:] < 0).all()


def test_both_sides_of_double_sided_materials_are_lit():
    mesh, skinned = squares((-0.25, 0, 0), (0.25, 0, 0), side=0.5, turned=(1,))
    skinned.normals[4:] *= -1
    both = material((0, 0, 0, 1))._replace(diffuse=(0.6, 0.6, 0.6, 1), flags=1)
    seen = draw(mesh, skinned, materials=[both, both], light=(0, 0, 1), want=("image", "normals"))
    assert (seen.image[2:6] == [153, 153, 153, 255]).all()
    np.testing.assert_allclose(seen.normals[2:6, :, 2], -1)


def test_alpha_mixes_in_the_order_of_materials():
    # the nearer square is drawn last, over the farther one, in linear light
    materials = [material(GREEN), material((1, 0, 0, 0.5))]
    seen = draw(*squares((0, 0, 1), (0, 0, 0), side=4), materials=materials).image[4, 4]
    assert abs(seen.astype(int) - [*srgb([0.5, 0.5, 0]), 255]).max() <= 1


def test_surfaces_drawn_later_behind_transparent_ones_are_hidden():
    materials = [material((1, 0, 0, 0.5)), material(GREEN)]
    seen = draw(*squares((0, 0, 0), (0, 0, 1), side=4), materials=materials, want=EVERYTHING)
    assert shows(seen.image[4, 4], [255, 0, 0, 127.5])
    assert seen.triangles[4, 4] in (0, 1)


def test_alpha_over_a_transparent_background_is_straight():
    seen = draw(
        *squares((0, 0, 0)), materials=[material((1, 0, 0, 0.5))], background=(0, 0, 1, 0.5)
    )
    # 0.5 red over 0.25 blue
    expected = [*srgb([2 / 3, 0, 1 / 3]), round(0.75 * 255)]
    assert abs(seen.image[4, 4].astype(int) - expected).max() <= 1


def test_surfaces_with_zero_alpha_are_not_drawn():
    materials = [material((1, 0, 0, 0)), material(GREEN)]
    seen = draw(*squares((0, 0, 0), (0, 0, 1), side=4), materials=materials, want=EVERYTHING)
    assert (seen.image == [0, 255, 0, 255]).all() and (seen.triangles >= 2).all()


def test_materials_use_consecutive_triangles_and_the_rest_is_not_drawn():
    mesh, skinned = squares((-0.25, 0.25, 0), (0.25, 0.25, 0), (0, -0.25, 0), side=0.5)
    seen = draw(mesh, skinned, materials=[material(RED), material(GREEN)]).image
    assert (seen[:4, :4] == [255, 0, 0, 255]).all() and (seen[:4, 4:] == [0, 255, 0, 255]).all()
    assert (seen[4:, :, 3] == 0).all()


# Lengths whose square overflows float


@pytest.mark.parametrize("length", [1e-42, 1e-30, 1e20, 3e38])
def test_light_is_a_direction_of_any_length(length):
    expected = draw(*squares((0, 0, 0)), light=(0, 0, 1), materials=[PLAIN])
    found = draw(*squares((0, 0, 0)), light=(0, 0, length), materials=[PLAIN])
    np.testing.assert_array_equal(found.image, expected.image)
    assert (found.image[4, 4] == 255).all()


@pytest.mark.parametrize("length", [1e-30, 1e20, 1e38])
def test_normals_are_directions_of_any_length(length):
    mesh, skinned = squares((0, 0, 0))
    normals = skinned.normals * np.float32(length)
    seen = draw(mesh, skinned._replace(normals=normals), want=("normals",)).normals
    np.testing.assert_allclose(seen, np.broadcast_to([0, 0, -1], seen.shape), atol=1e-6)


@pytest.mark.parametrize("length", [1e-30, 1e20, 1e38])
def test_edges_do_not_depend_on_the_length_of_normals(length):
    mesh, skinned = cube()
    options = {"camera": FAR, "size": (64, 64), "materials": [outlined(index_count=36)]}
    bare = draw(mesh, skinned, **options).image
    expected = draw(mesh, skinned, edges=True, **options).image
    longer = skinned._replace(normals=skinned.normals * np.float32(length))
    np.testing.assert_array_equal(draw(mesh, longer, edges=True, **options).image, expected)
    assert (expected != bare).any()


@pytest.mark.parametrize("side", [1e-5, 1e-10, 1e-15, 1e8])
def test_triangles_have_normals_at_any_size(side):
    mesh, skinned = squares((0, 0, 0), side=side)
    seen = draw(mesh, skinned._replace(normals=None), camera=None, want=("normals",)).normals
    np.testing.assert_allclose(seen[4, 4], [0, 0, -1], atol=1e-6)


@pytest.mark.parametrize("length", [1e-300, 1e-200, 1e9])
def test_up_is_a_direction_of_any_length(length):
    mesh, skinned = squares((0.25, 0.25, 0), side=0.5)
    camera = CAMERA._replace(up=(0, length, 0))
    seen = draw(mesh, skinned, camera=camera, want=("triangles",)).triangles
    assert (seen[:4, 4:] >= 0).all() and (seen >= 0).sum() == 16


# Textures

QUARTERS = np.uint8([[[255, 0, 0, 255], [0, 255, 0, 255]], [[0, 0, 255, 255], [9, 9, 9, 0]]])
UVS = np.float32([[0, 1], [0, 0], [1, 0], [1, 1]])  # of CORNERS


def test_row_0_of_textures_is_at_v_0():
    scene = squares((0, 0, 0))
    textured = material(texture=0)
    big = QUARTERS.repeat(8, 0).repeat(8, 1)  # so that no pixel is near a border between colors
    seen = draw(*scene, materials=[textured], uvs=UVS, textures={0: big}).image
    np.testing.assert_array_equal(seen[1, 1], QUARTERS[0, 0])
    np.testing.assert_array_equal(seen[1, 6], QUARTERS[0, 1])
    np.testing.assert_array_equal(seen[6, 1], QUARTERS[1, 0])
    assert seen[6, 6].tolist() == [255, 255, 255, 0]  # holes show the background


def test_texels_are_srgb():
    gray = np.full((4, 4, 4), [77, 128, 200, 255], np.uint8)
    seen = draw(*squares((0, 0, 0)), materials=[material(texture=2)], uvs=UVS, textures={2: gray})
    assert (seen.image == [77, 128, 200, 255]).all()


def test_missing_textures_are_white():
    seen = draw(*squares((0, 0, 0)), materials=[material(RED, texture=1)], uvs=UVS).image
    assert (seen == [255, 0, 0, 255]).all()


def test_uvs_repeat():
    big = QUARTERS.repeat(8, 0).repeat(8, 1)
    options = {"materials": [material(texture=0)], "textures": {0: big}}
    once = draw(*squares((0, 0, 0)), uvs=UVS, **options).image
    again = draw(*squares((0, 0, 0)), uvs=UVS + [3, -2], **options).image
    np.testing.assert_array_equal(once, again)


# Edges


def outlined(**members):
    edge = material((1, 1, 1, 1), flags=0x10, edge_color=(1, 0, 0, 1), edge_size=2)
    return edge._replace(**members)


def cube():
    """(Mesh, Skinned) of a cube of side 1 whose normals point away from its center."""
    points = np.float32([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) / 2
    faces = [(0, 2, 6, 4), (5, 7, 3, 1), (1, 3, 2, 0), (4, 6, 7, 5), (2, 3, 7, 6), (1, 0, 4, 5)]
    triangles = np.int32([t for a, b, c, d in faces for t in ((a, b, c), (a, c, d))])
    zeros, ones = np.zeros((8, 1), np.int32), np.ones((8, 1), np.float32)
    mesh = mmdskin.Mesh(points, zeros, ones, normals=points, triangles=triangles)
    return mesh, mmdskin.Skinned(points, points, None)


FAR = CAMERA._replace(position=(0, 0, -20), fov=10)


def test_edges_surround_the_silhouette_in_their_color():
    options = {"camera": FAR, "size": (512, 512), "materials": [outlined(index_count=36)]}
    without = draw(*cube(), **options).image
    with_edges = draw(*cube(), edges=True, **options).image
    covered = without[..., 3] > 0
    assert (with_edges[covered] == without[covered]).all()
    rim = (with_edges[..., 3] > 0) & ~covered
    assert (with_edges[rim] == [255, 0, 0, 255]).all()
    # size 2 along normals (1, 1, 1) / sqrt 3: more than a pixel to each side
    assert 1 <= np.flatnonzero(rim[256]).size / 2 <= 2


@pytest.mark.parametrize("members", [{"flags": 0}, {"edge_size": 0}, {"edge_color": (1, 0, 0, 0)}])
def test_materials_without_edges_have_none(members):
    materials = [outlined(index_count=36, **members)]
    options = {"camera": FAR, "size": (128, 128), "materials": materials}
    np.testing.assert_array_equal(
        draw(*cube(), edges=True, **options).image, draw(*cube(), **options).image
    )


def test_edges_are_only_in_the_image():
    options = {"camera": FAR, "size": (64, 64), "want": ("depth", "triangles"), "materials": None}
    plain, edged = (draw(*cube(), edges=edges, **options) for edges in (False, True))
    np.testing.assert_array_equal(plain.depth, edged.depth)
    np.testing.assert_array_equal(plain.triangles, edged.triangles)


# Samples


def test_with_samples_alpha_is_the_covered_fraction_of_a_pixel():
    mesh, skinned = squares((0, 0, 0), side=0.5)
    narrow = mmdskin.Skinned(skinned.positions * np.float32([0.5, 1, 1]), skinned.normals, None)
    seen = draw(mesh, narrow, size=(4, 4), samples=4, materials=[material(RED)]).image
    # 1/4 of a unit wide: half of each of the two middle pixels
    assert shows(seen[1:3, 1:3], [255, 0, 0, 127.5]).all()
    assert (seen[:, 0, 3] == 0).all()


def test_samples_do_not_change_the_other_results():
    scene = squares((0.2, 0.1, 0), (-0.3, 0.2, 0.5), side=0.6)
    one, many = (draw(*scene, samples=n, size=(21, 13), want=EVERYTHING) for n in (1, 3))
    for name in EVERYTHING[1:]:
        np.testing.assert_array_equal(getattr(one, name), getattr(many, name))


# Batches


def dance():
    """The sample model and some frames of it."""
    model = mmdskin.load_model(sample.build_sample())
    frames = np.stack([sample.bend(angle) for angle in (0, 40, 90, 130)])
    return model, mmdskin.skin(model, frames)


def frame_of(skinned, f):
    return mmdskin.Skinned(skinned.positions[f], skinned.normals[f], None)


CHOSEN = mmdskin.Camera((9, 8, -30), (0, 5, 0), (0, 1, 0), 40)


@pytest.mark.parametrize("camera", ["framing", CHOSEN])
def test_a_batch_equals_single_frames_bit_for_bit(camera):
    model, skinned = dance()
    if camera == "framing":
        camera = mmdskin.framing(model, skinned, size=(70, 50))
    options = {"camera": camera, "size": (70, 50), "want": EVERYTHING, "edges": True, "samples": 2}
    batch = mmdskin.render(model, skinned, **options)
    for f in range(4):
        single = mmdskin.render(model, frame_of(skinned, f), **options)
        for one, many in zip(single, batch, strict=True):
            assert one.tobytes() == many[f].tobytes()


def test_a_batch_rendered_in_slices_equals_single_frames():
    mesh, skinned = squares((0, 0, 0), side=0.7)
    turn = np.linspace(0, 0.2, 9, dtype=np.float32)
    many = skinned.positions + np.stack([turn, turn, 0 * turn], -1)[:, None]
    normals = np.tile(skinned.normals, (9, 1, 1))
    batch = draw(mesh, mmdskin.Skinned(many, normals, None), size=(400, 400), samples=8).image
    for f in (0, 4, 8):
        single = mmdskin.Skinned(many[f], skinned.normals, None)
        np.testing.assert_array_equal(
            batch[f], draw(mesh, single, size=(400, 400), samples=8).image
        )


def test_one_frame_with_many_cameras():
    mesh, skinned = squares((0, 0, 0))
    places = np.float32([[0, 0, -1], [0, 0, -2], [0, 0, -4]])
    around = CAMERA._replace(position=places)
    seen = draw(mesh, skinned, camera=around, want=("depth",)).depth
    assert seen.shape == (3, 8, 8)
    assert seen[:, 4, 4].tolist() == [1, 2, 4]


def test_the_camera_of_a_motion_with_a_cut_and_a_flight():
    """Keys at frames 0 and 1 are a cut; from there to 7 the camera moves back by a unit per frame."""
    mesh, skinned = squares((0, 0, 0))
    key_frames, distances = [0, 1, 7], [-5, -1, -7]
    still, views = np.zeros((3, 3)), [53, 53, 53]
    track = (key_frames, distances, still, still, None, views, None)
    motion = mmdskin.Motion.from_tracks(camera=track)
    seen = draw(mesh, skinned, camera=motion.camera_at([0, 0.5, 1, 4, 7]), want=("depth",)).depth
    np.testing.assert_allclose(seen[:, 4, 4], [5, 5, 1, 4, 7], atol=1e-4)


def test_one_frame_with_many_uvs():
    big = QUARTERS.repeat(8, 0).repeat(8, 1)
    uvs = np.stack([UVS * 0 + 0.25, UVS * 0 + [0.75, 0.25]])
    options = {"materials": [material(texture=0)], "textures": {0: big}}
    seen = draw(*squares((0, 0, 0)), uvs=uvs, **options).image
    assert (seen[0] == [255, 0, 0, 255]).all() and (seen[1] == [0, 255, 0, 255]).all()


def test_a_batch_may_be_empty():
    mesh, skinned = squares((0, 0, 0))
    none = mmdskin.Skinned(*(member[None][:0] for member in skinned[:2]), None)
    seen = draw(mesh, none, want=EVERYTHING)
    assert seen.image.shape == (0, 8, 8, 4) and seen.triangles.shape == (0, 8, 8)


def test_a_model_without_triangles_is_an_empty_picture():
    empty = np.zeros((0, 3), np.float32)
    mesh = mmdskin.Mesh(
        empty, np.zeros((0, 1), "i4"), empty[:, :1], triangles=np.zeros((0, 3), "i4")
    )
    seen = mmdskin.render(mesh, mmdskin.Skinned(empty, None, None), want=EVERYTHING)
    assert (seen.triangles == -1).all() and (seen.image[..., 3] == 0).all()


# Together with other work of the same device


def test_alternating_skinning_and_drawing_do_not_interfere():
    model, skinned = dance()
    frames = np.stack([sample.bend(angle) for angle in (0, 40, 90, 130)])
    first = mmdskin.render(model, skinned, size=(60, 60)).image
    for _ in range(2):
        again = mmdskin.skin(model, frames, backend="gl")
        np.testing.assert_allclose(again.positions, skinned.positions, atol=4e-5)
        np.testing.assert_array_equal(mmdskin.render(model, skinned, size=(60, 60)).image, first)
    mmdskin.shutdown()
    np.testing.assert_array_equal(mmdskin.render(model, skinned, size=(60, 60)).image, first)


def test_a_model_shows_its_materials_and_textures():
    made = sample.sample()
    for one in made.materials:
        one.ambient, one.diffuse, one.texture = (1, 1, 1), (0, 0, 0, 1), 0
    model = mmdskin.load_model(pmx.write(made))
    skinned = mmdskin.skin(model, sample.bend(0))
    blue = np.full((2, 2, 4), [0, 0, 255, 255], np.uint8)
    seen = mmdskin.render(model, skinned, textures={0: blue}, size=(64, 64), want=EVERYTHING)
    assert (seen.image[seen.triangles >= 0] == [0, 0, 255, 255]).all()
    assert (seen.triangles >= 0).any()


def test_morphed_materials_are_shown():
    model = mmdskin.load_model(sample.build_sample())
    skinned = mmdskin.skin(model, sample.bend(0))
    faded = model.materials_at(model.sliders({"透過": 1}))
    left = {round(255 * material.diffuse[3]) for material in faded}
    assert len(left) == 1 and 0 < min(left) < 255
    seen, plain = (
        mmdskin.render(model, skinned, materials=materials, size=(64, 64)).image[..., 3]
        for materials in (faded, None)
    )
    assert set(np.unique(plain)) == {0, 255}
    assert min(seen[plain > 0]) == min(left)
