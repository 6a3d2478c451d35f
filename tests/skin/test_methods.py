# SPDX-License-Identifier: MIT
"""The methods against bulges on every backend: check values, the float64 twin, properties."""

import pickle
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import NamedTuple

import mmdskin
import numpy as np
import pytest
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
    given = dict(segments=SEGMENTS, parents=PARENTS, centers=np.float32([v]) * [0.5, 0, 0])
    return mmdskin.Mesh([v], [[0, 1]], [[1 - w1, w1]], normals=[[0, 1, 0]], **(given | changes))


def turn(degrees, about=(0, 0, 1)):
    half = np.radians(degrees) / 2
    m = np.eye(4)
    m[:3, :3] = twin.quaternion_matrix(np.append(np.sin(half) * np.float64(about), np.cos(half)))
    return m


def still(bones):
    return np.tile(np.eye(4, dtype=np.float32), (bones, 1, 1))


@cache
def strip(bones=2):
    """A bent strip of many vertices on a chain of bones along x, every eighth with two alike."""
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
        normals=twin.unit_or(rng.normal(size=positions.shape)).astype("f4"),
        segments=segments.astype("f4"),
        parents=np.arange(-1, bones - 1, dtype="i4"),
        triangles=triangles.astype("i4"),
    )


def random_pose(bones, seed=0, far=3):
    rng = np.random.default_rng(seed)
    m = still(bones)
    m[:, :3, :3] = twin.quaternion_matrix(twin.unit_or(rng.normal(size=(bones, 4))))
    m[:, :3, 3] = rng.uniform(-far, far, (bones, 3))
    return m


def judge(file, matrices, weights, method, segments, parents, centres, **options):
    return methods_twin.skin_frame(
        file,
        matrices,
        weights,
        method=method,
        segments=segments,
        parents=parents,
        centres=centres,
        **options,
    )


def without_none(segments):
    """The module's segments as the twin has them: NaN where there is none."""
    segments = np.float64(segments)
    segments[(segments[:, 0] == segments[:, 1]).all(1)] = np.nan
    return segments


@pytest.mark.parametrize("method, v, w1, wanted", CASES)
def test_check_values(backend, method, v, w1, wanted):
    out = mmdskin.skin(one_vertex(v, w1), QUARTER, method=method, backend=backend)
    assert np.abs(out.positions[0] - wanted).max() < 1e-6


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
        methods_twin.centers(file.positions, file.triangles, found),
    )


def test_segments_of_real_models(model_path):
    model, _, segments, _, _ = real(model_path)
    assert np.array_equal(without_none(model.segments), segments.astype("f4"), equal_nan=True)


def test_centers_of_real_models(model_path):
    model, _, _, _, centres = real(model_path)
    apart = abs(model.centers_of_rotation - centres).max(1)
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


@pytest.mark.parametrize("name", ["巡音ルカ", "初音ミク", "mmt_test_model", "初音ミク_sdefr"])
def test_dance_frames(shared, backend, method, name):
    model, file, *known = real(shared / "models" / f"{name}.pmx")
    pose = model.pose(mmdskin.load_motion(shared / "models/realize_motion.vmd"), [200, 1000, 3000])
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
    given = strip(bones)
    mesh = mmdskin.Mesh(**given)
    pose = random_pose(bones, seed=bones)
    out = mmdskin.skin(mesh, pose, method=method, correction=correction, backend=backend)
    plain = {name: given[name] for name in ("positions", "bone_indices", "bone_weights", "normals")}
    file = twin.Mesh(**plain)
    centres = methods_twin.centers(
        given["positions"], given["triangles"], methods_twin.influences(file)
    )
    positions, normals = judge(
        file, pose, None, method, given["segments"], given["parents"], centres,
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
    wanted = mmdskin.skin(model, bones, sliders, method="linear", backend=backend)
    assert abs(out.positions - wanted.positions).max() < 2e-6


def test_one_rigid_transform_moves_the_result(backend, method):
    mesh, pose = mmdskin.Mesh(**strip(3)), random_pose(3)
    move = turn(70, (0.6, 0, 0.8)).astype("f4")
    move[:3, 3] = 1, -2, 3
    before = mmdskin.skin(mesh, pose, method=method, backend=backend)
    after = mmdskin.skin(mesh, move @ pose, method=method, backend=backend)
    assert abs(after.positions - (before.positions @ move[:3, :3].T + move[:3, 3])).max() < 2e-5
    assert abs(after.normals - before.normals @ move[:3, :3].T).max() < 1e-5


def test_the_order_of_slots_does_not_matter(backend, method):
    given = strip(5)
    turned = given | {name: given[name][:, ::-1] for name in ("bone_indices", "bone_weights")}
    pose = random_pose(5)
    one, other = (
        mmdskin.skin(mmdskin.Mesh(**g), pose, method=method, backend=backend)
        for g in (given, turned)
    )
    assert abs(one.positions - other.positions).max() < 1e-6


def test_one_influence_is_rigid(backend, method):
    mesh = one_vertex((-0.5, -1, 0), 1.0)
    out = mmdskin.skin(mesh, QUARTER, method=method, backend=backend)
    wanted = mmdskin.skin(mesh, QUARTER, method="linear", backend=backend)
    assert abs(out.positions - wanted.positions).max() < 1e-6


def test_equal_matrices_move_all_alike(backend, method):
    pose = np.tile(random_pose(1), (3, 1, 1))
    mesh = mmdskin.Mesh(**strip(3))
    out = mmdskin.skin(mesh, pose, method=method, backend=backend)
    wanted = mmdskin.skin(mesh, pose, method="linear", backend=backend)
    assert abs(out.positions - wanted.positions).max() < 2e-5


@pytest.mark.parametrize("degrees", [179, 181])
def test_q_and_minus_q_are_the_same_rotation(backend, method, degrees):
    """Just past half a turn the bone's quaternion has the other sign: nothing may jump."""
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
    wanted = mmdskin.skin(mesh, pose, method="linear", backend=backend)
    assert abs(out.positions - wanted.positions).max() < 1e-6
    assert abs(out.normals - wanted.normals).max() < 1e-6


@pytest.mark.parametrize("name", CORRECTED)
def test_without_correction_it_is_dual_quaternions(backend, name):
    mesh, pose = mmdskin.Mesh(**strip(5)), np.stack([turn(25 * i, (0, 0.6, 0.8)) for i in range(5)])
    out = mmdskin.skin(mesh, pose, method=name, correction=0, backend=backend)
    wanted = mmdskin.skin(mesh, pose, method="dual_quaternion", backend=backend)
    assert abs(out.positions - wanted.positions).max() < 2e-6


def test_a_vertex_on_its_bone_stays_on_it(backend):
    out = mmdskin.skin(one_vertex((-1, 0, 0), 0.125), QUARTER, method="bulge_free", backend=backend)
    assert abs(out.positions[0, 1:]).max() < 1e-6


@pytest.mark.parametrize("name", CORRECTED)
def test_a_bone_without_a_segment_never_corrects(backend, name):
    none = np.zeros_like(SEGMENTS)
    mesh = one_vertex((-0.5, -1, 0), 0.25, segments=none)
    out = mmdskin.skin(mesh, QUARTER, method=name, backend=backend)
    wanted = mmdskin.skin(mesh, QUARTER, method="dual_quaternion", backend=backend)
    assert np.array_equal(out.positions, wanted.positions)


@pytest.mark.parametrize("triangles", [np.zeros((0, 3), int), [[0, 0, 0]], [[0, 1, 1]] * 3])
def test_without_triangles_that_have_an_area_centres_are_the_vertices(backend, triangles):
    given = strip(3) | dict(triangles=triangles)
    mesh, pose = mmdskin.Mesh(**given), random_pose(3)
    assert np.array_equal(mesh.centers_of_rotation, given["positions"])
    out = mmdskin.skin(mesh, pose, method="centers_of_rotation", backend=backend)
    wanted = mmdskin.skin(mesh, pose, method="linear", backend=backend)
    assert abs(out.positions - wanted.positions).max() < 2e-5


def test_centers_of_ones_own_win_over_triangles():
    given = strip(3)
    own = given["positions"] * np.float32(0.25)
    mesh = mmdskin.Mesh(**given, centers=own)
    assert np.array_equal(mesh.centers_of_rotation, own)


def test_parents_that_run_in_a_circle_are_cut_where_they_close(backend, method):
    mesh = mmdskin.Mesh(**(strip(3) | dict(parents=[2, 0, 1])))
    out = mmdskin.skin(mesh, random_pose(3), method=method, backend=backend)
    assert np.isfinite(out.positions).all()


def test_tangents_are_turned_and_made_orthogonal(backend, method):
    given = strip(3)
    tangents = twin.unit_or(np.cross(given["normals"], [0.3, 0.5, 0.8]))
    mesh = mmdskin.Mesh(**given, tangents=tangents)
    out = mmdskin.skin(mesh, random_pose(3), method=method, tangents=True, backend=backend)
    assert abs((out.tangents * out.normals).sum(1)).max() < 1e-5
    assert abs(np.linalg.norm(out.tangents, axis=1) - 1).max() < 1e-5


def test_a_batch_is_its_frames(backend, method):
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
def test_a_mesh_that_lacks_what_a_method_needs(method, missing, says):
    mesh = mmdskin.Mesh(**{k: v for k, v in strip(2).items() if k not in missing})
    with pytest.raises(ValueError, match=f'method: "{method}" {says}'):
        mmdskin.skin(mesh, still(2), method=method)


@pytest.mark.parametrize(
    "argument, value, says",
    [
        ("triangles", [[0, 1, 97]], "triangles: triangle 0: vertex 97 of 97"),
        ("triangles", [[0, 1, 2], [0, -1, 2]], "triangles: triangle 1: vertex -1 of 97"),
        ("centers", np.full((97, 3), np.nan), "centers: vertex 0, component 0 is NaN"),
        ("segments", np.zeros((1, 2, 3)), "segments: 1 bones, the mesh names 2"),
        ("segments", np.full((2, 2, 3), np.inf), "segments: bone 0, component 0 is infinite"),
        ("parents", [-1], "parents: 1 bones, the mesh names 2"),
        ("parents", [-1, 99], "parents: bone 1: parent 99 of 2"),
        ("parents", [-2, 0], "parents: bone 0: parent -2 of 2"),
    ],
)
def test_wrong_arguments_of_a_mesh(argument, value, says):
    with pytest.raises(ValueError, match=says):
        mmdskin.Mesh(**(strip(2) | {argument: value}))


@pytest.mark.parametrize("value", [1.5, -0.1, float("nan")])
def test_a_correction_outside_of_its_range(value):
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
def test_a_correction_that_is_no_number(value, kind, says):
    with pytest.raises(kind, match=says):
        mmdskin.skin(mmdskin.Mesh(**strip(2)), still(2), method="bulge_free", correction=value)


def test_an_unknown_method_is_told_the_known_ones():
    with pytest.raises(ValueError, match='"bulgefree" is unknown, expected "mmd", .*"bulge_free"'):
        mmdskin.skin(mmdskin.Mesh(**strip(2)), still(2), method="bulgefree")


@pytest.mark.parametrize("name", ["mmd", "linear", "dual_quaternion", "centers_of_rotation"])
def test_a_correction_that_has_no_meaning(name):
    with pytest.raises(ValueError, match=f'correction: 0.5 has no meaning for method "{name}"'):
        mmdskin.skin(mmdskin.Mesh(**strip(2)), still(2), method=name, correction=0.5)


def test_a_mesh_without_triangles_has_no_centres():
    with pytest.raises(ValueError, match="needs triangles or centers"):
        _ = one_vertex((0, 0, 0), 0.5, centers=None).centers_of_rotation


def test_pickled_meshes_and_models_give_the_same(method):
    mesh, pose = mmdskin.Mesh(**strip(3)), random_pose(3)
    again = pickle.loads(pickle.dumps(mesh))
    wanted = mmdskin.skin(mesh, pose, method=method)
    assert np.array_equal(mmdskin.skin(again, pose, method=method).positions, wanted.positions)


def test_threads_that_meet_at_the_first_use_get_the_same_centres(shared):
    model = mmdskin.load_model(shared / "models/初音ミク.pmx")
    with ThreadPoolExecutor(8) as pool:
        views = list(pool.map(lambda _: model.centers_of_rotation, range(8)))
    assert len({view.__array_interface__["data"][0] for view in views}) == 1


def are_seen_amid(path):
    """Whether this thread runs after another has begun to make centres and before it has them.

    There C calls C, so that Python itself gives the lock to nobody.
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


def test_other_threads_go_on_while_centres_are_made(shared):
    """Seen once is enough: never, were the lock held; on a busy machine not each time."""
    assert any(are_seen_amid(shared / "models/巡音ルカ.pmx") for _ in range(50))


def test_views_of_centres_and_segments_keep_their_model():
    model = mmdskin.load_model(sample.build_sample())
    centres, segments = model.centers_of_rotation, model.segments
    copies = centres.copy(), segments.copy()
    del model
    assert np.array_equal(centres, copies[0])
    assert np.array_equal(segments, copies[1])
    assert not centres.flags.writeable


def edges(triangles):
    pairs = np.concatenate([triangles[:, [k, (k + 1) % 3]] for k in range(3)])
    return np.unique(np.sort(pairs, 1), axis=0)


# Edges a frame of a dance that are twice as long as under dual quaternions, which presses some; of
# these, longer than at rest; and twice as long as that: docs/methods.md#method-dance.
LONGER = {
    "bulge_free": (0.1, 0.05, 0),
    "bulge_compensated": (1.1, 0.3, 0.05),
    "centers_of_rotation": (5, 0.3, 0.1),
}
COARSE = {"mmt_test_model": {"centers_of_rotation": (5, 4.5, 3)}}


class Dance(NamedTuple):
    name: str
    model: mmdskin.Model
    pose: mmdskin.Pose
    edges: np.ndarray  # (E,2) vertices
    rest: np.ndarray  # (E,) lengths
    dual: np.ndarray  # (F,E) under dual quaternions


def edge_lengths(positions, pairs):
    first, second = pairs.T
    return np.linalg.norm(positions[..., first, :] - positions[..., second, :], axis=-1)


@pytest.fixture(
    scope="module", params=["巡音ルカ.pmx", "初音ミク.pmx", "miku_v2.pmd", "mmt_test_model.pmx"]
)
def danced(request, shared):
    path = shared / "models" / request.param
    model = mmdskin.load_model(path)
    motion = mmdskin.load_motion(shared / "models/realize_motion.vmd")
    pose = model.pose(motion, np.linspace(*motion.frame_range, 200).round())
    out = mmdskin.skin(model, pose, method="dual_quaternion", normals=False)
    pairs = edges(model.triangles)
    lengths = (edge_lengths(positions, pairs) for positions in (model.positions, out.positions))
    return Dance(path.stem, model, pose, pairs, *lengths)


def longer_edges(danced, method):
    """(F,E) lengths, and which are more than twice those under dual quaternions."""
    out = mmdskin.skin(danced.model, danced.pose, method=method, normals=False)
    found = edge_lengths(out.positions, danced.edges)
    return found, (found > 2 * danced.dual) & (danced.rest > 0)


def test_a_dance_tears_hardly_an_edge(danced, method):
    found, longer = longer_edges(danced, method)
    limits = COARSE.get(danced.name, {}).get(method, LONGER[method])
    for times, most in zip((0, 1, 2), limits, strict=True):
        assert (longer & (found > times * danced.rest)).sum() <= most * len(found)


def test_bulge_free_stretches_edges_only_where_bones_do_not_meet(danced):
    """At hips and shoulders, where the vertices' leading bones have other segments to go back to."""
    found, longer = longer_edges(danced, "bulge_free")
    stretched = (longer & (found > danced.rest)).any(0)
    for edge in danced.edges[stretched]:
        index, weights = danced.model.bone_indices[edge], danced.model.bone_weights[edge]
        ends = [danced.model.segments[bone] for bone in np.unique(index[weights > 0])]
        apart = [
            np.linalg.norm(one[:, None] - other, axis=-1).min()
            for i, one in enumerate(ends)
            for other in ends[:i]
        ]
        assert max(apart) > 0.5


def test_centers_of_rotation_tear_only_edges_whose_ends_have_other_bones(danced):
    """Equal sets of bones have centres near each other; others are compared with other surfaces."""
    found, longer = longer_edges(danced, "centers_of_rotation")
    torn = (longer & (found > 2 * danced.rest)).any(0)
    index, weights = danced.model.bone_indices, danced.model.bone_weights
    for one, other in danced.edges[torn]:
        assert {*index[one][weights[one] > 0]} != {*index[other][weights[other] > 0]}
