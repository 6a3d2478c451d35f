# SPDX-License-Identifier: MIT
"""OpenGL that is stopped, forked or also used by others in the process gives a result and never hangs."""

import subprocess
import sys
import textwrap

import pytest
from gl_scripts import PRELUDE, needs_egl, needs_fork, python

# Shutdown and exit


def test_shutdown_without_a_start():
    python("mmdskin.shutdown(); mmdskin.shutdown()")


def test_a_mesh_survives_shutdown(gl):
    python(
        """
        for _ in range(5):
            check(mesh, "gl")
            mmdskin.shutdown()
        """
    )


def test_a_mesh_can_be_freed_after_shutdown(gl):
    python(
        """
        check(mesh, "gl")
        mmdskin.shutdown()
        del mesh
        other = make()
        check(other, "gl")
        mmdskin.shutdown()
        check(make(), "gl")
        """
    )


@pytest.mark.parametrize(
    "end", ["", "sys.exit(0)", "os._exit(0)", "raise SystemExit", "mmdskin.shutdown()"]
)
def test_exit_after_use(gl, end):
    python(f'check(mesh, "gl")\n{end}')


# glibc's file LC_NUMERIC of a locale that writes 1,5 for 1.5, as German and French do.
COMMA = bytes.fromhex(
    "14110320 06000000 20000000 22000000 24000000 28000000 2c000000 30000000"
    "2c00 2e00 03030000 2c000000 2e000000 5554462d3800"
)


def test_shaders_compile_where_numbers_have_a_decimal_comma(gl, tmp_path):
    """As in programs of Qt, which set the user's locale."""
    (tmp_path / "comma").mkdir()
    (tmp_path / "comma/LC_NUMERIC").write_bytes(COMMA)
    python(
        """
        import locale
        locale.setlocale(locale.LC_NUMERIC, "comma")
        assert locale.localeconv()["decimal_point"] == ","
        check(mesh, "gl")
        """,
        LOCPATH=str(tmp_path),
    )


def test_exit_while_threads_are_skinning(gl):
    python(
        """
        running = threading.Semaphore(0)

        def work():
            while True:
                check(mesh, "gl")
                running.release()

        for _ in range(3):
            threading.Thread(target=work, daemon=True).start()
        for _ in range(30):
            running.acquire()
        """
    )


def test_the_thread_does_not_start_again_at_exit(gl):
    """Daemon threads still run while the interpreter ends; a driver's thread would outlive the driver."""
    early = """
        import atexit

        @atexit.register
        def late():
            print(failure(), flush=True)
        """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(early) + PRELUDE + 'check(mesh, "gl")'],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout.strip() == "OpenGL: the program is ending", done.stderr


def test_shutdown_while_threads_are_skinning(gl):
    python(
        """
        def work(i):
            for k in range(40):
                check(make() if k % 3 else mesh, "gl")
                if i == 0:
                    mmdskin.shutdown()

        threads = [threading.Thread(target=work, args=[i]) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        """
    )


# Forks


@needs_fork
def test_a_forked_child_uses_the_cpu(gl):
    """No driver survives a fork: the child gets an error that says so, the parent is not affected."""
    python(
        """
        check(mesh, "gl")
        child = os.fork()
        if child == 0:
            try:
                assert "forked" in failure()
                check(mesh, "auto")
                mmdskin.shutdown()
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        check(mesh, "gl")
        """
    )


@needs_fork
def test_a_child_forked_before_the_first_use_has_its_own(gl):
    python(
        """
        child = os.fork()
        check(mesh, "gl")
        mmdskin.shutdown()
        if child:
            assert os.waitpid(child, 0)[1] == 0
        """
    )


@needs_fork
@pytest.mark.parametrize("frames", [1, 200])
def test_forks_while_a_thread_is_skinning(gl, frames):
    """Results of more than 1 MB are copied by several threads."""
    python(
        f"""
        done = False
        moves = np.tile(SHIFT, ({frames}, 1, 1, 1))
        def work():
            while not done:
                out = mmdskin.skin(mesh, moves, backend="gl", threads=4).positions
                assert abs(out - POINTS - [1, 0, 0]).max() <= 1e-6

        thread = threading.Thread(target=work)
        thread.start()
        for _ in range(20):
            child = os.fork()
            if child == 0:
                check(mesh, "auto")
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
        done = True
        thread.join()
        """
    )


@pytest.mark.parametrize("method", [pytest.param("fork", marks=needs_fork), "spawn"])
def test_multiprocessing(gl, tmp_path, method):
    script = tmp_path / "pool.py"
    script.write_text(
        PRELUDE
        + textwrap.dedent(
            f"""
            import multiprocessing

            def work(i):
                check(mesh, "auto")
                return i

            if __name__ == "__main__":
                check(mesh, "gl")
                with multiprocessing.get_context({method!r}).Pool(2) as pool:
                    assert pool.map(work, range(8)) == list(range(8))
                check(mesh, "gl")
            """
        )
    )
    subprocess.run([sys.executable, script], check=True, timeout=300)


# Others that use EGL in this process


OTHER_USER = """
egl = ctypes.CDLL(os.environ.get("MMDSKIN_EGL") or "libEGL.so.1")
for name in ("eglGetPlatformDisplay", "eglCreateContext", "eglGetCurrentContext", "eglGetProcAddress"):
    getattr(egl, name).restype = ctypes.c_void_p
pointer, integers = ctypes.c_void_p, ctypes.c_int * 1


def open_other():
    query = egl.eglGetProcAddress(b"eglQueryDevicesEXT")
    devices, count = (pointer * 32)(), ctypes.c_int()
    ctypes.CFUNCTYPE(ctypes.c_uint, ctypes.c_int, pointer, pointer)(query)(32, devices, ctypes.byref(count))
    # EGL_PLATFORM_DEVICE_EXT, of the first device that has a driver, as we take it
    displays = (pointer(egl.eglGetPlatformDisplay(0x313F, pointer(device), None)) for device in devices[:count.value])
    display = next(display for display in displays if egl.eglInitialize(display, None, None))
    assert egl.eglBindAPI(0x30A2)
    context = pointer(egl.eglCreateContext(display, None, None, None))
    assert context.value and egl.eglMakeCurrent(display, None, None, context)
    return display, context
"""


@needs_egl
def test_the_context_of_another_user_stays_current(gl):
    python(
        """
        display, context = open_other()
        check(mesh, "gl")
        assert egl.eglGetCurrentContext() == context.value
        mmdskin.shutdown()
        assert egl.eglGetCurrentContext() == context.value
        check(mesh, "gl")
        """,
        OTHER_USER,
    )


@needs_egl
def test_another_user_can_start_and_stop(gl):
    python(
        """
        check(mesh, "gl")
        display, context = open_other()
        check(mesh, "gl")
        egl.eglMakeCurrent(display, None, None, None)
        egl.eglTerminate(display)
        check(mesh, "gl")
        mmdskin.shutdown()
        check(mesh, "gl")
        """,
        OTHER_USER,
    )


@needs_egl
def test_another_user_can_terminate_the_same_display(gl):
    """Headless programs share the display of a device, and some terminate it."""
    python(
        """
        check(mesh, "gl")
        display, context = open_other()
        egl.eglMakeCurrent(display, None, None, None)
        egl.eglTerminate(display)
        try:
            check(mesh, "gl")
        except mmdskin.BackendError:
            pass
        check(mesh, "auto")
        mmdskin.shutdown()
        check(mesh, "gl")
        """,
        OTHER_USER,
    )
