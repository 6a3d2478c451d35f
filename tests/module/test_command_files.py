# SPDX-License-Identifier: MIT
"""Files that the command line writes, whole or not at all."""

import os

import pytest
from mmdskin import new_file

OLD, NEW = b"old", b"new" * 1000


def write(path):
    with new_file.new_file(str(path)) as file:
        file.write(NEW)


def test_a_file_that_is_taken_for_a_leftover_is_created_again(tmp_path, monkeypatch):
    """Another process writes to the same path and looks for leftovers between create and lock."""
    fcntl = pytest.importorskip("fcntl")
    lock, taken = fcntl.flock, []

    def take_first(file, operation):
        if operation == fcntl.LOCK_EX and not taken:
            taken.extend(tmp_path.glob("*.mmdskin-new"))
            taken[0].unlink()
            write(tmp_path / "a.npy")  # uses the same name
            taken[0].touch()
        lock(file, operation)

    monkeypatch.setattr(fcntl, "flock", take_first)
    write(tmp_path / "a.npy")
    assert len(taken) == 1 and set(tmp_path.iterdir()) == {tmp_path / "a.npy", taken[0]}
    assert (tmp_path / "a.npy").read_bytes() == NEW


def test_a_read_only_file_is_not_replaced(tmp_path, monkeypatch):
    path = tmp_path / "a.npy"
    path.write_bytes(OLD)
    path.chmod(0o400)
    if os.access(path, os.W_OK):  # this user may write everything: ask as another one would
        monkeypatch.setattr(os, "access", lambda *_arguments: False)
    with pytest.raises(PermissionError) as refused:
        write(path)
    assert refused.value.filename == str(path)
    assert path.read_bytes() == OLD and list(tmp_path.iterdir()) == [path]


def test_a_folder_that_may_not_be_listed_can_be_written_to(tmp_path, monkeypatch):
    def forbidden(_folder):
        raise PermissionError

    with monkeypatch.context() as patched:
        patched.setattr(os, "listdir", forbidden)
        write(tmp_path / "a.npy")
    assert (tmp_path / "a.npy").read_bytes() == NEW


def test_a_file_is_no_leftover_before_it_has_its_name(tmp_path, monkeypatch):
    """Another process writes to the same path just before the new file is renamed."""
    pytest.importorskip("fcntl")
    path, rename = tmp_path / "a.npy", os.replace

    def meanwhile(source, target):
        monkeypatch.undo()
        write(path)
        rename(source, target)

    monkeypatch.setattr(os, "replace", meanwhile)
    write(path)
    assert path.read_bytes() == NEW and list(tmp_path.iterdir()) == [path]


def test_the_next_file_of_a_writer_is_no_leftover(tmp_path, monkeypatch):
    """Another process has opened the file before it, of the same name, and locks that one."""
    fcntl = pytest.importorskip("fcntl")
    lock, before = fcntl.flock, tmp_path / f"a.npy.{os.getpid()}-0.mmdskin-new"
    before.write_bytes(OLD)

    def write_next(file, operation):
        if operation & fcntl.LOCK_NB:
            before.rename(tmp_path / "b.npy")
            before.write_bytes(NEW)
        lock(file, operation)

    monkeypatch.setattr(fcntl, "flock", write_next)
    write(tmp_path / "a.npy")
    assert before.read_bytes() == NEW


@pytest.mark.parametrize("name", ["missing/a.npy", "folder"])
def test_errors_name_the_path_as_it_was_passed(tmp_path, name):
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError) as refused:
        write(tmp_path / name)
    assert str(refused.value).endswith(f": {str(tmp_path / name)!r}")
