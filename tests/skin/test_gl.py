# SPDX-License-Identifier: MIT
"""Missing OpenGL gives a reason, and any driver the same results."""

import pytest
from gl_scripts import LIBRARY, WINDOWS, WITHOUT_GL, needs_egl, needs_surfaceless, python

# No OpenGL


def test_no_library():
    reason = python(WITHOUT_GL, **{LIBRARY: "libnonsense.so.7"})
    assert "libnonsense.so.7" in reason


@pytest.mark.skipif(not WINDOWS, reason="only Windows has WGL")
def test_an_opengl32_that_is_not_opengl():
    assert "kernel32.dll has no wgl" in python(WITHOUT_GL, MMDSKIN_OPENGL32="kernel32.dll")


def test_an_egl_library_that_is_not_egl(stub, tmp_path):
    empty = tmp_path / "empty.c"
    empty.write_text("int nothing;\n")
    assert "undefined symbol: eglBindAPI" in python(WITHOUT_GL, MMDSKIN_EGL=stub(source=empty))


def test_a_library_that_is_not_a_library(tmp_path):
    path = tmp_path / "libEGL.so"
    path.write_text("not a library")
    assert str(path) in python(WITHOUT_GL, **{LIBRARY: str(path)})


@needs_egl
def test_a_missing_library_names_its_package(tmp_path):
    (tmp_path / "libEGL.so.1").write_text("not a library")
    reason = python(WITHOUT_GL, LD_LIBRARY_PATH=str(tmp_path), MMDSKIN_EGL="")
    assert "no EGL library" in reason and "libegl1" in reason, reason


@pytest.mark.parametrize(
    "defines, words",
    [
        (["-DDEVICES=0"], ["no device"]),
        (["-DDEVICES=2"], ["device 0", "device 1", "EGL_NOT_INITIALIZED"]),
        (["-DBIND=0"], ["EGL_NOT_INITIALIZED", "libegl-mesa0", "libnvidia-gl"]),
        (["-DCLIENT_EXTENSIONS=NULL"], ["EGL_NOT_INITIALIZED"]),
        (['-DCLIENT_EXTENSIONS=""'], ["neither devices nor surfaceless"]),
        (['-DCLIENT_EXTENSIONS="EGL_MESA_platform_surfaceless"'], ["surfaceless", "eglInitialize"]),
    ],
)
def test_egl_without_graphics(stub, defines, words):
    reason = python(WITHOUT_GL, MMDSKIN_EGL=stub(*defines))
    assert all(word in reason for word in words), reason


@pytest.mark.parametrize(
    "define, choice, words",
    [
        ("-DDEVICES=1", "1", "EGL has 1 device"),
        ("-DDEVICES=2", "2", "EGL has 2 devices"),
        ('-DCLIENT_EXTENSIONS="EGL_KHR_debug"', "0", "EGL has 0 devices"),
        ("-DDEVICES=2", "surfaceless", "EGL has no surfaceless displays"),
    ],
)
def test_a_chosen_device_that_egl_lacks(stub, define, choice, words):
    reason = python(WITHOUT_GL, MMDSKIN_EGL=stub(define), MMDSKIN_EGL_DEVICE=choice)
    assert reason.endswith(f"MMDSKIN_EGL_DEVICE: {choice}: {words}"), reason


def test_a_driver_with_an_old_version(wrapper):
    before = wrapper.pop("before") + 'tell("old_version", 1)\n'
    reason = python(WITHOUT_GL, before=before, **wrapper)
    assert "OpenGL 4.3 needed: the driver has 3.3.0 of the test (EGL_" in reason, reason


def test_a_shader_that_does_not_compile(wrapper):
    """The reason is the first line of the driver's log that says something."""
    before = wrapper.pop("before") + 'tell("refuse_shaders", 1)\n'
    reason = python(WITHOUT_GL, before=before, **wrapper)
    assert reason == "OpenGL: shader does not compile: 0(1) : error C0201: no"


@needs_egl
@pytest.mark.parametrize("choice", ["99", "-1", "1st", "gpu"])
def test_a_device_that_does_not_exist(gl, choice):
    """No other device is tried."""
    reason = python(WITHOUT_GL, MMDSKIN_EGL_DEVICE=choice)
    assert f"MMDSKIN_EGL_DEVICE: {choice}: EGL has" in reason


@needs_egl
@pytest.mark.parametrize("choice", ["0", pytest.param("surfaceless", marks=needs_surfaceless)])
def test_a_chosen_device_is_used(gl, choice):
    python('check(mesh, "gl")', MMDSKIN_EGL_DEVICE=choice)


def test_the_reason_is_remembered(tmp_path):
    """The library is only loaded again after `shutdown`."""
    library = tmp_path / "libEGL.so"
    python(
        f"""
        reason = failure()
        open({str(library)!r}, "w").write("not a library")
        assert failure() == reason
        mmdskin.shutdown()
        assert failure() != reason
        """,
        **{LIBRARY: str(library)},
    )


# OpenGL


def test_no_display_is_needed(gl):
    python('check(mesh, "gl")')


def test_a_display_that_is_gone_is_not_used(gl):
    python('check(mesh, "gl")', DISPLAY=":99", WAYLAND_DISPLAY="nothing")


def test_the_device_is_named(gl):
    lines = python("print(described().available, described().device, described().reason)")
    assert lines.startswith("True ") and lines.endswith("None") and "OpenGL" in lines


def test_auto_is_the_cpu(gl):
    """On any renderer. The two differ in the last bits of a blend of affine matrices."""
    python(
        """
        rng = np.random.default_rng(1)
        indices, weights = rng.integers(0, 9, (1000, 4)), rng.random((1000, 4))
        blend = mmdskin.Mesh(POINTS, indices, weights)
        matrices = rng.normal(size=(9, 4, 4))
        matrices[:, 3] = 0, 0, 0, 1
        auto, gl, cpu = (
            mmdskin.skin(blend, matrices, backend=name).positions for name in ("auto", "gl", "cpu")
        )
        assert not np.array_equal(gl, cpu)
        assert np.array_equal(auto, cpu)
        """
    )


def test_results_of_many_passes_are_in_order(gl):
    """More output than one pass holds, the last pass smaller than the others."""
    python(
        """
        frames = np.tile(np.eye(4, dtype="f4"), (1501, 1, 1, 1))
        frames[:, 0, 0, 3] = np.arange(1501)
        out = mmdskin.skin(mesh, frames, backend="gl").positions
        assert abs(out - POINTS - frames[:, 0, None, :3, 3]).max() <= 2e-4
        """
    )


def test_many_passes_of_morphs_share_one_pose(gl):
    python(
        """
        morph = np.arange(1000, dtype="i4"), np.tile(np.float32([0, 1, 0]), (1000, 1))
        one = np.zeros((1000, 1), "i4"), np.ones((1000, 1), "f4")
        morphed = mmdskin.Mesh(POINTS, *one, morphs=[morph])
        weights = np.arange(1501, dtype="f4")[:, None] / 100
        out = mmdskin.skin(morphed, SHIFT, weights, backend="gl").positions
        assert abs(out[:, :, 1] - POINTS[:, 1] - weights).max() <= 1e-5
        assert abs(out[:, :, 0] - POINTS[:, 0] - 1).max() <= 1e-6
        """
    )


def test_batches_of_any_size(gl):
    """Each frame has its own bones and weights, for all types and both tangent widths."""
    python(
        """
        rng = np.random.default_rng(3)
        n, count = 60, 11
        turns, _ = np.linalg.qr(rng.normal(size=(count, 6, 3, 3)))
        bones = np.tile(np.eye(4), (count, 6, 1, 1))
        bones[..., :3, :3] = turns * np.linalg.det(turns)[..., None, None]
        bones[..., :3, 3] = rng.normal(size=(count, 6, 3))
        weights = rng.random((count, 1))
        for width in (3, 4):
            tangents = rng.normal(size=(n, width))
            tangents[:, 3:] = 1
            mixed = mmdskin.Mesh(
                rng.normal(size=(n, 3)),
                rng.integers(0, 6, (n, 4)),
                rng.random((n, 4)),
                deform=rng.integers(0, 5, n),
                sdef=rng.normal(size=(n, 3, 3)),
                normals=rng.normal(size=(n, 3)),
                tangents=tangents,
                morphs=[(np.arange(0, n, 3), rng.normal(size=(20, 3)))],
            )
            want = mmdskin.skin(mixed, bones, weights, tangents=True, backend="cpu:scalar")
            for frames in range(1, count + 1):
                found = mmdskin.skin(
                    mixed, bones[:frames], weights[:frames], tangents=True, backend="gl"
                )
                for name in ("positions", "normals", "tangents"):
                    off = abs(getattr(found, name) - getattr(want, name)[:frames]).max()
                    assert off <= 4e-5, (width, frames, name, off)
        """
    )


def test_directions_that_the_cpu_corrects_in_many_frames(gl):
    """Blends of opposite rotations, for which float is not enough, among others, in results of several
    passes that threads copy."""
    python(
        """
        rng = np.random.default_rng(2)
        n, frames = 20001, 60
        pairs = np.where(rng.random((n, 1)) < 0.1, [0, 1], [0, 2])
        tangents = rng.normal(size=(n, 3))
        mixed = mmdskin.Mesh(rng.normal(size=(n, 3)), pairs, np.full((n, 2), 0.5), normals=rng.normal(size=(n, 3)),
                             tangents=tangents)
        bones = np.tile(np.eye(4), (frames, 3, 1, 1))
        angles = np.pi - 1e-4 * rng.random(frames)
        bones[:, 1, 0, 0] = bones[:, 1, 1, 1] = np.cos(angles)
        bones[:, 1, 1, 0] = np.sin(angles)
        bones[:, 1, 0, 1] = -np.sin(angles)
        want, found = (mmdskin.skin(mixed, bones, tangents=True, backend=name) for name in ("cpu:scalar", "gl"))
        for name in ("normals", "tangents"):
            off = abs(getattr(found, name) - getattr(want, name)).max()
            assert off <= 4e-5, (name, off)
        only = mmdskin.skin(mixed, bones, normals=False, tangents=True, backend="gl")
        assert np.array_equal(only.tangents, found.tangents)
        assert np.array_equal(mmdskin.skin(mixed, bones, backend="gl", threads=1).normals, found.normals)
        """
    )


def test_nothing_to_do(gl):
    python(
        """
        empty = mmdskin.Mesh(np.zeros((0, 3)), np.zeros((0, 1), "i4"), np.zeros((0, 1)))
        assert mmdskin.skin(empty, SHIFT, backend="gl").positions.shape == (0, 3)
        assert mmdskin.skin(mesh, SHIFT[None][:0], backend="gl").positions.shape == (0, 1000, 3)
        """
    )


# Limits of drivers


def test_work_groups_that_are_not_full(gl):
    """Their other invocations have no vertex, no morphs and no result."""
    python(
        """
        def compare(rng, frames, n=27):
            mixed = mmdskin.Mesh(
                rng.normal(size=(n, 3)),
                rng.integers(0, 6, (n, 4)),
                rng.random((n, 4)),
                deform=rng.integers(0, 5, n),
                sdef=rng.normal(size=(n, 3, 3)),
                morphs=[(np.arange(0, n, 3), rng.normal(size=(9, 3)))],
            )
            bones = np.tile(np.eye(4, dtype="f4"), (*frames, 6, 1, 1))
            gl, cpu = (
                mmdskin.skin(mixed, bones, [0.5], backend=name).positions for name in ("gl", "cpu")
            )
            assert abs(gl - cpu).max() <= 1e-5

        for seed in range(60):
            compare(np.random.default_rng(seed), [(), (5,)][seed % 2])
        """
    )


def test_all_morph_offsets_are_applied(gl):
    """llvmpipe silently ends a loop after 65,535 iterations."""
    python(
        """
        def moved(count):
            morph = np.zeros(count, "i4"), np.tile(np.float32([1, 0, 0]), (count, 1))
            many = mmdskin.Mesh([[0, 0, 0]], [[0]], [[1]], morphs=[morph])
            return mmdskin.skin(many, np.eye(4)[None], [1], backend="gl").positions[0, 0]

        assert moved(65535) == 65535
        try:
            assert moved(65536) == 65536
        except mmdskin.BackendError as error:
            assert str(error) == "OpenGL: a vertex has 65536 morph offsets, limit 65535"
        """
    )


@pytest.mark.parametrize("exponent", [-15, -10, -9, 15])
def test_scale_does_not_change_directions(gl, exponent):
    """Cofactors are products of two numbers, and their squares of four; drivers flush small ones to zero."""
    python(
        f"""
        rng = np.random.default_rng(0)
        n, scale = 500, 10.0 ** {exponent}
        q, _ = np.linalg.qr(rng.normal(size=(6, 3, 3)))
        bones = np.tile(np.eye(4), (6, 1, 1))
        bones[:, :3, :3] = scale * q * np.linalg.det(q)[:, None, None]
        blend = mmdskin.Mesh(
            rng.normal(size=(n, 3)), rng.integers(0, 6, (n, 2)), rng.random((n, 2)),
            normals=rng.normal(size=(n, 3)), tangents=rng.normal(size=(n, 3)),
        )
        gl, cpu = (
            mmdskin.skin(blend, bones, tangents=True, backend=name) for name in ("gl", "cpu:scalar")
        )
        assert abs(gl.normals - cpu.normals).max() <= 1e-5
        assert abs(gl.tangents - cpu.tangents).max() <= 4e-5
        only = mmdskin.skin(blend, bones, normals=False, tangents=True, backend="gl")
        assert np.array_equal(only.tangents, gl.tangents)
        """
    )
