# SPDX-License-Identifier: MIT
"""The methods against bulges on every backend: check values, the float64 twin, properties."""

import pickle
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial

import mmdskin
import numpy as np
import pytest
from files import locations
from files import pmx_file as pmx
from judges import methods_twin, twin
from judges.test_methods_twin import CASES, PARENTS, QUARTER, SEGMENTS
from sample import model as sample

METHODS = ["bulge_free", "bulge_compensated", "centers_of_rotation"]
CORRECTED = METHODS[:2]


@pytest.fixture(scope="session", params=METHODS)
def method(request):
    return request.param


def one_vertex(v, w1, **changes):
    arguments = dict(segments=SEGMENTS, parents=PARENTS, centers=np.float32([v]) * [0.5, 0, 0])
    return mmdskin.Mesh([v], [[0, 1]], [[1 - w1, w1]], normals=[[0, 1, 0]], **(arguments | changes))


def turn(degrees, about=(0, 0, 1)):
    half = np.radians(degrees) / 2
    m = np.eye(4)
    m[:3, :3] = twin.quaternion_matrix(np.append(np.sin(half) * np.float64(about), np.cos(half)))
    return m


def still(bones):
    return np.tile(np.eye(4, dtype=np.float32), (bones, 1, 1))


@cache
def strip(bones=2):
    """A bent strip of many vertices on a chain of bones along x; every eighth vertex has a slot twice."""
    rng = np.random.default_rng(bones)
    heads = np.arange(bones) * 2.0
    positions = rng.uniform([-1, -1, -1], [2 * bones, 1, 1], (97, 3))
    near = np.argsort(abs(positions[:, :1] - heads - 1), axis=1)[:, : min(bones, 4)]
    weights = rng.uniform(0.05, 1, near.shape)
    weights[::8] = weights[::8, :1]
    segments = np.stack([np.column_stack([heads + d, 0 * heads, 0 * heads]) for d in (0, 2)], 1)
    triangles = rng.integers(0, len(positions), (150, 3))
    return dict(
        positions=positions.astype("f4"),
        bone_indices=near.astype("i4"),
        bone_weights=weights.astype("f4"),
        normals=twin.normalized_or(rng.normal(size=positions.shape)).astype("f4"),
        segments=segments.astype("f4"),
        parents=np.arange(-1, bones - 1, dtype="i4"),
        triangles=triangles.astype("i4"),
    )


def random_pose(bones, seed=0, far=3):
    rng = np.random.default_rng(seed)
    m = still(bones)
    m[:, :3, :3] = twin.quaternion_matrix(twin.normalized_or(rng.normal(size=(bones, 4))))
    m[:, :3, 3] = rng.uniform(-far, far, (bones, 3))
    return m


def judge(file, matrices, weights, method, segments, parents, centers, **options):
    return methods_twin.skin_frame(
        file,
        matrices,
        weights,
        method=method,
        segments=segments,
        parents=parents,
        centers=centers,
        **options,
    )


def without_none(segments):
    """The module's segments in the form of the twin's: NaN for bones without one."""
    segments = np.float64(segments)
    segments[(segments[:, 0] == segments[:, 1]).all(1)] = np.nan
    return segments


@pytest.mark.parametrize("method, v, w1, expected", CASES)
def test_check_values(backend, method, v, w1, expected):
    out = mmdskin.skin(one_vertex(v, w1), QUARTER, method=method, backend=backend)
    assert np.abs(out.positions[0] - expected).max() < 1e-6


@cache
def real(path):
    file = pmx.read(path)
    found = methods_twin.influences(file)
    segments = methods_twin.model_segments(file.bones)
    parents = [bone.parent for bone in file.bones]
    return (
        mmdskin.load_model(path),
        file,
        segments,
        parents,
        methods_twin.centers_of_rotation(file.positions, file.triangles, found),
    )


def test_segments_of_real_models(model_path):
    model, _, segments, _, _ = real(model_path)
    assert np.array_equal(without_none(model.segments), segments.astype("f4"), equal_nan=True)


def test_centers_of_real_models(model_path):
    model, _, _, _, centers = real(model_path)
    apart = abs(model.centers_of_rotation - centers).max(1)
    assert (apart > 2e-5).sum() <= 1e-3 * len(apart)
    assert apart.max(initial=0) < 1e-3


def test_random_poses_of_real_models(model_path, backend, method):
    model, file, *known = real(model_path)
    pose = random_pose(len(file.bones), seed=3, far=1)
    sliders = np.random.default_rng(1).uniform(0, 1, len(file.morphs)).astype("f4")
    out = mmdskin.skin(model, pose, sliders, method=method, backend=backend)
    positions, normals = judge(file, pose, sliders, method, *known)
    assert abs(out.positions - positions).max(initial=0) < 2e-5
    assert abs(out.normals - normals).max(initial=0) < 1e-5


DANCERS = locations.at_hand_of(
    "巡音ルカ.pmx", "初音ミク.pmx", "mmt_test_model.pmx", "初音ミク_sdefr.pmx", own="dancer.pmx"
)
DANCE = locations.at_hand_of("realize_motion.vmd", own="dancer.vmd")[0]


@pytest.mark.parametrize("path", DANCERS, ids=[path.stem for path in DANCERS])
def test_dance_frames(backend, method, path):
    model, file, *known = real(path)
    motion = mmdskin.load_motion(DANCE)
    last = motion.frame_range[1]
    frames = [200, 1000, 3000] if last > 3000 else [last // 5, last // 3, last]
    pose = model.pose(motion, frames)
    out = mmdskin.skin(model, pose, method=method, backend=backend)
    for f in range(3):
        positions, normals = judge(
            file, pose.bone_matrices[f], pose.morph_weights[f], method, *known
        )
        assert abs(out.positions[f] - positions).max() < 2e-5
        assert abs(out.normals[f] - normals).max() < 1e-5


@pytest.mark.parametrize("bones", [2, 3, 5])
@pytest.mark.parametrize("correction", [0, 0.4, 1])
def test_meshes_of_two_to_four_influences(backend, method, bones, correction):
    if correction != 1 and method not in CORRECTED:
        correction = 1.0
    arguments = strip(bones)
    mesh = mmdskin.Mesh(**arguments)
    pose = random_pose(bones, seed=bones)
    out = mmdskin.skin(mesh, pose, method=method, correction=correction, backend=backend)
    plain = {
        name: arguments[name] for name in ("positions", "bone_indices", "bone_weights", "normals")
    }
    file = twin.Mesh(**plain)
    centers = methods_twin.centers_of_rotation(
        arguments["positions"], arguments["triangles"], methods_twin.influences(file)
    )
    positions, normals = judge(
        file, pose, None, method, arguments["segments"], arguments["parents"], centers,
        correction=correction,
    )  # fmt: skip
    assert abs(out.positions - positions).max(initial=0) < 2e-5
    assert abs(out.normals - normals).max(initial=0) < 1e-5


def test_the_rest_pose_is_the_mesh(backend, method):
    model = mmdskin.load_model(sample.build_sample())
    out = mmdskin.skin(model, still(len(model.bones)), method=method, backend=backend)
    assert abs(out.positions - model.positions).max() < 2e-6


def test_a_morph_in_the_rest_pose_is_the_morphed_mesh(backend, method):
    model = mmdskin.load_model(sample.build_sample())
    sliders = np.ones(len(model.morphs), np.float32)
    bones = still(len(model.bones))
    out = mmdskin.skin(model, bones, sliders, method=method, backend=backend)
    expected = mmdskin.skin(model, bones, sliders, method="linear", backend=backend)
    assert abs(out.positions - expected.positions).max() < 2e-6


def test_a_common_rigid_transform_transforms_the_result(backend, method):
    mesh, pose = mmdskin.Mesh(**strip(3)), random_pose(3)
    move = turn(70, (0.6, 0, 0.8)).astype("f4")
    move[:3, 3] = 1, -2, 3
    before = mmdskin.skin(mesh, pose, method=method, backend=backend)
    after = mmdskin.skin(mesh, move @ pose, method=method, backend=backend)
    assert abs(after.positions - (before.positions @ move[:3, :3].T + move[:3, 3])).max() < 2e-5
    assert abs(after.normals - before.normals @ move[:3, :3].T).max() < 1e-5


def test_the_order_of_slots_does_not_matter(backend, method):
    arguments = strip(5)
    reversed_slots = arguments | {
        name: arguments[name][:, ::-1] for name in ("bone_indices", "bone_weights")
    }
    pose = random_pose(5)
    one, other = (
        mmdskin.skin(mmdskin.Mesh(**g), pose, method=method, backend=backend)
        for g in (arguments, reversed_slots)
    )
    assert abs(one.positions - other.positions).max() < 1e-6


def test_one_influence_is_rigid(backend, method):
    mesh = one_vertex((-0.5, -1, 0), 1.0)
    out = mmdskin.skin(mesh, QUARTER, method=method, backend=backend)
    expected = mmdskin.skin(mesh, QUARTER, method="linear", backend=backend)
    assert abs(out.positions - expected.positions).max() < 1e-6


def test_equal_matrices_move_all_vertices_alike(backend, method):
    pose = np.tile(random_pose(1), (3, 1, 1))
    mesh = mmdskin.Mesh(**strip(3))
    out = mmdskin.skin(mesh, pose, method=method, backend=backend)
    expected = mmdskin.skin(mesh, pose, method="linear", backend=backend)
    assert abs(out.positions - expected.positions).max() < 2e-5


@pytest.mark.parametrize("degrees", [179, 181])
def test_q_and_minus_q_are_the_same_rotation(backend, method, degrees):
    """Just beyond half a turn the quaternion changes its sign; the result must not jump."""
    mesh = one_vertex((0.5, -0.8, 0.6), 0.75)
    pose = np.stack([turn(degrees), turn(degrees + 60)])
    out = mmdskin.skin(mesh, pose, method=method, backend=backend)
    back = turn(-degrees)
    straight = mmdskin.skin(mesh, back @ pose, method=method, backend=backend)
    assert abs(out.positions @ back[:3, :3].T - straight.positions).max() < 1e-5


def test_a_mirrored_bone_is_skinned_linearly(backend, method):
    mesh, pose = mmdskin.Mesh(**strip(2)), random_pose(2)
    pose[1, :3, 0] *= -1
    out = mmdskin.skin(mesh, pose, method=method, backend=backend)
    expected = mmdskin.skin(mesh, pose, method="linear", backend=backend)
    assert abs(out.positions - expected.positions).max() < 1e-6
    assert abs(out.normals - expected.normals).max() < 1e-6


@pytest.mark.parametrize("name", CORRECTED)
def test_without_correction_it_equals_dual_quaternions(backend, name):
    mesh, pose = mmdskin.Mesh(**strip(5)), np.stack([turn(25 * i, (0, 0.6, 0.8)) for i in range(5)])
    out = mmdskin.skin(mesh, pose, method=name, correction=0, backend=backend)
    expected = mmdskin.skin(mesh, pose, method="dual_quaternion", backend=backend)
    assert abs(out.positions - expected.positions).max() < 2e-6


def test_a_vertex_on_its_bone_stays_on_it(backend):
    out = mmdskin.skin(one_vertex((-1, 0, 0), 0.125), QUARTER, method="bulge_free", backend=backend)
    assert abs(out.positions[0, 1:]).max() < 1e-6


@pytest.mark.parametrize("name", CORRECTED)
def test_a_bone_without_a_segment_never_corrects(backend, name):
    none = np.zeros_like(SEGMENTS)
    mesh = one_vertex((-0.5, -1, 0), 0.25, segments=none)
    out = mmdskin.skin(mesh, QUARTER, method=name, backend=backend)
    expected = mmdskin.skin(mesh, QUARTER, method="dual_quaternion", backend=backend)
    assert np.array_equal(out.positions, expected.positions)


@pytest.mark.parametrize("triangles", [np.zeros((0, 3), int), [[0, 0, 0]], [[0, 1, 1]] * 3])
def test_without_triangle_area_centers_are_the_vertices(backend, triangles):
    arguments = strip(3) | dict(triangles=triangles)
    mesh, pose = mmdskin.Mesh(**arguments), random_pose(3)
    assert np.array_equal(mesh.centers_of_rotation, arguments["positions"])
    out = mmdskin.skin(mesh, pose, method="centers_of_rotation", backend=backend)
    expected = mmdskin.skin(mesh, pose, method="linear", backend=backend)
    assert abs(out.positions - expected.positions).max() < 2e-5


def test_given_centers_replace_those_of_triangles():
    arguments = strip(3)
    own = arguments["positions"] * np.float32(0.25)
    mesh = mmdskin.Mesh(**arguments, centers=own)
    assert np.array_equal(mesh.centers_of_rotation, own)


def test_cycles_of_parents_are_cut(backend, method):
    mesh = mmdskin.Mesh(**(strip(3) | dict(parents=[2, 0, 1])))
    out = mmdskin.skin(mesh, random_pose(3), method=method, backend=backend)
    assert np.isfinite(out.positions).all()


def test_tangents_are_rotated_and_made_orthogonal(backend, method):
    arguments = strip(3)
    tangents = twin.normalized_or(np.cross(arguments["normals"], [0.3, 0.5, 0.8]))
    mesh = mmdskin.Mesh(**arguments, tangents=tangents)
    out = mmdskin.skin(mesh, random_pose(3), method=method, tangents=True, backend=backend)
    assert abs((out.tangents * out.normals).sum(1)).max() < 1e-5
    assert abs(np.linalg.norm(out.tangents, axis=1) - 1).max() < 1e-5


def test_a_batch_equals_its_frames(backend, method):
    mesh, poses = mmdskin.Mesh(**strip(5)), np.stack([random_pose(5, seed) for seed in range(5)])
    out = mmdskin.skin(mesh, poses, method=method, backend=backend)
    for f, pose in enumerate(poses):
        alone = mmdskin.skin(mesh, pose, method=method, backend=backend)
        assert np.array_equal(out.positions[f], alone.positions)


@pytest.mark.parametrize(
    "method, missing, says",
    [
        ("centers_of_rotation", ["triangles"], "needs triangles or centers, the mesh has neither"),
        ("bulge_free", ["parents"], "needs segments and parents, the mesh has no parents"),
        ("bulge_compensated", ["segments"], "needs segments and parents, the mesh has no segments"),
        ("bulge_free", ["segments", "parents"], "needs segments and parents, the mesh has neither"),
    ],
)
def test_a_mesh_without_the_data_of_a_method_is_an_error(method, missing, says):
    mesh = mmdskin.Mesh(**{k: v for k, v in strip(2).items() if k not in missing})
    with pytest.raises(ValueError, match=f'method: "{method}" {says}'):
        mmdskin.skin(mesh, still(2), method=method)


@pytest.mark.parametrize(
    "argument, value, says",
    [
        ("triangles", [[0, 1, 97]], "triangles: triangle 0: vertex 97 of 97"),
        ("triangles", [[0, 1, 2], [0, -1, 2]], "triangles: triangle 1: vertex -1 of 97"),
        ("centers", np.full((97, 3), np.nan), "centers: vertex 0, component 0 is NaN"),
        ("segments", np.zeros((1, 2, 3)), "segments: 1, expected at least 2"),
        ("segments", np.full((2, 2, 3), np.inf), "segments: bone 0, component 0 is infinite"),
        ("parents", [-1], "parents: 1, expected at least 2"),
        ("parents", [-1, 99], "parents: bone 1: parent 99 of 2"),
        ("parents", [-2, 0], "parents: bone 0: parent -2 of 2"),
    ],
)
def test_invalid_arguments_of_a_mesh(argument, value, says):
    with pytest.raises(ValueError, match=says):
        mmdskin.Mesh(**(strip(2) | {argument: value}))


@pytest.mark.parametrize("value", [1.5, -0.1, float("nan")])
def test_a_correction_out_of_range(value):
    with pytest.raises(ValueError, match=f"correction: {value}, expected 0 to 1"):
        mmdskin.skin(mmdskin.Mesh(**strip(2)), still(2), method="bulge_free", correction=value)


@pytest.mark.parametrize(
    "value, kind, says",
    [
        ("1", TypeError, "correction: expected a number, not <class 'str'>"),
        (None, TypeError, "correction: expected a number, not <class 'NoneType'>"),
        (10**400, ValueError, "correction: 1.* is too large"),
    ],
)
def test_a_correction_that_is_not_a_number(value, kind, says):
    with pytest.raises(kind, match=says):
        mmdskin.skin(mmdskin.Mesh(**strip(2)), still(2), method="bulge_free", correction=value)


def test_the_error_for_an_unknown_method_lists_the_known_ones():
    with pytest.raises(ValueError, match='"bulgefree" is unknown, expected "mmd", .*"bulge_free"'):
        mmdskin.skin(mmdskin.Mesh(**strip(2)), still(2), method="bulgefree")


@pytest.mark.parametrize("name", ["mmd", "linear", "dual_quaternion", "centers_of_rotation"])
def test_a_correction_without_effect_is_an_error(name):
    with pytest.raises(ValueError, match=f'correction: 0.5 is not used by method "{name}"'):
        mmdskin.skin(mmdskin.Mesh(**strip(2)), still(2), method=name, correction=0.5)


def test_a_mesh_without_triangles_has_no_centers():
    with pytest.raises(ValueError, match="needs triangles or centers"):
        _ = one_vertex((0, 0, 0), 0.5, centers=None).centers_of_rotation


def test_pickled_meshes_and_models_give_the_same(method):
    mesh, pose = mmdskin.Mesh(**strip(3)), random_pose(3)
    again = pickle.loads(pickle.dumps(mesh))
    expected = mmdskin.skin(mesh, pose, method=method)
    assert np.array_equal(mmdskin.skin(again, pose, method=method).positions, expected.positions)


def transition(columns):
    """A strip from (0, 0) to (1, 1) that goes over from one bone to another, a row at y 0 and 1."""
    x = np.linspace(0, 1, columns)
    positions = np.stack([np.repeat(x, 2), np.tile([0, 1], columns), np.zeros(2 * columns)], 1)
    first = 2 * np.arange(columns - 1)[:, None]
    triangles = np.concatenate([first + [0, 1, 2], first + [1, 3, 2]])
    weights = np.stack([1 - positions[:, 0], positions[:, 0]], 1)
    return positions, np.tile([0, 1], (2 * columns, 1)), weights, triangles


def test_centers_of_more_vertices_than_can_be_compared():
    """5 * 10^9 comparisons without merging parts. The integral of the strip, in one dimension."""
    positions, bones, weights, triangles = transition(50_000)
    found = mmdskin.Mesh(positions, bones, weights, triangles=triangles).centers_of_rotation
    x = (np.arange(20_000) + 0.5) / 20_000
    for at in (1000, 30_000, 50_000, 90_000):
        b0, b1 = weights[at]
        similarity = x * (1 - x) * np.exp(-(((b0 * x - b1 * (1 - x)) / 0.1) ** 2))
        expected = [(similarity * x).sum() / similarity.sum(), 0.5, 0]
        assert np.allclose(found[at], expected, atol=2e-3), (at, found[at], expected)


def test_concurrent_first_uses_get_the_same_centers():
    model = mmdskin.load_model(locations.at_hand_of("初音ミク.pmx", own="dancer.pmx")[0])
    with ThreadPoolExecutor(8) as pool:
        views = list(pool.map(lambda _: model.centers_of_rotation, range(8)))
    assert len({view.__array_interface__["data"][0] for view in views}) == 1


def are_seen_amid(path):
    """Whether this thread runs while another thread computes centers.

    C calls C there, so Python itself does not release its lock.
    """
    model, marks = mmdskin.load_model(path), []
    calls = [partial(str, "begun"), partial(getattr, model, "centers_of_rotation")]
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(marks.extend, map(partial.__call__, calls))
        while not call.done():
            if len(marks) == 1:
                return True
            time.sleep(0)
    return False


def test_other_threads_run_while_centers_are_computed():
    """Once is enough: with the lock held it never would, and on a busy machine it does not each time."""
    path = locations.at_hand_of("巡音ルカ.pmx", own="dancer.pmx")[0]
    assert any(are_seen_amid(path) for _ in range(50))


def test_views_of_centers_and_segments_keep_their_model():
    model = mmdskin.load_model(sample.build_sample())
    centers, segments = model.centers_of_rotation, model.segments
    copies = centers.copy(), segments.copy()
    del model
    assert np.array_equal(centers, copies[0])
    assert np.array_equal(segments, copies[1])
    assert not centers.flags.writeable
