# SPDX-License-Identifier: MIT
"""Wrong arguments of render(): an error that names the thing and its limit, before anything is drawn."""

import math
import os
import subprocess
import sys

import mmdskin
import numpy as np
import pytest
from conftest import ROOT
from render.scene import CAMERA, draw, material, squares
from sample import model as sample

NAN, INF = math.nan, math.inf
TEXTURE = np.zeros((2, 2, 4), np.uint8)


def with_number(array, index, value):
    array = array.copy()
    array[index] = value
    return array


@pytest.mark.parametrize(
    "options, error, text",
    [
        ({"size": (0, 8)}, ValueError, "size: 0 x 8, expected at least 1 x 1"),
        ({"size": (8, -1)}, ValueError, "size: 8 x -1"),
        ({"size": (8,)}, ValueError, r"size: expected \(width, height\)"),
        ({"size": (8, 8, 8)}, ValueError, r"size: expected \(width, height\)"),
        ({"size": (8.5, 8)}, TypeError, r"size: expected \(width, height\), two integers"),
        ({"size": ("a", 8.5)}, TypeError, r"size: expected \(width, height\), two integers"),
        ({"size": 8}, TypeError, r"size: expected \(width, height\), two integers"),
        ({"samples": 0}, ValueError, "samples: 0, expected 1 to 8"),
        ({"samples": 9}, ValueError, "samples: 9, expected 1 to 8"),
        ({"samples": -(2**40)}, ValueError, "samples: -1099511627776, expected 1 to 8"),
        ({"background": (1, 1, 1)}, ValueError, r"background: shape \(3,\), expected \(4,\)"),
        ({"background": (1, 1, 1, 1.5)}, ValueError, r"background\[3\] is 1.5, expected 0 to 1"),
        ({"background": (NAN, 1, 1, 1)}, ValueError, r"background\[0\] is nan"),
        ({"light": (0, 0, 0)}, ValueError, r"light: \(0, 0, 0\) is not a direction"),
        ({"light": (0, INF, 0)}, ValueError, r"light: \(0, inf, 0\) is not a direction"),
        ({"want": "image"}, TypeError, "want: expected a sequence of names"),
        ({"want": 1}, TypeError, "want: expected a sequence of names"),
        ({"want": ("image", "color")}, ValueError, "want: 'color' is unknown"),
        ({"want": (1,)}, ValueError, "want: 1 is unknown"),
        ({"backend": "cpu"}, ValueError, 'backend: "cpu" cannot render, expected "auto" or "gl"'),
        ({"camera": (1, 2, 3, 4)}, TypeError, "camera: expected a Camera"),
        ({"materials": [1]}, TypeError, r"materials\[0\]: expected a Material"),
        ({"materials": [material(index_count=9)]}, ValueError,
         r"materials\[0\]: 3 triangles, but of the mesh's 2 only 2 are left"),
        ({"materials": [material(index_count=-3)]}, ValueError,
         r"materials\[0\].index_count: -3, expected a multiple of 3, at least 0"),
        ({"materials": [material(index_count=5)]}, ValueError,
         r"materials\[0\].index_count: 5, expected a multiple of 3"),
        ({"materials": [material(flags=2**31)]}, ValueError,
         r"materials\[0\].flags: 2147483648, expected 0 to 255"),
        ({"materials": [material(texture=-(2**70))]}, ValueError,
         r"materials\[0\].texture: -1180591620717411303424, expected -2147483648 to 2147483647"),
        ({"materials": [material(texture=-2)]}, ValueError,
         r"materials\[0\].texture: -2, expected an index or -1"),
        ({"materials": [material(texture=1.0)]}, TypeError,
         r"materials\[0\].texture: expected an integer, not <class 'float'>"),
        ({"materials": [material((NAN, 0, 0, 1))]}, ValueError, r"materials\[0\].ambient is NaN"),
        ({"materials": [material(diffuse=(1, 1, 1))]}, ValueError,
         r"materials\[0\].diffuse: length 3, expected 4"),
        ({"materials": [material(edge_size="a")]}, TypeError,
         r"materials\[0\].edge_size: expected a number"),
        ({"materials": [material(flags=None)]}, TypeError,
         r"materials\[0\].flags: expected an integer"),
        ({"uvs": np.zeros((3, 2))}, ValueError, r"uvs: shape \(3, 2\), expected \(4, 2\)"),
        ({"uvs": np.full((4, 2), INF)}, ValueError, "uvs: vertex 0, component 0 is infinite"),
        ({"textures": {0: TEXTURE}}, ValueError, "textures: a Mesh has no texture coordinates"),
        ({"textures": [TEXTURE]}, TypeError, "textures: expected a dict"),
        ({"textures": {"a": TEXTURE}}, TypeError, "textures: key 'a'"),
        ({"textures": {-1: TEXTURE}}, ValueError, "textures: key -1, expected 0 to 2147483646"),
        ({"textures": {0: TEXTURE[..., :3]}}, ValueError, r"textures\[0\]: shape \(2, 2, 3\)"),
        ({"textures": {0: TEXTURE / 2}}, TypeError, r"textures\[0\]: dtype float64"),
        ({"textures": {0: TEXTURE[:0]}}, ValueError, r"textures\[0\]: 2 x 0 pixels"),
    ],
)  # fmt: skip
def test_invalid_options_are_rejected(options, error, text):
    with pytest.raises(error, match=text):
        draw(*squares((0, 0, 0)), **options)


def interrupted():
    raise KeyboardInterrupt
    yield


@pytest.mark.parametrize("name", ["want", "size"])
def test_exceptions_raised_by_an_argument_are_kept(name):
    with pytest.raises(KeyboardInterrupt):
        draw(*squares((0, 0, 0)), **{name: interrupted()})


@pytest.mark.parametrize(
    "change, text",
    [
        ({"target": (0, 0, -1)}, "camera: frame 0: target and position are equal"),
        ({"up": (0, 0, 1)}, "camera: frame 0: up is zero or parallel to the view direction"),
        ({"up": (0, 0, 0)}, "camera: frame 0: up is zero or parallel to the view direction"),
        ({"fov": 0}, "camera: frame 0: fov is 0, expected 0.001 to 179.999"),
        ({"fov": 180}, "camera: frame 0: fov is 180"),
        ({"fov": -30}, "camera: frame 0: fov is -30"),
        ({"fov": NAN}, "camera: frame 0: fov is nan"),
        ({"position": (0, NAN, 0)}, r"camera: frame 0: position\[1\] is NaN"),
        ({"target": (0, 0, INF)}, r"camera: frame 0: target\[2\] is infinite"),
        ({"position": (0, 0, 1e30)}, r"camera: frame 0: position\[2\] is 1e\+30, limit 1e\+09"),
        ({"position": (0, 0)}, r"camera.position: shape \(2,\)"),
        ({"fov": [[30]]}, r"camera.fov: shape \(1, 1\)"),
        ({"position": np.zeros((2, 3)), "fov": [30] * 3}, "camera.fov: 3 frames, other members have 2"),
        ({"position": [(0, 0, -1), (0, 0, 0)]}, "camera: frame 1: target and position are equal"),
    ],
)  # fmt: skip
def test_cameras_that_see_nothing_are_rejected(change, text):
    with pytest.raises(ValueError, match=text):
        draw(*squares((0, 0, 0)), camera=CAMERA._replace(**change))


def test_the_first_vertex_that_is_not_finite_is_named():
    mesh, skinned = squares((0, 0, 0))
    for member, value, word in (("positions", NAN, "NaN"), ("normals", -INF, "infinite")):
        bad = skinned._replace(**{member: with_number(getattr(skinned, member), (2, 1), value)})
        with pytest.raises(ValueError, match=f"{member}: vertex 2, component 1 is {word}"):
            draw(mesh, bad)


def test_vertices_too_far_away_for_float_are_rejected():
    mesh, skinned = squares((0, 0, 0))
    far = skinned._replace(positions=with_number(skinned.positions, (3, 0), 1e30))
    with pytest.raises(
        ValueError, match=r"positions: frame 0, vertex 3: 1e\+30 is beyond the limit"
    ):
        draw(mesh, far)


def test_other_types_than_mesh_and_skinned_are_rejected():
    mesh, skinned = squares((0, 0, 0))
    bare = mmdskin.Mesh(np.zeros((4, 3)), np.zeros((4, 1), int), np.ones((4, 1)))
    for arguments, error, text in (
        ((None, skinned), TypeError, "mesh: expected a Model or a Mesh"),
        ((bare, skinned), ValueError, "mesh: no triangles"),
        ((mesh, skinned.positions), TypeError, "skinned: expected a Skinned"),
        ((mesh, skinned._replace(positions=skinned.positions[:3])), ValueError, "skinned.positions"),
        ((mesh, skinned._replace(normals=skinned.normals[:3])), ValueError, "skinned.normals"),
    ):  # fmt: skip
        with pytest.raises(error, match=text):
            draw(*arguments)


def test_frame_counts_must_match():
    mesh, skinned = squares((0, 0, 0))
    three = mmdskin.Skinned(np.tile(skinned.positions, (3, 1, 1)), None, None)
    two = CAMERA._replace(fov=[30, 40])
    with pytest.raises(ValueError, match="camera: 2 frames, expected 1 or 3"):
        draw(mesh, three, camera=two)
    with pytest.raises(ValueError, match="uvs: 2 frames, expected 1 or 3"):
        draw(mesh, three, uvs=np.zeros((2, 4, 2)))
    with pytest.raises(ValueError, match="skinned.normals: 1 frame, positions have 3"):
        draw(mesh, three._replace(normals=skinned.normals))


def test_edges_need_normals():
    mesh, skinned = squares((0, 0, 0))
    with pytest.raises(ValueError, match="edges: need normals"):
        draw(mesh, skinned._replace(normals=None), edges=True)


def test_textures_that_a_model_lacks_are_rejected():
    model = mmdskin.load_model(sample.build_sample())
    skinned = mmdskin.skin(model, sample.bend(0))
    limit = len(model.textures)
    with pytest.raises(ValueError, match="textures: key 1, the model has 1 texture$"):
        mmdskin.render(model, skinned, textures={limit: TEXTURE})


def test_a_texture_dict_may_be_changed_by_its_own_items():
    textures = {}

    class Changing:
        def __array__(self, *_args, **_options):
            textures.clear()
            textures.update(dict.fromkeys(range(50), TEXTURE))
            return TEXTURE

    textures.update({n: Changing() for n in range(3)})
    draw(*squares((0, 0, 0)), textures=textures, uvs=np.zeros((4, 2)))


def test_the_error_names_the_largest_picture_of_the_device(gl):
    with pytest.raises(ValueError, match=r"size: 1000000 x 8, the device supports \d+ x \d+"):
        draw(*squares((0, 0, 0)), size=(10**6, 8))
    with pytest.raises(ValueError, match=r"the device supports \d+ x \d+ \(samples: 8\)"):
        draw(*squares((0, 0, 0)), size=(10**5, 8), samples=8)
    with pytest.raises(ValueError, match=r"the device supports"):
        draw(*squares((0, 0, 0)), size=(10**40, 10**40))


def test_a_picture_of_4096_by_4096_is_drawn(gl):
    seen = draw(*squares((0.25, 0.25, 0), side=0.5), size=(4096, 4096), want=("triangles",))
    assert seen.triangles.shape == (4096, 4096)
    covered = seen.triangles >= 0
    assert covered[:2048, 2048:].all() and covered.sum() == 2048**2


WITHOUT_GL = """
import mmdskin, numpy as np
from render.scene import draw, squares
try:
    draw(*squares((0, 0, 0)))
except mmdskin.BackendError as error:
    print("BackendError", error)
try:
    draw(*squares((0, 0, 0)), samples=0)
except ValueError as error:
    print("ValueError", error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has WGL in place of EGL")
def test_without_opengl_an_error_says_so(tmp_path):
    environment = os.environ | {
        "MMDSKIN_EGL": str(tmp_path / "libNone.so"),
        "PYTHONPATH": str(ROOT / "tests"),
    }
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_GL], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert said[0].startswith("BackendError") and "libNone.so" in said[0]
    assert said[1] == "ValueError samples: 0, expected 1 to 8"


MMD_LOOK = {"look": "mmd"}


@pytest.mark.parametrize(
    "options, error, text",
    [
        ({"look": "toon"}, ValueError, 'look: "toon" is unknown, expected "lambert" or "mmd"'),
        ({"look": 1}, TypeError, "look: expected a str"),
        ({"light": [(0, 1, 0), (0, 0, 0)]}, ValueError, r"light: frame 1: \(0, 0, 0\) is not a"),
        ({"light": np.zeros((2, 2, 3))}, ValueError, "light: shape"),
        ({"light": [(0, 1, 0)] * 2, "light_color": [(1, 1, 1)] * 3} | MMD_LOOK, ValueError,
         "light_color: 3 frames, expected 1 or 2|light_color"),
        ({"light_color": (NAN, 0, 0)} | MMD_LOOK, ValueError, "light_color: number 0 is NaN"),
        ({"light_color": (1, 1)} | MMD_LOOK, ValueError, "light_color: shape"),
        ({"factors": np.ones((2, 2, 3, 4))} | MMD_LOOK, ValueError, "factors: shape"),
        ({"factors": np.full((1, 2, 3, 4), INF)} | MMD_LOOK, ValueError, "factors: number 0 is inf"),
        (
            {"toons": np.zeros((9, 32, 4), np.uint8)} | MMD_LOOK,
            ValueError,
            r"toons: shape \(9, 32, 4\), expected \(10, H, 4\)",
        ),
        ({"toons": np.zeros((10, 0, 4), np.uint8)} | MMD_LOOK, ValueError, "toons: 0 rows"),
        ({"toons": np.zeros((10, 5000, 4), np.uint8)} | MMD_LOOK, ValueError, "toons: 5000 rows"),
        ({"toons": np.zeros((10, 32, 4))} | MMD_LOOK, TypeError, "toons"),
        ({"additional_uvs": np.zeros((4, 2))} | MMD_LOOK, ValueError, "additional_uvs: shape"),
        ({"additional_uvs": np.full((4, 4), NAN)} | MMD_LOOK, ValueError, "additional_uvs: vertex 0"),
        ({"ground_shadow": (1, 1, 1)} | MMD_LOOK, ValueError, "ground_shadow: shape"),
        ({"ground_shadow": (1, 1, 1, NAN)} | MMD_LOOK, ValueError, "ground_shadow: number 3 is NaN"),
        ({"materials": [material(specular=(0, NAN, 0))]}, ValueError, r"materials\[0\].specular is NaN"),
        ({"materials": [material(specular_power=INF)]}, ValueError, r"materials\[0\].specular_power"),
        ({"materials": [material(sphere_mode="blend")]}, ValueError, r"materials\[0\].sphere_mode"),
        ({"materials": [material(toon=-2)]}, ValueError, r"materials\[0\].toon: -2"),
    ],
)  # fmt: skip
def test_arguments_of_the_look_that_do_not_fit_are_refused(gl, options, error, text):
    with pytest.raises(error, match=text):
        draw(*squares((0, 0, 0)), **options)


@pytest.mark.parametrize(
    "options",
    [
        {"light_color": (1, 1, 1)}, {"factors": np.ones((1, 2, 3, 4))}, {"self_shadow": True},
        {"toons": np.zeros((10, 1, 4), np.uint8)}, {"additional_uvs": np.zeros((4, 4))},
        {"ground_shadow": True},
    ],
)  # fmt: skip
def test_lambert_refuses_what_it_does_not_use(gl, options):
    with pytest.raises(ValueError, match=f'{next(iter(options))}: not used by look "lambert"'):
        draw(*squares((0, 0, 0)), **options)
