# SPDX-License-Identifier: GPL-3.0-or-later
"""Positions as a PC2 file that a Mesh Cache modifier plays, in place of the armature modifier.

Frames are streamed to a file beside the final one, which takes its place when all are there. Clear
Bake leaves the file where it is: another file may use it.
"""

import concurrent.futures
import contextlib
import errno
import os
import struct

import numpy as np

from .. import blender_versions, cache_files, scene_model
from . import record

_HEADER = struct.Struct("<12siiffi")


class MeshCache:
    """The cache of one mesh."""

    def __init__(self, part, bones, options):
        self.part, self.options = part, options
        self.warnings, self.notes = [], []
        self._path = cache_files.path(part.obj, ".pc2", options.folder)
        self._new, self._old = (f"{self._path}.{os.getpid()}.{end}" for end in ("new", "old"))
        self._file = self._writer = self._written = None
        self._saved = self._placed = False

    def adds_to(self, state):
        return False

    def start(self):
        try:
            if os.path.isdir(self._path):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            self._file = open(self._new, "xb")  # noqa: SIM115
        except OSError as error:
            raise self._error(error) from error
        # Writing takes as long as skinning, and waits for the disk: both at once.
        self._writer = concurrent.futures.ThreadPoolExecutor(1)
        frames, count = self.options.frames, self.part.skinner.vertex_count
        start, step = frames[0], self.options.step
        self._put(_HEADER.pack(b"POINTCACHE2\0", 1, count, start, step, len(frames)))

    def add(self, block):
        self._put(np.ascontiguousarray(block.positions, "<f4"))

    def finish(self):
        try:
            self._written.result()
            self._file.close()
            if os.path.exists(self._path):
                os.replace(self._path, self._old)
                self._saved = True
            os.replace(self._new, self._path)
            self._placed = True
        except OSError as error:
            raise self._error(error) from error
        return ()

    def write(self, state):
        obj, options = self.part.obj, self.options
        modifier = obj.modifiers.new("MMD Skin Cache", "MESH_CACHE")
        state["added"] = modifier.name
        modifier.cache_format = "PC2"
        modifier.filepath = cache_files.shown(self._path)
        modifier.deform_mode, modifier.interpolation = "OVERWRITE", "LINEAR"
        modifier.play_mode, modifier.time_mode = "SCENE", "FRAME"
        modifier.forward_axis, modifier.up_axis = "POS_Y", "POS_Z"
        # Blender shows number `frame_scale * time - frame_start` of the file.
        modifier.frame_scale = 1 / (options.step * options.stretch)
        modifier.frame_start = options.frames[0] / options.step
        first = scene_model.armature_modifiers(obj, self.part.armature)[0]
        blender_versions.move_modifier(obj, modifier, obj.modifiers.find(first.name) + 1)
        record.switch_armature_off(obj, self.part.armature, state)

    def close(self, done):
        """Drop what is temporary; without `done` the file is again what it was."""
        if self._writer:
            self._writer.shutdown()
        with contextlib.suppress(OSError):
            if self._file:
                self._file.close()
        if not done and self._placed:
            os.remove(self._path)
        if not done and self._saved:
            os.replace(self._old, self._path)
        for leftover in (self._new, self._old):
            with contextlib.suppress(OSError):
                os.remove(leftover)

    def _put(self, data):
        """Write when what came before has been written."""
        try:
            if self._written:
                self._written.result()
        except OSError as error:
            raise self._error(error) from error
        self._written = self._writer.submit(self._file.write, data)

    def _error(self, error):
        return cache_files.unwritable(self._path, error)
