# SPDX-License-Identifier: MIT
"""Drivers that fail, lie or hang give a reason or a result, and are not waited for forever."""

import pytest
from gl_scripts import WITHOUT_GL, python


def test_a_mesh_can_be_freed_after_a_failed_upload(wrapper):
    """`shutdown` dropped its copy on the device, and the new upload failed."""
    python(
        """
        morphed = mmdskin.Mesh(POINTS[:1], [[0]], [[1]], morphs=[([0], [[0, 0, 1]])])
        mmdskin.skin(morphed, SHIFT, backend="gl")
        mmdskin.shutdown()
        tell("texture_buffer_limit", 0)
        try:
            mmdskin.skin(morphed, SHIFT, backend="gl")
        except mmdskin.BackendError as error:
            assert "1 morph offsets, the device supports 0" in str(error)
        del morphed
        tell("texture_buffer_limit", -1)
        check(mesh, "gl")
        """,
        **wrapper,
    )


@pytest.mark.parametrize(
    "what, words",
    [
        ("mappings_left", "OpenGL: the results cannot be mapped"),
        ("waits_left", "OpenGL: waiting for a pass failed"),
    ],
)
def test_a_failure_between_passes_says_which_frames_are_done(wrapper, what, words):
    python(
        f"""
        tell("no_storage", 1)
        moves = np.tile(np.eye(4, dtype="f4"), (1501, 1, 1, 1))
        moves[:, 0, 0, 3] = np.arange(1501)
        out = mmdskin.skin(mesh, moves, backend="gl")
        out.positions[:] = -1
        tell("{what}", 1)
        try:
            mmdskin.skin(mesh, moves, backend="gl", out=out)
            raise AssertionError("no BackendError")
        except mmdskin.BackendError as error:
            text = str(error)
        assert text.startswith("{words}; frames before "), text
        done = int(text.split()[-3])
        assert 0 < done < 1501
        expected = POINTS + moves[:, 0, None, :3, 3]
        assert abs(out.positions[:done] - expected[:done]).max() <= 2e-4
        assert (out.positions[done:] == -1).all()
        tell("{what}", -1)
        mmdskin.skin(mesh, moves, backend="gl", out=out)
        assert abs(out.positions - expected).max() <= 2e-4
        """,
        **wrapper,
    )


@pytest.mark.parametrize("limit, instances", [(4, 8), (11, 8), (12, 2)])
def test_frames_share_instances_if_the_outputs_are_large_enough(wrapper, limit, instances):
    """A program with outputs larger than the device can capture does not link."""
    python(
        f"""
        moves = np.tile(np.eye(4, dtype="f4"), (8, 1, 1, 1))
        moves[:, 0, 0, 3] = np.arange(8)
        tell("captured_limit", {limit})
        found = mmdskin.skin(mesh, moves, backend="gl").positions
        assert abs(found - (POINTS + moves[:, 0, None, :3, 3])).max() <= 2e-6
        assert ctypes.c_int.in_dll(driver, "max_instances").value == {instances}
        """,
        **wrapper,
    )


def test_a_device_without_a_name_is_used(wrapper):
    python(
        """
        tell("nameless", 1)
        assert described().device.startswith("unknown (unknown), OpenGL "), described()
        check(mesh, "gl")
        """,
        **wrapper,
    )


def test_a_slow_pass_is_waited_for(wrapper):
    python(
        """
        moves = np.tile(np.eye(4, dtype="f4"), (1501, 1, 1, 1))
        moves[:, 0, 0, 3] = np.arange(1501)
        tell("waits_cut_short", 5)
        found = mmdskin.skin(mesh, moves, backend="gl").positions
        assert abs(found - (POINTS + moves[:, 0, None, :3, 3])).max() <= 2e-4
        """,
        **wrapper,
    )


HANG = """
def expect_hang(call):
    tell("calls_since_hang", -1)
    try:
        call()
        raise AssertionError("no BackendError")
    except mmdskin.BackendError as error:
        text = str(error)
    assert text == (
        "OpenGL: the device has not finished within 1 s "
        "(MMDSKIN_GL_TIMEOUT, 1 to 86400, sets the limit)"
    ), text
    # Neither cleanup nor calls after it use the context, which may block.
    assert ctypes.c_int.in_dll(driver, "calls_since_hang").value == 0
    assert failure() == text and described().reason == text
"""


@pytest.mark.parametrize(
    "call",
    [
        "mmdskin.skin(mesh, SHIFT, backend='gl')",
        "mmdskin.render(flat, skinned, size=(8, 8), materials=[])",
        "mmdskin.render(flat, skinned, size=(8, 8), materials=[], want=['depth'])",
    ],
)
def test_a_hung_device_is_not_waited_for_forever(wrapper, call):
    """Until `shutdown`, which allows a new context."""
    python(
        f"""
        check(mesh, "gl")
        one = np.zeros((1000, 1), "i4"), np.ones((1000, 1), "f4")
        flat = mmdskin.Mesh(POINTS, *one, triangles=np.int32([[0, 1, 2]]))
        skinned = mmdskin.skin(flat, SHIFT[0][None])
        tell("hang", 1)
        started = time.monotonic()
        expect_hang(lambda: {call})
        assert 1 <= time.monotonic() - started < 60
        other = make()
        check(mesh, "cpu")
        del other
        tell("calls_since_hang", 0)
        mmdskin.shutdown()
        assert ctypes.c_int.in_dll(driver, "calls_since_hang").value == 0
        tell("hang", 0)
        check(mesh, "gl")
        """,
        before=wrapper.pop("before") + "import time\n" + HANG,
        MMDSKIN_GL_TIMEOUT="1",
        **wrapper,
    )


def test_callers_that_wait_for_a_hung_device_fail_too(wrapper):
    python(
        """
        check(mesh, "gl")
        tell("hang", 1)
        reasons = []
        threads = [threading.Thread(target=lambda: reasons.append(failure())) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(reasons) == 4 and len(set(reasons)) == 1, reasons
        """,
        MMDSKIN_GL_TIMEOUT="1",
        **wrapper,
    )


@pytest.mark.parametrize("text", ["0", "86401", "-1", "1.5", "1 s", "soon"])
def test_a_wrong_time_limit(gl, text):
    reason = python(WITHOUT_GL, MMDSKIN_GL_TIMEOUT=text)
    assert reason == f"OpenGL: MMDSKIN_GL_TIMEOUT: {text}: 1 to 86400 seconds"


@pytest.mark.parametrize("text", ["", "1", "86400"])
def test_time_limits(gl, text):
    python('check(mesh, "gl")', MMDSKIN_GL_TIMEOUT=text)


def test_a_crash_of_the_driver_is_reported(wrapper):
    """By `faulthandler`, which needs signals that the OpenGL thread must not block."""
    script = """
        import faulthandler, resource
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        faulthandler.enable()
        tell("crash", 1)
        check(mesh, "gl")
        """
    with pytest.raises(AssertionError, match="Fatal Python error: Segmentation fault"):
        python(script, **wrapper)
