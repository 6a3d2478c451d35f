# SPDX-License-Identifier: MIT
"""Material and UV morphs in the look of MMD: every number of their records, against the twin."""

import mmdskin
import numpy as np
import pytest
from files import pmx_file as pmx
from judges import look_twin
from judges.pose_rigs import morph
from render.scene import ball

pytestmark = pytest.mark.usefixtures("gl")

CAMERA = mmdskin.Camera((0, 0, -10), (0, 0, 0), (0.2, 1, 0), 15)
SIZE = (40, 40)
STEPS = 12
R = np.random.default_rng(5)
TEXTURES = {i: R.integers(60, 256, (4, 4, 4), np.uint8) for i in range(3)}
for pixels in TEXTURES.values():
    pixels[..., 3] = 255


def source_of(*morphs, mode=2):
    """A ball whose upper and lower half are a material each, with texture, sphere map and toon."""
    mesh, skinned = ball(STEPS)
    del mesh
    count = len(skinned.positions)
    m = pmx.PMX(2.1, bones=[pmx.Bone("b")], morphs=list(morphs))
    m.positions, m.normals = skinned.positions, skinned.normals
    m.uvs = skinned.positions[:, :2] / 4 + 0.5
    m.additional_uvs = np.zeros((count, 1, 4), "f4")
    m.additional_uvs[:, 0, :2] = skinned.positions[:, 1:] / 4 + 0.5
    m.deform, m.bone_indices = np.zeros(count, "u1"), np.tile(np.int32([0, -1, -1, -1]), (count, 1))
    m.bone_weights = np.tile(np.float32([1, 0, 0, 0]), (count, 1))
    m.sdef, m.edge_scales = np.zeros((count, 3, 3), "f4"), np.ones(count, "f4")
    a = (np.arange(STEPS)[:, None] * (STEPS + 1) + np.arange(STEPS)).ravel()
    b, c = a + 1, a + STEPS + 1
    m.triangles = np.int32([[a, b, c], [b, c + 1, c]]).transpose(2, 0, 1).reshape(-1, 3)
    m.textures = ["base.png", "sphere.png", "toon.png"]
    m.materials = [
        pmx.Material(
            name, name, (0.6, 0.5, 0.4, 0.9), (0.4, 0.3, 0.2), 6, (0.3, 0.35, 0.4), 0x1F,
            (0.1, 0.2, 0.3, 0.8), 2.0, texture=0, sphere_texture=1, sphere_mode=mode,
            shared_toon=False, toon=2, memo="", index_count=3 * STEPS * STEPS,
        )
        for name in "ab"
    ]  # fmt: skip
    return m


def check(model, weights):
    """The picture with these morphs is the twin's."""
    materials, factors = model.materials_at(weights), model.texture_factors_at(weights)
    skinned = mmdskin.Skinned(model.positions, model.normals, None)
    additional_uvs = model.uvs_at(weights, 1)
    options = {"camera": CAMERA, "size": SIZE, "textures": TEXTURES, "factors": factors}
    found = mmdskin.render(
        model, skinned, look="mmd", edges=True, materials=materials,
        additional_uvs=additional_uvs, **options,
    ).image  # fmt: skip
    scene = look_twin.Scene(
        model.positions, model.normals, model.triangles, materials, uvs=model.uvs,
        additional_uvs=additional_uvs, toons=mmdskin.toons(), edges=True, **options,
    )  # fmt: skip
    expected, _ = look_twin.render(scene)
    off = np.abs(found - np.round(expected * 255)).max(-1)
    # at the outline and where both materials meet, one pixel may belong to either
    assert np.mean(off <= 2) >= 0.98 and np.median(off) <= 1, np.mean(off <= 2)
    return found


NEUTRAL = {0: np.ones(28), 1: np.zeros(28)}


@pytest.mark.parametrize("operation", [0, 1], ids=["multiply", "add"])
@pytest.mark.parametrize("column", range(28))
def test_each_number_of_a_material_morph(column, operation):
    values = NEUTRAL[operation].copy()
    values[column] = 0.4
    model = mmdskin.load_model(
        pmx.write(source_of(morph("m", "material", (0, operation, *values))))
    )
    rest = check(model, [0])
    for weight in (0.3, 1, -0.5, 2):
        seen = check(model, [weight])
        assert (seen != rest).any() or column in (3, 11 + 4) or column >= 16


@pytest.mark.parametrize("mode", [1, 2, 3], ids=["multiply", "add", "sub_texture"])
@pytest.mark.parametrize("seed", range(3))
def test_two_morphs_at_once_and_one_of_all_materials(seed, mode):
    r = np.random.default_rng(seed)
    first = morph("f", "material", (0, 0, *r.random(28)), (1, 1, *r.uniform(-0.2, 0.3, 28)))
    second = morph("s", "material", (-1, seed % 2, *r.uniform(0.2, 0.6, 28)))
    model = mmdskin.load_model(pmx.write(source_of(first, second, mode=mode)))
    check(model, [0.7, 0.5])


@pytest.mark.parametrize("weight", [0, 0.5, 1])
def test_morphs_of_the_additional_uv_move_a_sub_texture(weight):
    count = (STEPS + 1) ** 2
    moved = morph("u", "uv1", *((i, 0.25, -0.5, 0, 0) for i in range(count)))
    check(mmdskin.load_model(pmx.write(source_of(moved, mode=3))), [weight])
