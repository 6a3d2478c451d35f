# SPDX-License-Identifier: MIT
"""What is loaded and saved through paths that are no regular files: links, pipes, devices."""

import errno
import io
import os
import signal
import subprocess
import sys
import threading
import time

import mmdskin
import pytest
from mmdskin import file_io

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links and pipes of POSIX")


def motion():
    return mmdskin.Motion.from_tracks([("a", list(range(3000)), None, None, None)])


def saved():
    file = io.BytesIO()
    motion().save(file)
    return file.getvalue()


def test_a_link_to_nothing_creates_its_file(tmp_path):
    link = tmp_path / "link.vmd"
    link.symlink_to("a.vmd")
    motion().save(link)
    assert link.is_symlink() and (tmp_path / "a.vmd").read_bytes() == saved()


def test_a_link_that_leads_to_itself_is_refused(tmp_path):
    link = tmp_path / "link.vmd"
    link.symlink_to("link.vmd")
    with pytest.raises(OSError) as refused:
        motion().save(link)
    assert refused.value.errno == errno.ELOOP and refused.value.filename == str(link)
    assert list(tmp_path.iterdir()) == [link] and link.is_symlink()


@pytest.mark.parametrize("path", ["", b""])
def test_an_empty_path_is_refused(path):
    with pytest.raises(FileNotFoundError):
        motion().save(path)


def test_paths_may_be_bytes(tmp_path):
    path = os.fsencode(tmp_path / "a.vmd")
    motion().save(path)
    assert mmdskin.load_motion(os.fsdecode(path)) == motion()


def test_a_pipe_is_written_to_and_read(tmp_path):
    path = tmp_path / "pipe.vmd"
    os.mkfifo(path)
    found = []
    reader = threading.Thread(target=lambda: found.append(mmdskin.load_motion(path)))
    reader.start()
    motion().save(path)
    reader.join()
    assert found == [motion()] and list(tmp_path.iterdir()) == [path]


def test_what_never_ends_is_refused(monkeypatch):
    monkeypatch.setattr(file_io, "_LIMIT", 1 << 22)
    for load in (mmdskin.load_model, mmdskin.load_motion):
        with pytest.raises(ValueError, match="source: over .* from what is no regular file"):
            load("/dev/zero")
        with (
            open("/dev/zero", "rb", buffering=0) as file,
            pytest.raises(ValueError, match="no regular file"),
        ):
            load(file)


def test_an_interrupt_ends_a_save_that_waits_for_a_full_pipe(tmp_path):
    path = tmp_path / "pipe.vmd"
    os.mkfifo(path)
    code = (
        "import mmdskin, signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "m = mmdskin.Motion.from_tracks([('a', list(range(3000)), None, None, None)])\n"
        "print('saves', flush=True); m.save(sys.argv[1])"
    )
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with subprocess.Popen(
        [sys.executable, "-c", code, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdout.readline() == b"saves\n"
        time.sleep(0.5)  # a pipe takes 65,536 bytes of 333,000
        child.send_signal(signal.SIGINT)
        try:
            errors = child.communicate(timeout=10)[1]
        finally:
            child.kill()
            os.close(reader)
    assert b"KeyboardInterrupt" in errors
