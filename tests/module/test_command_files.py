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
        lock(file, operation)

    monkeypatch.setattr(fcntl, "flock", take_first)
    write(tmp_path / "a.npy")
    assert len(taken) == 1 and list(tmp_path.iterdir()) == [tmp_path / "a.npy"]
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
