# SPDX-License-Identifier: MIT
"""render(look="mmd") of whole models equals the float64 twin, with stand-in textures."""

import mmdskin
import numpy as np
import pytest
from files import locations
from judges import look_twin

MODELS = locations.at_hand_of("巡音ルカ.pmx", "初音ミク.pmx", "miku_v2.pmd", own="dancer.pmx")
DANCE = locations.at_hand_of("realize_motion.vmd", own="dancer.vmd")[0]
FRAME = 400


def stand_ins(model):
    """Random textures of so few pixels that they are magnified, as the twin knows no mip maps."""
    r = np.random.default_rng(0)
    pixels = r.integers(90, 256, (len(model.textures), 4, 4, 4), np.uint8)
    pixels[..., 3] = 255
    return dict(enumerate(pixels))


def camera_of(model, pose, name):
    if name == "whole":
        return mmdskin.Camera((6, 12, -40), (0, 10, 0), (0.05, 1, 0), 30)
    head = model.bone("頭")
    face = (pose.bone_matrices[head] @ [*model.bones[head].position, 1])[:3] + [0, 0.7, 0]
    return mmdskin.Camera(face + [3, 1, -9], face, (0, 1, 0), 30)


def owners_of(model, triangles):
    ends = np.cumsum([material.index_count // 3 for material in model.materials])
    return np.where(triangles < 0, -1, np.searchsorted(ends, triangles, side="right"))


@pytest.mark.parametrize(("view", "size"), [("whole", (512, 512)), ("face", (256, 256))])
@pytest.mark.parametrize("path", MODELS, ids=[path.name for path in MODELS])
def test_pictures_of_models_equal_the_twin(gl, path, view, size):
    model, motion = mmdskin.load_model(path), mmdskin.load_motion(DANCE)
    pose = model.pose(motion, FRAME)
    skinned = mmdskin.skin(model, pose)
    options = {"textures": stand_ins(model), "camera": camera_of(model, pose, view), "size": size}
    more = model.additional_uvs[:, 0] if model.additional_uvs.shape[1] else None
    scene = look_twin.Scene(
        skinned.positions, skinned.normals, model.triangles, model.materials,
        uvs=model.uvs, additional_uvs=more, edge_scales=model.edge_scales,
        toons=mmdskin.toons(), edges=True, **options,
    )  # fmt: skip
    plain, edged, owners = look_twin.stages(scene)
    draw = {"look": "mmd", "want": ("image", "triangles"), **options}
    found = mmdskin.render(model, skinned, **draw)
    off = np.abs(found.image - np.round(plain * 255)).max(-1)[look_twin.interior(owners)]
    assert len(off) > 20000
    assert np.mean(off <= 1) >= 0.995
    assert np.mean(off <= 2) >= 0.999
    assert np.mean(owners_of(model, found.triangles) == owners) >= 0.9995
    with_edges = mmdskin.render(model, skinned, **draw, edges=True).image
    assert np.mean(np.abs(with_edges - np.round(edged * 255)).max(-1) <= 2) >= 0.995
