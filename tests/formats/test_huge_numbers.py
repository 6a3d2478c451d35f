# SPDX-License-Identifier: MIT
"""Finite in, finite out: whatever numbers a valid file holds, no result is infinite or NaN."""

import mmdskin
import numpy as np
import pytest
from files import motion_file as mf
from files import pmx_file as pmx
from judges import pose_rigs as rigs

LIMIT = 1e10
HUGE = [3.4e38, -3.4e38]
FRAMES = [0, 2.5, 5, 10]
METHODS = ["mmd", "linear", "dual_quaternion", "bulge_free", "centers_of_rotation"]


def huge_model(rng):
    """Every number is of any size, also at vertices of all deform types and in all morphs."""

    def number():
        return float(rng.choice([*HUGE, 1e30, -1e20, 1e12, -1e9, 1.0, 0.0, 1e-30]))

    def numbers(count):
        return tuple(number() for _ in range(count))

    bones = [rigs.bone("root", numbers(3))]
    bones += [rigs.bone(f"b{i}", numbers(3), i) for i in range(3)]
    bones += [
        rigs.bone(f"a{i}", numbers(3), i, append=pmx.Append(1 + i, number(), True, True))
        for i in range(4)
    ]
    bones[3].ik = rigs.ik(2, [1, 0], 5, number())
    file = rigs.source(*bones)
    count = 60
    file.positions = np.float32([numbers(3) for _ in range(count)])
    file.normals = np.float32([numbers(3) for _ in range(count)])
    file.uvs = np.float32([numbers(2) for _ in range(count)])
    file.additional_uvs = np.float32([[numbers(4)] for _ in range(count)])
    file.deform = rng.integers(0, 4, count).astype(np.uint8)  # BDEF1, 2, 4 and SDEF
    file.edge_scales = np.float32(numbers(count))
    file.bone_indices = rng.integers(0, len(bones), (count, 4)).astype(np.int32)
    file.bone_weights = np.float32([numbers(4) for _ in range(count)])
    file.sdef = np.float32([[numbers(3) for _ in range(3)] for _ in range(count)])
    file.triangles = np.arange(count, dtype=np.int32).reshape(-1, 3)
    file.materials = [pmx.Material("m", index_count=count)]
    file.morphs = [
        rigs.morph("v", "vertex", *((int(v), *numbers(3)) for v in rng.integers(0, count, 90))),
        rigs.morph("u", "uv", *((int(v), *numbers(4)) for v in rng.integers(0, count, 90))),
        rigs.morph("x", "uv1", *((int(v), *numbers(4)) for v in rng.integers(0, count, 90))),
        rigs.morph("b", "bone", *((b, *numbers(7)) for b in range(len(bones)))),
        *(
            rigs.morph(f"m{i}", "material", (int(rng.integers(-1, 1)), i % 2, *numbers(28)))
            for i in range(40)
        ),
    ]
    file.morphs.append(rigs.morph("g", "group", *((i, number()) for i in range(len(file.morphs)))))
    return file


def huge_motion(file, rng):
    def number():
        return float(rng.choice([*HUGE, 1e20, 1.0, -1.0]))

    return mf.write_vmd(
        mf.Keys(
            "",
            [
                mf.BoneKey(
                    b.name, frame, (number(), number(), number()), (number(), 0, 1, number())
                )
                for b in file.bones
                for frame in (0, 10)
            ],
            [mf.MorphKey(m.name, frame, number()) for m in file.morphs for frame in (0, 10)],
            [
                mf.CameraKey(frame, number(), (number(), number(), number()), (number(), 0.5, 3.0))
                for frame in (0, 10)
            ],
        )
    )


@pytest.mark.parametrize("seed", range(12))
def test_files_of_huge_numbers_give_finite_results(seed):
    rng = np.random.default_rng(seed)
    file = huge_model(rng)
    model = mmdskin.load_model(pmx.write(file))
    motion = mmdskin.load_motion(huge_motion(file, rng))
    pose = model.pose(motion, FRAMES)
    found = {"matrices": pose.bone_matrices, "weights": pose.morph_weights}
    for f, weights in enumerate(pose.morph_weights):
        found[f"uvs {f}"] = model.uvs_at(weights)
        found[f"uvs1 {f}"] = model.uvs_at(weights, 1)
        found[f"factors {f}"] = np.concatenate(
            [np.ravel(each) for each in model.texture_factors_at(weights)]
        )
        for material in model.materials_at(weights):
            found[f"material {f}"] = np.concatenate(
                [
                    np.ravel(each)
                    for each in material
                    if isinstance(each, (float, tuple, np.ndarray))
                ]
            )
    found["joints"] = model.joint_positions(pose)
    for space in ("world", "local"):
        try:
            found[space] = model.transforms(pose, space)
        except ValueError as error:  # a parent that cannot be inverted
            assert space == "local", error
    for name, each in zip(
        ("position", "target", "up", "fov"), motion.camera_at(FRAMES), strict=True
    ):
        found[name] = each
    for method in METHODS:
        for backend in ("cpu", "cpu:scalar"):
            out = mmdskin.skin(model, pose, method=method, backend=backend)
            found[f"{method} {backend} positions"] = out.positions
            found[f"{method} {backend} normals"] = out.normals
    bad = [name for name, numbers in found.items() if not np.isfinite(numbers).all()]
    assert not bad


def test_numbers_of_files_are_cut_to_the_limit_and_arrays_beyond_it_are_refused():
    file = rigs.source(rigs.bone("a", (3e38, -1e11, LIMIT)))
    model = mmdskin.load_model(pmx.write(file))
    assert model.bones[0].position == (LIMIT, -LIMIT, LIMIT)
    pose = (
        f"Vocaloid Pose Data file\n\na.osm;\n1;\n\nBone0{{a\n{3e38:f},-{1e11:f},3;\n0,0,0,1;\n}}\n"
    )
    assert mmdskin.load_motion(pose.encode()).bones[0].translations[0].tolist() == [
        LIMIT,
        -LIMIT,
        3,
    ]
    far = model.bones[0]._replace(position=(0, 1.5 * LIMIT, 0))
    with pytest.raises(ValueError, match="bone 0: position is beyond 1e10"):
        model.replace(bones=[far])
    with pytest.raises(ValueError, match="component 1 is beyond 1e10"):
        mmdskin.Motion.from_tracks(bones=[("a", [0], [[0, 3e38, 0]], None, None)])
