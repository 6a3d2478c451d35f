# SPDX-License-Identifier: MIT
"""Files that the add-on and the command line write: each step fails in turn, or the process dies there.
The old file or the new one is there, whole, and nothing else once somebody has written again."""

import errno
import os
import struct
import sys
import tempfile
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


# Owners and modes


posix = pytest.mark.skipif(sys.platform == "win32", reason="owners and modes of POSIX")
root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may act as several users"
)


def mode(path):
    return os.stat(path).st_mode & 0o7777


@posix
def test_the_replacement_of_a_private_file_is_private_all_the_time(tmp_path):
    path = tmp_path / "a.vmd"
    path.write_bytes(OLD)
    path.chmod(0o600)
    new = new_file.NewFile(str(path))
    assert mode(new.beside) == 0o600
    new.finish()
    new.replace()
    assert mode(path) == 0o600


@posix
def test_a_new_file_has_the_mode_of_any_new_file(tmp_path):
    (tmp_path / "other").touch()
    write(tmp_path / "a.vmd", True)
    write(tmp_path / "b.vmd", False)
    assert mode(tmp_path / "a.vmd") == mode(tmp_path / "b.vmd") == mode(tmp_path / "other")


@posix
def test_a_file_beside_a_private_one_is_private(tmp_path):
    """A cache that gets the next number."""
    path = tmp_path / "a.pc2"
    path.write_bytes(OLD)
    path.chmod(0o640)
    new = new_file.NewFile(str(path))
    new.finish()
    new.place(str(tmp_path / "a.2.pc2"))
    assert mode(tmp_path / "a.2.pc2") == 0o640


@posix
@pytest.mark.parametrize(
    ("old", "refused", "expected"),
    [
        (0o4755, (), 0o755),  # as when somebody writes to it
        (0o2770, (), 0o770),
        (0o664, ("owner",), 0o664),
        (0o466, ("owner",), 0o444),  # who owned it is one of the others now
        (0o664, ("group",), 0o644),  # its members are others now, who could only read
        (0o660, ("owner", "group"), 0o600),
        (0o606, ("group",), 0o600),
    ],
)
def test_nobody_may_more_than_before(tmp_path, monkeypatch, old, refused, expected):
    path = tmp_path / "a.vmd"
    path.write_bytes(OLD)
    path.chmod(old)

    def fchown(_file, user, _group):
        if ("group" if user == -1 else "owner") in refused:
            raise PermissionError

    monkeypatch.setattr(os, "fchown", fchown)
    monkeypatch.setattr(os, "access", lambda *_arguments: True)
    write(path, True)
    assert mode(path) == expected


def as_user(user, groups, path):
    """Writes to the path in a process of this user."""
    child = os.fork()
    if not child:
        os.setgroups(groups)
        os.setgid(user)
        os.setuid(user)
        write(path, True)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


@posix
@root
@pytest.mark.parametrize(
    ("groups", "old", "group", "expected"),
    [
        ([2000], 0o660, 2000, 0o660),  # a member of the file's group
        ([], 0o646, 1001, 0o644),  # somebody else
    ],
)
def test_another_user_saves(groups, old, group, expected):
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # one that other users can enter
        os.chmod(folder, 0o777)
        path = os.path.join(folder, "a.vmd")
        with open(path, "wb") as file:
            file.write(OLD)
        os.chown(path, 1000, 2000)
        os.chmod(path, old)
        as_user(1001, groups, path)
        found = os.stat(path)
        assert (found.st_uid, found.st_gid, mode(path)) == (1001, group, expected)


@posix
@root
def test_root_makes_no_file_setuid_root(tmp_path):
    path = tmp_path / "a.vmd"
    path.write_bytes(OLD)
    os.chown(path, 1000, 1000)
    path.chmod(0o4755)
    write(path, True)
    assert (path.stat().st_uid, path.stat().st_gid, mode(path)) == (1000, 1000, 0o755)


def access_list(*entries):
    """As Linux stores it: version 2, then (tag, permissions, id) of each."""
    undefined = 0xFFFFFFFF
    packed = [struct.pack("<HHI", *(*entry, undefined)[:3]) for entry in entries]
    return struct.pack("<I", 2) + b"".join(packed)


ACCESS = "system.posix_acl_access"
OWNER, USER, GROUP, MASK, OTHER = 1, 2, 4, 16, 32
BOB = access_list((OWNER, 6), (USER, 6, 1234), (GROUP, 0), (MASK, 6), (OTHER, 0))


def listed(path, name, entries):
    try:
        os.setxattr(path, name, entries)
    except (AttributeError, OSError):
        pytest.skip("this file system has no lists of access")


def test_a_list_of_access_is_kept(tmp_path):
    path = tmp_path / "a.vmd"
    path.write_bytes(OLD)
    listed(path, ACCESS, BOB)
    write(path, True)
    assert os.getxattr(path, ACCESS) == BOB and mode(path) == 0o660


def test_without_the_list_of_access_only_the_owner_may_read(tmp_path, monkeypatch):
    path = tmp_path / "a.vmd"
    path.write_bytes(OLD)
    listed(path, ACCESS, BOB)
    monkeypatch.setattr(os, "setxattr", mock.Mock(side_effect=OSError))
    write(path, True)
    assert mode(path) == 0o600 and ACCESS not in os.listxattr(path)


def test_a_list_of_the_folder_allows_nobody_to_read_a_private_file(tmp_path):
    path = tmp_path / "a.vmd"
    path.write_bytes(OLD)
    path.chmod(0o640)
    listed(tmp_path, "system.posix_acl_default", BOB)
    write(path, True)
    assert mode(path) == 0o640 and ACCESS not in os.listxattr(path)
