# SPDX-License-Identifier: MIT
"""Small models made of bones, for tests of poses, and the real ones with their motions."""

import json
from functools import cache

import mmdskin
import motion_file as mf
import numpy as np
import pmd_file as pmd
import pmx_file as pmx
import pose_twin as twin
from conftest import SHARED

DEGREE = np.pi / 180
KNEE = ((-180 * DEGREE, 0, 0), (-0.5 * DEGREE, 0, 0))


def bone(name, position=(0, 0, 0), parent=-1, **members):
    return pmx.Bone(name, position=tuple(map(float, position)), parent=parent, **members)


def ik(target, links, loops=20, unit=2.0):
    """Links: bones, or (bone, (lower, upper))."""
    pairs = [link if isinstance(link, tuple) else (link, (None, None)) for link in links]
    return pmx.IK(target, loops, unit, [pmx.IKLink(i, *limits) for i, limits in pairs])


def source(*bones, morphs=(), **members):
    return pmx.PMX(2.1, bones=list(bones), morphs=list(morphs), **members)


def model_of(*bones, morphs=(), **members):
    return mmdskin.load_model(pmx.write(source(*bones, morphs=morphs, **members)))


def morph(name, kind, *offsets):
    """Offsets: (index, value, value, …)."""
    number = pmx.MORPH_KINDS.index(kind)
    values = np.array([o[1:] for o in offsets], np.float32)
    values = values.reshape(len(offsets), pmx.MORPH_COLUMNS[number])
    return pmx.Morph(
        name, kind=number, indices=np.array([o[0] for o in offsets], int), values=values
    )


def motion_of(*bones, morphs=(), properties=()):
    return mmdskin.load_motion(mf.write_vmd(mf.Keys("", bones, morphs, properties=properties)))


def rest(model):
    return np.array([b.position for b in model.bones], np.float64).reshape(-1, 3)


def locals_of(model, turns=None, moves=None):
    """(translations, rotations) of a model: all at rest but those named by index."""
    t = np.zeros((len(model.bones), 3), np.float32)
    q = np.tile(np.float32([0, 0, 0, 1]), (len(model.bones), 1))
    for i, value in (moves or {}).items():
        t[i] = value
    for i, value in (turns or {}).items():
        q[i] = value
    return t, q


def posed(model, turns=None, moves=None, weights=None, ik=False):
    """Skinning matrices of local values."""
    return model.pose_from(*locals_of(model, turns, moves), weights, ik=ik).bone_matrices


def turn_of(matrix):
    """The unit quaternion of a matrix, w not negative."""
    q = twin.quaternions(np.asarray(matrix, np.float64)[None, :3, :3])[0]
    return -q if q[3] < 0 else q


def assert_turn(matrix, q, atol=2e-6):
    wanted = np.asarray(q, np.float64) / np.linalg.norm(q)
    found = turn_of(matrix)
    np.testing.assert_allclose(found * np.sign(found @ wanted), wanted, atol=atol)


def assert_rigid(matrices, atol=1e-5):
    """Finite, and rotations to 1e-5."""
    m = np.asarray(matrices)
    assert np.isfinite(m).all()
    assert (m[..., 3, :] == (0, 0, 0, 1)).all()
    r = m[..., :3, :3].reshape(-1, 3, 3)
    product = np.matmul(r, r.transpose(0, 2, 1))
    assert abs(product - np.eye(3, dtype=m.dtype)).max(initial=0) <= atol
    assert abs(np.linalg.det(r) - 1).max(initial=0) <= atol


# The real files, each read once


def reference_files(*parts):
    """Names of the reference poses that contain one of the parts."""
    found = sorted(path.stem for path in SHARED.glob("reference/*.npz"))
    return [name for name in found if any(part in name for part in parts)]


@cache
def reference(name):
    with np.load(SHARED / f"reference/{name}.npz") as file:
        arrays = {key: file[key] for key in file.files}
    arrays["meta"] = json.loads(str(arrays["meta"])) if "meta" in arrays else None
    return arrays


@cache
def path_of(file_name):
    return next(SHARED.glob(f"models/**/{file_name}"))


@cache
def model(file_name):
    return mmdskin.load_model(path_of(file_name))


@cache
def motion(file_name):
    return mmdskin.load_motion(path_of(file_name))


@cache
def source_model(file_name):
    """The same by the independent readers, as PMX."""
    reader = pmd.read_as_pmx if file_name.endswith(".pmd") else pmx.read
    return reader(path_of(file_name))


@cache
def source_motion(file_name):
    return mf.read(path_of(file_name))
