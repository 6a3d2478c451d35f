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


CTRL_C = """
import signal

def end_by_ctrl_c(call):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGINT]).start()
    try:
        call()
        raise AssertionError("no KeyboardInterrupt")
    except KeyboardInterrupt:
        pass
"""


@pytest.mark.parametrize(
    "call",
    [
        "mmdskin.skin(mesh, SHIFT, backend='gl')",
        "mmdskin.render(flat, skinned, size=(8, 8), materials=[])",
        "mmdskin.backends()",
    ],
)
def test_ctrl_c_does_not_wait_for_a_context_that_is_being_made(wrapper, call):
    """The next call does, and uses it."""
    python(
        f"""
        one = np.zeros((1000, 1), "i4"), np.ones((1000, 1), "f4")
        flat = mmdskin.Mesh(POINTS, *one, triangles=np.int32([[0, 1, 2]]))
        skinned = mmdskin.skin(flat, SHIFT[0][None])
        tell("slow_start", 2)
        end_by_ctrl_c(lambda: {call})
        assert told("contexts_made") == 0  # for 1.8 seconds more
        check(mesh, "gl")
        assert told("contexts_made") == 1
        """,
        before=wrapper.pop("before") + CTRL_C,
        **wrapper,
    )


def test_ctrl_c_shortens_the_wait_for_a_device_that_hangs(wrapper):
    python(
        """
        check(mesh, "gl")
        tell("hang", 1)
        end_by_ctrl_c(lambda: mmdskin.skin(mesh, SHIFT, backend="gl"))
        assert told("calls_since_hang") == 0
        assert failure().endswith("has not finished within 3 s of an interrupt"), failure()
        """,
        before=wrapper.pop("before") + CTRL_C,
        **wrapper,
    )


def test_a_handler_of_ctrl_c_can_use_opengl(wrapper):
    """While a call waits, whose result is the same."""
    python(
        """
        import signal
        done = []
        signal.signal(signal.SIGINT, lambda *_: done.append(check(mesh, "gl")))
        threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGINT]).start()
        tell("slow_start", 1)
        check(mesh, "gl")
        assert done == [None] and told("contexts_made") == 1
        """,
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


# Reasons of a reset, as glGetGraphicsResetStatus tells them.
GUILTY, INNOCENT, UNKNOWN = 0x8253, 0x8254, 0x8255


@pytest.mark.parametrize(
    "reason, why",
    [
        (GUILTY, " because of this program"),
        (INNOCENT, " because of another program"),
        (UNKNOWN, ""),
        (0, ""),
    ],
)
def test_after_a_reset_of_the_device_the_next_call_uses_a_new_context(wrapper, reason, why):
    python(
        f"""
        check(mesh, "gl")
        tell("reset_reason", {reason})
        tell("resets", 1)
        text = failure()
        assert text == "OpenGL: the device was reset{why}; the next call starts OpenGL again", text
        check(mesh, "gl")
        check(make(), "gl")
        assert described().available
        assert ctypes.c_int.in_dll(driver, "contexts_made").value == 2
        """,
        **wrapper,
    )


def test_frames_whose_pass_a_reset_ends_are_not_done(wrapper):
    """The wait for a pass that hangs ends as if it had been drawn."""
    python(
        f"""
        moves = np.tile(SHIFT, (4000, 1, 1, 1))
        moves[:, 0, 0, 3] = np.arange(4000)
        out = mmdskin.skin(mesh, moves, backend="gl")
        expected = POINTS + moves[:, 0, None, :3, 3]
        assert abs(out.positions - expected).max() <= 1e-3
        out.positions[:] = -1
        tell("reset_reason", {GUILTY})
        tell("passes_left", 3)
        try:
            mmdskin.skin(mesh, moves, backend="gl", out=out)
        except mmdskin.BackendError as error:
            done = int(str(error).split("frames before ")[1].split()[0])
        assert 0 < done < 4000
        assert abs(out.positions[:done] - expected[:done]).max() <= 1e-3
        assert (out.positions[done:] == -1).all()
        check(mesh, "gl")
        """,
        **wrapper,
    )


def test_a_picture_can_be_rendered_after_a_reset(wrapper):
    """Programs, textures and framebuffers that were kept are made again."""
    python(
        f"""
        one = np.zeros((1000, 1), "i4"), np.ones((1000, 1), "f4")
        flat = mmdskin.Mesh(POINTS, *one, triangles=np.int32([[0, 1, 2]]))
        skinned = mmdskin.skin(flat, SHIFT[0][None])
        drawn = lambda: mmdskin.render(flat, skinned, size=(8, 8), materials=[]).image
        before = drawn()
        tell("reset_reason", {GUILTY})
        tell("resets", 1)
        failure()
        assert (drawn() == before).all()
        """,
        **wrapper,
    )


def test_a_driver_whose_contexts_cannot_tell_of_a_reset_is_used(wrapper):
    python('tell("no_notification", 1); check(mesh, "gl")', **wrapper)


def test_a_context_that_cannot_be_made_after_a_reset_is_tried_again(wrapper):
    """The device may need some time."""
    python(
        f"""
        check(mesh, "gl")
        tell("reset_reason", {UNKNOWN})
        tell("resets", 1)
        tell("no_restart", 1)
        assert "the device was reset" in failure()
        for _ in range(2):
            assert "no OpenGL 4.3 core context" in failure()
        tell("no_restart", 0)
        check(mesh, "gl")
        """,
        **wrapper,
    )


def test_threads_survive_resets(wrapper):
    """Each call has a result or says that the device was reset."""
    python(
        f"""
        tell("reset_reason", {INNOCENT})
        told = []

        def work():
            own = make()
            for _ in range(100):
                try:
                    check(own, "gl")
                except mmdskin.BackendError as error:
                    told.append(str(error))

        check(mesh, "gl")
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            if not ctypes.c_int.in_dll(driver, "resets").value and len(told) < 10:
                tell("resets", 1)
            threads[0].join(0.001)
            for thread in threads[1:]:
                thread.join(0.001)
        tell("resets", 0)
        assert told and all("the device was reset because of another" in one for one in told)
        check(mesh, "gl")
        mmdskin.shutdown()
        check(mesh, "gl")
        """,
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
