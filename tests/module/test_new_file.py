# SPDX-License-Identifier: MIT
"""Files that the add-on and the command line write: each step fails in turn, or the process dies there.
The old file or the new one is there, whole, and nothing else once somebody has written again."""

import errno
import os
import sys
import time
from unittest import mock

import pytest
from mmdskin import new_file

STEPS = ("fsync", "link", "replace", "remove")
OLD, NEW = b"old", b"new" * 1000


def write(path, replaces):
    """As caches (placed where nothing is) and exports (which replace) are written."""
    new = new_file.NewFile(str(path))
    try:
        new.file.write(NEW)
        new.finish()
        if replaces:
            new.replace()
        else:
            new.place(str(path))
    finally:
        new.close()


def failing(number, failure):
    """Patches of the calls in STEPS, of which the one after `number` others fails."""
    left = [number]

    def wrapped(function):
        def step(*args):
            left[0] -= 1
            if left[0] < 0:
                failure()
            return function(*args)

        return step

    return {name: wrapped(getattr(os, name)) for name in STEPS}


def full():
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("replaces", [True, False])
@pytest.mark.parametrize("number", range(2))
def test_a_failing_step_keeps_the_old_file(tmp_path, number, replaces):
    path = tmp_path / "踊り.pc2"
    if replaces:
        path.write_bytes(OLD)
    with mock.patch.multiple(os, **failing(number, full)), pytest.raises(OSError):
        write(path, replaces)
    assert [file.read_bytes() for file in tmp_path.glob("*.pc2")] == [OLD] * replaces
    write(path, replaces)
    assert list(tmp_path.iterdir()) == [path] and path.read_bytes() == NEW


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("replaces", [True, False])
@pytest.mark.parametrize("number", range(5))
def test_a_process_that_dies_keeps_the_old_file(tmp_path, number, replaces):
    path = tmp_path / "踊り.pc2"
    if replaces:
        path.write_bytes(OLD)
    child = os.fork()
    if not child:
        with mock.patch.multiple(os, **failing(number, lambda: os._exit(3))):
            write(path, replaces)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == (3 if number < 3 + (not replaces) else 0)
    found = path.read_bytes() if path.exists() else b""
    assert found in ((OLD, NEW) if replaces else (b"", NEW))
    write(path, True)
    assert list(tmp_path.iterdir()) == [path] and path.read_bytes() == NEW


def test_a_file_that_another_process_writes_stays(tmp_path):
    path = tmp_path / "a.pc2"
    busy = new_file.NewFile(str(path))
    foreign = tmp_path / "a.pc2.mine-0.mmdskin-new"
    foreign.write_bytes(OLD)
    write(path, False)
    assert os.path.exists(busy.beside) and foreign.exists()
    busy.close()
    assert sorted(tmp_path.iterdir()) == sorted([path, foreign])


@pytest.mark.skipif(sys.platform == "win32", reason="a file with a handle cannot be renamed")
@pytest.mark.parametrize("replaces", [True, False])
def test_a_finished_file_is_no_leftover(tmp_path, replaces):
    """Another process writes to the same path before it is put in place."""
    path, descriptors = tmp_path / "a.pc2", len(os.listdir("/dev/fd"))
    finished = new_file.NewFile(str(path))
    finished.file.write(NEW)
    finished.finish()
    path.write_bytes(OLD)
    write(path, True)
    path.unlink()
    if replaces:
        finished.replace()
    else:
        finished.place(str(path))
    assert list(tmp_path.iterdir()) == [path] and path.read_bytes() == NEW
    assert len(os.listdir("/dev/fd")) == descriptors


def test_without_locks_a_file_that_may_be_about_to_be_renamed_stays(tmp_path, monkeypatch):
    """On Windows, where a finished file is closed before it is renamed."""
    monkeypatch.setattr(new_file, "fcntl", None)
    path = tmp_path / "a.pc2"
    finished = new_file.NewFile(str(path))
    finished.file.write(NEW)
    finished.finish()
    write(path, True)
    finished.replace()
    assert list(tmp_path.iterdir()) == [path]
    left = tmp_path / "a.pc2.99999999-0.mmdskin-new"
    left.write_bytes(OLD)
    os.utime(left, (time.time() - 3600,) * 2)
    write(path, True)
    assert list(tmp_path.iterdir()) == [path]


def test_the_next_file_of_another_thread_stays(tmp_path):
    """It has the name that is free again."""
    path = tmp_path / "a.pc2"
    one = new_file.NewFile(str(path))
    one.finish()
    one.replace()
    other = new_file.NewFile(str(path))
    assert other.beside == one.beside
    one.close()
    assert os.path.exists(other.beside)
    other.close()
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_there_is_not_placed_upon(tmp_path):
    path = tmp_path / "a.pc2"
    path.write_bytes(OLD)
    with pytest.raises(FileExistsError):
        write(path, False)
    with mock.patch("os.link", side_effect=OSError), pytest.raises(FileExistsError):
        write(path, False)
    assert list(tmp_path.iterdir()) == [path] and path.read_bytes() == OLD


def test_a_file_system_without_links(tmp_path):
    path = tmp_path / "a.pc2"
    with mock.patch("os.link", side_effect=OSError(errno.EPERM, "Operation not permitted")):
        write(path, False)
    assert list(tmp_path.iterdir()) == [path] and path.read_bytes() == NEW


@pytest.mark.skipif(sys.platform == "win32", reason="links and permissions of POSIX")
def test_links_stay_and_permissions_are_kept(tmp_path):
    path, link = tmp_path / "a.glb", tmp_path / "link.glb"
    path.write_bytes(OLD)
    path.chmod(0o640)
    link.symlink_to(path)
    write(link, True)
    assert link.is_symlink() and path.read_bytes() == NEW
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(sys.platform == "win32", reason="links of POSIX")
def test_a_link_to_another_file_system_stays(tmp_path, monkeypatch):
    there, link = tmp_path / "there", tmp_path / "link.glb"
    there.mkdir()
    (there / "a.glb").write_bytes(OLD)
    link.symlink_to(there / "a.glb")
    replace = os.replace

    def within_a_folder(source, target):
        if os.path.dirname(source) != os.path.dirname(target):
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        replace(source, target)

    monkeypatch.setattr(os, "replace", within_a_folder)
    write(link, True)
    assert link.is_symlink() and [file.name for file in there.iterdir()] == ["a.glb"]
    assert (there / "a.glb").read_bytes() == NEW and len(list(tmp_path.iterdir())) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of POSIX")
def test_a_pipe_with_the_name_of_a_leftover_does_not_block(tmp_path):
    os.mkfifo(tmp_path / "a.pc2.99999999-0.mmdskin-new")
    write(tmp_path / "a.pc2", True)
    assert (tmp_path / "a.pc2").read_bytes() == NEW


def test_without_locks_nothing_that_belongs_to_an_open_file_is_removed(tmp_path, monkeypatch):
    """On Windows, which refuses to remove an open file; an export may write beside it for long."""
    monkeypatch.setattr(new_file, "fcntl", None)
    left = tmp_path / "a.glb.99999999-0.mmdskin-new"
    beside = tmp_path / f"{left.name}.bin"
    left.write_bytes(OLD)
    beside.write_bytes(OLD)
    os.utime(left, (time.time() - 3600,) * 2)
    remove = os.remove

    def unless_open(path):
        if os.fspath(path) == str(left):
            raise PermissionError(errno.EACCES, "Permission denied")
        remove(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "remove", unless_open)
        write(tmp_path / "a.glb", True)
    assert beside.exists() and left.exists()
    write(tmp_path / "a.glb", True)
    assert [file.name for file in tmp_path.iterdir()] == ["a.glb"]


def test_long_names(tmp_path):
    path = tmp_path / ("踊" * 80 + ".pc2")
    write(path, False)
    assert list(tmp_path.iterdir()) == [path]
