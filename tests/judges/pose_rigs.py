# SPDX-License-Identifier: MIT
"""Small models of bones for tests of poses, and real models with their motions."""

import json
from functools import cache

import mmdskin
import numpy as np
from conftest import published_file, recorded_file
from files import locations
from files import motion_file as mf
from files import pmd_file as pmd
from files import pmx_file as pmx
from judges import pose_twin as twin

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
    """(translations, rotations) of a model: all at rest except those given by index."""
    t = np.zeros((len(model.bones), 3), np.float32)
    q = np.tile(np.float32([0, 0, 0, 1]), (len(model.bones), 1))
    for i, value in (moves or {}).items():
        t[i] = value
    for i, value in (turns or {}).items():
        q[i] = value
    return t, q


def pose_of(model, turns=None, moves=None, weights=None, ik=False):
    """The pose with these local values."""
    return model.pose_from(*locals_of(model, turns, moves), weights, ik=ik)


def posed(model, *args, **members):
    """Skinning matrices for these local values."""
    return pose_of(model, *args, **members).bone_matrices


def worlds(model, pose):
    """World matrices (…,B,4,4) of a pose, in float64."""
    m = pose.bone_matrices.astype(np.float64)
    m[..., :3, 3] = twin.origins(m, rest(model))
    return m


def turn_of(matrix):
    """The unit quaternion of a matrix, w not negative."""
    q = twin.quaternions(np.asarray(matrix, np.float64)[None, :3, :3])[0]
    return -q if q[3] < 0 else q


def assert_turn(matrix, q, atol=2e-6):
    wanted = twin.normalized(q)
    found = turn_of(matrix)
    np.testing.assert_allclose(found * np.sign(found @ wanted), wanted, atol=atol)


def assert_rigid(matrices, atol=1e-5):
    """All matrices are finite, and rotations within 1e-5."""
    m = np.asarray(matrices)
    assert np.isfinite(m).all()
    assert (m[..., 3, :] == (0, 0, 0, 1)).all()
    r = m[..., :3, :3].reshape(-1, 3, 3)
    product = np.matmul(r, r.transpose(0, 2, 1))
    assert abs(product - np.eye(3, dtype=m.dtype)).max(initial=0) <= atol
    assert abs(np.linalg.det(r) - 1).max(initial=0) <= atol


def random_rig(r, count):
    """Parents before and after their children, layers, appends of all kinds, IK, bone morphs."""
    order = r.permutation(count).tolist()
    bones = [None] * count
    for k, i in enumerate(order):
        parent = order[r.integers(k)] if k and r.random() < 0.9 else -1
        bones[i] = b = bone(str(i), r.uniform(-3, 3, 3), parent)
        b.layer = int(r.choice([0, 0, 0, 1, 2, -1, 2**31 - 1, -(2**31)]))
        b.after_physics = bool(r.random() < 0.1)
        if r.random() < 0.1:
            b.fixed_axis = tuple(r.normal(size=3))
        if k and r.random() < 0.5:
            channels = [(True, False), (False, True), (True, True)][r.integers(3)]
            ratio = float(r.choice([1, 0.5, -1, 2, 0, r.uniform(-2, 2)]))
            b.append = pmx.Append(order[r.integers(k)], ratio, *channels, bool(r.random() < 0.2))
        if r.random() < 0.3:
            links = [_random_link(r, count) for _ in range(r.integers(4))]
            unit = float(r.choice([0, 0.1, 1, 4]))
            b.ik = ik(int(r.integers(count)), links, int(r.integers(12)), unit)
    some = [[(int(r.integers(count)), *r.normal(size=7)) for _ in range(3)] for _ in range(3)]
    morphs = [morph(f"m{i}", "bone", *offsets) for i, offsets in enumerate(some)]
    return source(*bones, morphs=[*morphs, morph("g", "group", (0, 0.5), (2, -0.7))])


def _random_link(r, count):
    i = int(r.integers(count))
    if r.random() < 0.7:
        return i
    used = r.random(3) < 0.6
    return i, (tuple(r.uniform(-2, 0.3, 3) * used), tuple(r.uniform(-0.3, 2, 3) * used))


def random_locals(r, model, frames):
    """(translations, rotations, weights) of some frames."""
    bones = frames, len(model.bones)
    t, q = r.normal(size=(*bones, 3)), r.normal(size=(*bones, 4))
    return (
        t.astype("f4"),
        q.astype("f4"),
        r.uniform(-1, 2, (frames, len(model.morphs))).astype("f4"),
    )


# The real files, each read once


def reference_files(*parts):
    """Names of reference poses that contain one of the parts; if there is none, a name that skips."""
    found = sorted(path.stem for path in (locations.SHARED / "reference").glob("*.npz"))
    return [name for name in found if any(part in name for part in parts)] or [f"*{parts[0]}*"]


@cache
def reference(name):
    with np.load(recorded_file(f"{name}.npz")) as file:
        arrays = {key: file[key] for key in file.files}
    arrays["meta"] = json.loads(str(arrays["meta"])) if "meta" in arrays else None
    return arrays


def dance():
    """A model with IK and its dance: published ones, or our own where those are not at hand."""
    path = locations.at_hand_of("初音ミク.pmx", own="dancer.pmx")[0]
    played = locations.at_hand_of("realize_motion.vmd", own="dancer.vmd")[0]
    return model(path.name), motion(played.name)


@cache
def model(file_name):
    return mmdskin.load_model(published_file(file_name))


@cache
def motion(file_name):
    return mmdskin.load_motion(published_file(file_name))


@cache
def source_model(file_name):
    """The same files, read by the independent readers, as PMX."""
    reader = pmd.read_as_pmx if file_name.endswith(".pmd") else pmx.read
    return reader(published_file(file_name))


@cache
def source_motion(file_name):
    return mf.read(published_file(file_name))
