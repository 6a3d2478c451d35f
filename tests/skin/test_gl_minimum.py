# SPDX-License-Identifier: MIT
"""Results by a driver that grants just what OpenGL 4.3 guarantees: what one grants beyond it, others refuse."""

import shutil
import subprocess

import mmdskin
import numpy as np
import pytest
from files import locations
from gl_scripts import python
from skin import gl_pictures

MIXED = """
import itertools

rng = np.random.default_rng(5)
bones, count = 8, 5
turns, _ = np.linalg.qr(rng.normal(size=(count, bones, 3, 3)))
matrices = np.tile(np.eye(4), (count, bones, 1, 1))
matrices[..., :3, :3] = turns * np.linalg.det(turns)[..., None, None]
matrices[..., :3, 3] = rng.normal(size=(count, bones, 3))
sliders = rng.random((count, 2))


def mixed(n=400, tangents=3):
    '''All deform types, with 0 to 4 influences.'''
    indices = rng.integers(0, bones, (n, 4))
    indices[np.arange(4) >= rng.integers(0, 5, (n, 1))] = -1
    ends = rng.normal(size=(bones, 2, 3))
    tangent = rng.normal(size=(n, tangents))
    tangent[:, 3:] = 1
    half = n // 2
    return mmdskin.Mesh(
        rng.normal(size=(n, 3)), indices, rng.random((n, 4)), deform=rng.integers(0, 5, n),
        sdef=rng.normal(size=(n, 3, 3)), normals=rng.normal(size=(n, 3)), tangents=tangent,
        morphs=[(np.arange(half), rng.normal(size=(half, 3)))] * 2,
        centers=rng.normal(size=(n, 3)), segments=ends, parents=np.arange(-1, bones - 1))


def variants():
    choices = (False, True), (False, True), ("nlerp", "slerp")
    for mesh, weights in itertools.product([mixed(tangents=3), mixed(tangents=4)], [None, sliders]):
        for normals, tangents, blend in itertools.product(*choices):
            yield mesh, weights, dict(normals=normals, tangents=tangents, sdef_blend=blend)


def compare(mesh, *pose, **options):
    want, found = (mmdskin.skin(mesh, *pose, backend=name, **options) for name in ("cpu:scalar", "gl"))
    for name in ("positions", "normals", "tangents"):
        a, b = getattr(found, name), getattr(want, name)
        assert (a is None) == (b is None)
        # A blend of opposite rotations is sensitive to rounding.
        off = 0 if a is None else np.sort(abs(a - b).max(-1).ravel())[-1 - a.size // 600]
        assert off <= 2e-4, (name, off, options)
"""


METHODS = ["mmd", "linear", "dual_quaternion"]
METHODS += ["bulge_free", "bulge_compensated", "centers_of_rotation"]


@pytest.mark.parametrize("method", METHODS)
def test_all_skinning_programs_link_and_agree(minimum, method):
    python(
        f"""
        for mesh, weights, options in variants():
            compare(mesh, matrices, weights, method={method!r}, **options)
        assert told("refused") == 0
        assert told("programs") >= 40, told("programs")
        assert "4.3.0" in described().device
        """,
        before=minimum.pop("before") + MIXED,
        **minimum,
    )


def test_the_reference_compiler_accepts_all_shaders(minimum, tmp_path):
    """It is stricter than Mesa's."""
    compiler = shutil.which("glslangValidator")
    if not compiler:
        pytest.skip("no glslangValidator (package glslang-tools)")
    python(
        f"""
        sys.path.insert(0, {str(locations.ROOT / "tests")!r})
        from skin import gl_pictures

        gl_pictures.draw()
        for method in {METHODS}:
            for mesh, weights, options in variants():
                mmdskin.skin(mesh, matrices, weights, method=method, backend="gl", **options)
        """,
        before=minimum.pop("before") + MIXED,
        MMDSKIN_TEST_SHADERS=str(tmp_path),
        **minimum,
    )
    shaders = [path for kind in ("vert", "frag", "comp") for path in tmp_path.glob(f"*.{kind}")]
    assert len(shaders) > 300, len(shaders)
    done = subprocess.run([compiler, *shaders], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_more_vertices_and_bones_than_a_texture_holds(minimum):
    """In several ranges, whose first vertices are not aligned by themselves, and in several passes."""
    python(
        """
        n, bones = 40001, 300
        pairs = rng.integers(0, bones, (n, 2))
        large = mmdskin.Mesh(rng.normal(size=(n, 3)), pairs, rng.random((n, 2)), normals=rng.normal(size=(n, 3)),
                             morphs=[(np.arange(0, n, 3), rng.normal(size=(n // 3 + 1, 3)))])
        many = np.tile(np.eye(4), (60, bones, 1, 1))
        many[..., :3, 3] = rng.normal(size=(60, bones, 3))
        compare(large, many, rng.random((60, 1)))
        # With two bones or one, with morphs or without: 3 + 1 + 2 + 1 ranges, the first at 0.
        assert told("divided") == 6, told("divided")
        assert told("refused") == 0
        """,
        before=minimum.pop("before") + MIXED,
        **minimum,
    )


def test_more_frames_than_work_groups(minimum):
    """One more, whose morph weights just fit into a texture."""
    python(
        """
        weights = np.arange(65536, dtype="f4")[:, None]
        point = mmdskin.Mesh([[0, 0, 0]], [[0]], [[1]], morphs=[([0], [[1, 0, 0]])])
        found = mmdskin.skin(point, SHIFT, weights, backend="gl").positions
        assert (found[:, 0, 0] == weights[:, 0] + 1).all()
        assert told("refused") == 0
        """,
        **minimum,
    )


def test_too_many_vertices_say_how_many_are_supported(minimum):
    """One output of a frame does not fit into a storage block."""
    python(
        """
        n = (1 << 20) + 1
        big = mmdskin.Mesh(np.zeros((n, 3), "f4"), np.zeros((n, 1), "i4"), np.ones((n, 1), "f4"))
        try:
            mmdskin.skin(big, SHIFT, backend="gl")
            raise AssertionError("no BackendError")
        except mmdskin.BackendError as error:
            assert str(error) == "OpenGL: 1048577 vertices, the device supports 1048576", error
        check(mesh, "gl")
        """,
        **minimum,
    )


def test_a_refused_program_says_why(minimum):
    """In the driver's words, without its headings."""
    reason = python(
        """
        tell("refuse_all", 1)
        reason = failure()
        assert described().reason == reason
        print(reason)
        """,
        **minimum,
    )
    assert reason == "OpenGL: program does not link: error: too many programs"


def test_all_drawing_programs_link_and_agree(minimum, tmp_path):
    """With pictures of the same driver without limits."""
    expected = gl_pictures.draw()
    mmdskin.shutdown()
    np.savez(tmp_path / "expected.npz", *expected)
    python(
        f"""
        sys.path.insert(0, {str(locations.ROOT / "tests")!r})
        from skin import gl_pictures

        expected = np.load({str(tmp_path / "expected.npz")!r}).values()
        for found, wanted in zip(gl_pictures.draw(), expected, strict=True):
            off = abs(found.astype(int) - wanted).max(-1)
            assert np.mean(off <= 1) >= 0.999, np.mean(off <= 1)
            assert len(np.unique(found)) > 20
        assert told("refused") == 0
        assert told("programs") >= 40, told("programs")
        """,
        **minimum,
    )
