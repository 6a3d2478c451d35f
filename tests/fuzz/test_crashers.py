# SPDX-License-Identifier: MIT
"""Small files that once broke a promise; the fuzzer replays them too (tests/check/fuzz.sh)."""

import lzma
from pathlib import Path

import mmdskin
import numpy as np
import pytest

CRASHERS = sorted((Path(__file__).parent / "crashers").glob("*/*"))


def of(target):
    files = [path for path in CRASHERS if path.parent.name == target]
    return pytest.mark.parametrize("path", files, ids=[path.name for path in files])


@of("model")
def test_models_that_broke_a_guarantee_are_rejected_or_valid(path):
    try:
        model = mmdskin.load_model(path)
    except mmdskin.FormatError:
        return
    for bone in model.bones:
        assert bone.fixed_axis is None or np.isfinite(bone.fixed_axis).all()
        assert bone.ik is None or np.isfinite(bone.ik.unit_angle)
    pose = model.pose(None, [0, 1])
    assert np.isfinite(pose.bone_matrices).all()
    assert np.isfinite(mmdskin.skin(model, pose, backend="cpu").positions).all()


@of("pose")
def test_poses_that_broke_a_guarantee_are_finite(path):
    model = mmdskin.load_model(path)
    for weights in 3.4e38 * np.eye(len(model.morphs)):
        assert np.isfinite(model.pose_from({}, morph_weights=weights).bone_matrices).all()


@of("motion")
def test_motions_that_broke_a_guarantee_are_rejected_or_valid(path):
    """The names of vmd_hash_flood have one hash; how long they take, test_hostile_files.py says."""
    data = path.read_bytes()
    if path.suffix == ".xz":
        data = lzma.decompress(data)
    try:
        motion = mmdskin.load_motion(data)
    except mmdskin.FormatError:
        return
    for track in motion.morphs:
        assert track.frames.tolist() == sorted(set(track.frames)), track.name
        assert np.isfinite(track.weights).all()
